/** The chain of the Cosmos family. */
import { chainsOf } from '../../chain.ts';

export const COSMOS_CHAINS = chainsOf('cosmos', [
  {
    id: 'ATOM',
    name: 'Cosmos Hub',
    symbol: 'ATOM',
    decimals: 6,
    caip2: 'cosmos:cosmoshub-4',
    explorerUrl: 'https://www.mintscan.io/cosmos',
    monitored: false,
    keyByte: 17,
  },
]);
