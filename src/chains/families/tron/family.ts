/** The descriptor of the TRON family. */
import { formatTron, writeTronKey } from '../../address/accounts.ts';
import { BITCOIN_DIGITS } from '../../address/base58.ts';
import { family } from '../descriptor.ts';
import { TRON_CHAINS } from './chains.ts';

export const tron = family({
  chains: TRON_CHAINS,
  codec: { write: writeTronKey, format: formatTron, canonicalFirst: 'T', base58check: BITCOIN_DIGITS },
  layouts: { rpc: ['trongrid', 'java-tron'], history: ['trongrid'] },
  layoutsNote: '`trongrid` is its API v1.',
  adapter: () => import('./adapter.ts'),
});
