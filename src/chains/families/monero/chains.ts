/** The chain of the Monero family. */
import { chainsOf } from '../../chain.ts';

export const MONERO_CHAINS = chainsOf('monero', [
  {
    id: 'XMR',
    name: 'Monero',
    symbol: 'XMR',
    decimals: 12,
    caip2: 'monero:418015bb9ae982a1975da7d79277c270',
    explorerUrl: 'https://xmrchain.net',
    monitored: false,
    keyByte: 16,
  },
]);
