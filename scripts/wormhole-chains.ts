/** The chain names of Wormhole's package, and Assay's id for each. Chains that are absent here are left out of the tables. */
import type { ChainId } from '../src/chains/registry.ts';

export const WORMHOLE_CHAINS: ReadonlyMap<string, ChainId> = new Map([
  ['Solana', 'SOL'],
  ['Ethereum', 'ETH'],
  ['Bsc', 'BSC'],
  ['Polygon', 'POLYGON'],
  ['Avalanche', 'AVALANCHE'],
  ['Fantom', 'FANTOM'],
  ['Celo', 'CELO'],
  ['Moonbeam', 'MOONBEAM'],
  ['Arbitrum', 'ARBITRUM'],
  ['Optimism', 'OPTIMISM'],
  ['Gnosis', 'GNOSIS'],
  ['Base', 'BASE'],
  ['Linea', 'LINEA'],
  ['Mantle', 'MANTLE'],
  ['Scroll', 'SCROLL'],
  ['Zksync', 'ZKSYNC'],
]);
