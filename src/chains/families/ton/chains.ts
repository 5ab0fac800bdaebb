/** The chain of the TON family. */
import { chainsOf } from '../../chain.ts';

export const TON_CHAINS = chainsOf('ton', [
  {
    id: 'TON',
    name: 'TON',
    symbol: 'TON',
    decimals: 9,
    caip2: 'tvm:-239',
    explorerUrl: 'https://tonviewer.com',
    monitored: false,
    keyByte: 15,
  },
]);
