/** The descriptor of the TRON family. */
import { formatTron, tronBatch, writeTronKey } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { TRON_CHAINS } from './chains.ts';

export const tron = family({
  chains: TRON_CHAINS,
  codec: { write: writeTronKey, format: formatTron, canonicalFirst: 'T', batch: tronBatch },
  layouts: { rpc: ['trongrid', 'java-tron'], history: ['trongrid'] },
  layoutsNote: '`trongrid` is its API v1.',
  adapter: () => import('./adapter.ts'),
});
