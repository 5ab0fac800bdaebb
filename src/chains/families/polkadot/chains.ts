/** The chain of the Polkadot family. */
import { chainsOf } from '../../chain.ts';

export const POLKADOT_CHAINS = chainsOf('polkadot', [
  {
    id: 'DOT',
    name: 'Polkadot',
    symbol: 'DOT',
    decimals: 10,
    caip2: 'polkadot:91b171bb158e2d3848fa23a9f1c25182',
    explorerUrl: 'https://polkadot.subscan.io',
    monitored: false,
    keyByte: 14,
  },
]);
