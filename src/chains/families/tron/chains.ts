/** The chain of the TRON family. */
import { chainsOf } from '../../chain.ts';

export const TRON_CHAINS = chainsOf('tron', [
  {
    id: 'TRON',
    name: 'TRON',
    symbol: 'TRX',
    decimals: 6,
    caip2: 'tron:0x2b6653dc',
    explorerUrl: 'https://tronscan.org',
    monitored: false,
    keyByte: 10,
  },
]);
