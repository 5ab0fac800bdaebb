/** The chain of the Algorand family. */
import { chainsOf } from '../../chain.ts';

export const ALGORAND_CHAINS = chainsOf('algorand', [
  {
    id: 'ALGO',
    name: 'Algorand',
    symbol: 'ALGO',
    decimals: 6,
    caip2: 'algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k',
    explorerUrl: 'https://allo.info',
    monitored: false,
    keyByte: 18,
  },
]);
