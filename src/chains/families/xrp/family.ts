/** The descriptor of the XRP Ledger family. */
import { formatXrp, writeXrpKey } from '../../address/accounts.ts';
import { RIPPLE_DIGITS } from '../../address/base58.ts';
import { family } from '../descriptor.ts';
import { XRPL_CHAINS } from './chains.ts';

export const xrpl = family({
  chains: XRPL_CHAINS,
  codec: { write: writeXrpKey, format: formatXrp, canonicalFirst: 'r', base58check: RIPPLE_DIGITS },
  layouts: { rpc: ['rippled'], history: ['rippled'] },
  adapter: () => import('./adapter.ts'),
});
