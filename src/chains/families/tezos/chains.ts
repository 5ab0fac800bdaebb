/** The chain of the Tezos family. */
import { chainsOf } from '../../chain.ts';

export const TEZOS_CHAINS = chainsOf('tezos', [
  {
    id: 'XTZ',
    name: 'Tezos',
    symbol: 'XTZ',
    decimals: 6,
    caip2: 'tezos:NetXdQprcVkpaWU',
    explorerUrl: 'https://tzkt.io',
    monitored: false,
    keyByte: 19,
  },
]);
