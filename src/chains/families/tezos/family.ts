/** The descriptor of the Tezos family. */
import { formatXtz, writeXtzKey } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { TEZOS_CHAINS } from './chains.ts';

export const tezos = family({
  chains: TEZOS_CHAINS,
  codec: { write: writeXtzKey, format: formatXtz, canonicalFirst: 'tKs' },
  layouts: { rpc: ['tzkt'], history: ['tzkt'] },
  adapter: () => import('./adapter.ts'),
});
