/** The chain of the Solana family. */
import { chainsOf } from '../../chain.ts';

export const SOLANA_CHAINS = chainsOf('solana', [
  {
    id: 'SOL',
    name: 'Solana',
    symbol: 'SOL',
    decimals: 9,
    caip2: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
    explorerUrl: 'https://solscan.io',
    monitored: false,
    keyByte: 9,
  },
]);
