/** The seven UTXO chains as their nodes and explorers must know them: which blocks prove the chain, and what its nodes speak. */
import type { ChainId } from '../../registry.ts';

export interface UtxoNetwork {
  /**
   * A block of the main network that no other chain has at this height: the first one of all, or for chains that share their
   * beginning the first one after they parted.
   */
  readonly mark: { readonly height: number; readonly hash: string };
  /** First block of the network that `-regtest` starts, for an operator's own node to try things out on. */
  readonly regtestGenesis: string;
  /** The highest verbosity of `getblock` that means whole transactions: 3 adds what inputs spend, or means 2 where it is not known. */
  readonly blockVerbosity: 2 | 3;
  /** Whether transactions are serialised as Bitcoin's are, so that their bytes prove their id. */
  readonly hasBitcoinTransactions: boolean;
  /** Whether blocks are too: a plain header of 80 bytes and such transactions. */
  readonly hasBitcoinBlocks: boolean;
}

const BITCOIN_REGTEST = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';

/**
 * Hashes of first blocks: `chainparams.cpp` of Bitcoin, Litecoin, Dogecoin, Dash and Zcash. Blocks after the partings, as the
 * checkpoints of the chains' nodes name them: BTC from BCH in August 2017, BSV from BCH in November 2018, BCH from eCash in
 * November 2020.
 */
const NETWORKS: Partial<Record<ChainId, UtxoNetwork>> = {
  BTC: {
    mark: { height: 478_559, hash: '00000000000000000019f112ec0a9982926f1258cdcc558dd7c3b7e5dc7fa148' },
    regtestGenesis: BITCOIN_REGTEST,
    blockVerbosity: 3,
    hasBitcoinTransactions: true,
    hasBitcoinBlocks: true,
  },
  LTC: {
    mark: { height: 0, hash: '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2' },
    regtestGenesis: '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9',
    blockVerbosity: 3,
    // The integrating transaction of an extension block carries a flag of its own (LIP-0003).
    hasBitcoinTransactions: false,
    hasBitcoinBlocks: false,
  },
  DOGE: {
    mark: { height: 0, hash: '1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691' },
    regtestGenesis: '3d2160a3b5dc4a9d62e7e66a295f70313ac808440ef7400d6c0772171ce973a5',
    blockVerbosity: 2,
    hasBitcoinTransactions: true,
    // Headers of merged mining are longer.
    hasBitcoinBlocks: false,
  },
  DASH: {
    mark: { height: 0, hash: '00000ffd590b1485b3caadc19b22e6379c733355108f107a430458cdf3407ab6' },
    regtestGenesis: '000008ca1832a4baf228eb1553c03d3a2c8e02399550dd6ea8d65cec3ef23d2e',
    blockVerbosity: 3,
    // Special transactions carry a payload behind the lock time (DIP-0002).
    hasBitcoinTransactions: false,
    hasBitcoinBlocks: false,
  },
  ZEC: {
    mark: { height: 0, hash: '00040fe8ec8471911baa1db1266ea15dd06b4a8a5c453883c000b031973dce08' },
    regtestGenesis: '029f11d80ef9765602235e1bc9727e3eb6ba20839319f761fee920d63401e327',
    blockVerbosity: 2,
    hasBitcoinTransactions: false,
    hasBitcoinBlocks: false,
  },
  BCH: {
    mark: { height: 661_648, hash: '0000000000000000029e471c41818d24b8b74c911071c4ef0b4a0509f9b5a8ce' },
    regtestGenesis: BITCOIN_REGTEST,
    blockVerbosity: 3,
    hasBitcoinTransactions: true,
    hasBitcoinBlocks: true,
  },
  BSV: {
    mark: { height: 556_767, hash: '000000000000000001d956714215d96ffc00e0afda4cd0a96c96f8d802b1662b' },
    regtestGenesis: BITCOIN_REGTEST,
    // Here 3 means the coinbase alone.
    blockVerbosity: 2,
    hasBitcoinTransactions: true,
    hasBitcoinBlocks: true,
  },
};

export function networkOf(chain: ChainId): UtxoNetwork {
  const network = NETWORKS[chain];
  if (network === undefined) throw new Error(`${chain} is no UTXO chain.`);
  return network;
}
