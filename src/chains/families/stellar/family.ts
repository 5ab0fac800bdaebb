/** The descriptor of the Stellar family. */
import { formatXlm, writeXlmKey } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { STELLAR_CHAINS } from './chains.ts';

export const stellar = family({
  chains: STELLAR_CHAINS,
  codec: { write: writeXlmKey, format: formatXlm },
  layouts: { rpc: ['horizon'], history: ['horizon'] },
  adapter: () => import('./adapter.ts'),
});
