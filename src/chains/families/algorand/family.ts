/** The descriptor of the Algorand family. */
import { formatAlgo, writeAlgoKey } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { ALGORAND_CHAINS } from './chains.ts';

export const algorand = family({
  chains: ALGORAND_CHAINS,
  codec: { write: writeAlgoKey, format: formatAlgo },
  layouts: { rpc: ['algod', 'indexer'], history: ['indexer'] },
  adapter: () => import('./adapter.ts'),
});
