/** The chain of the Stellar family. */
import { chainsOf } from '../../chain.ts';

export const STELLAR_CHAINS = chainsOf('stellar', [
  {
    id: 'XLM',
    name: 'Stellar',
    symbol: 'XLM',
    decimals: 7,
    caip2: 'stellar:pubnet',
    explorerUrl: 'https://stellar.expert',
    monitored: false,
    keyByte: 12,
  },
]);
