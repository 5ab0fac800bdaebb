/** The descriptor of the Solana family. */
import { formatSol, writeSolKey } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { SOLANA_CHAINS } from './chains.ts';

export const solana = family({
  chains: SOLANA_CHAINS,
  codec: { write: writeSolKey, format: formatSol, hasChecksum: () => false },
  layouts: { rpc: ['json-rpc'], history: ['json-rpc'] },
  adapter: () => import('./adapter.ts'),
});
