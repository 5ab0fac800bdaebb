/** The chain of the XRP Ledger family. */
import { chainsOf } from '../../chain.ts';

export const XRPL_CHAINS = chainsOf('xrpl', [
  {
    id: 'XRP',
    name: 'XRP Ledger',
    symbol: 'XRP',
    decimals: 6,
    caip2: 'xrpl:0',
    explorerUrl: 'https://xrpscan.com',
    monitored: false,
    keyByte: 11,
  },
]);
