/** The chain of the Cardano family. */
import { chainsOf } from '../../chain.ts';

export const CARDANO_CHAINS = chainsOf('cardano', [
  {
    id: 'ADA',
    name: 'Cardano',
    symbol: 'ADA',
    decimals: 6,
    caip2: 'cip34:1-764824073',
    explorerUrl: 'https://cardanoscan.io',
    monitored: false,
    keyByte: 13,
  },
]);
