/** The descriptor of the XRP Ledger family. */
import { formatXrp, writeXrpKey, xrpBatch } from '../../address/accounts.ts';
import { family } from '../descriptor.ts';
import { XRPL_CHAINS } from './chains.ts';

export const xrpl = family({
  chains: XRPL_CHAINS,
  codec: { write: writeXrpKey, format: formatXrp, canonicalFirst: 'r', batch: xrpBatch },
  layouts: { rpc: ['rippled'], history: ['rippled'] },
  adapter: () => import('./adapter.ts'),
});
