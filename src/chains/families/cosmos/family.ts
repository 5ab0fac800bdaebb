/** The descriptor of the Cosmos family. */
import { formatAtom, writeAtomKey } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { COSMOS_CHAINS } from './chains.ts';

export const cosmos = family({
  chains: COSMOS_CHAINS,
  codec: { write: writeAtomKey, format: formatAtom },
  layouts: { rpc: ['tendermint', 'lcd'], history: ['lcd'] },
  adapter: () => import('./adapter.ts'),
});
