/** Properties of the UTXO chains that adapters need: the blocks that identify a chain, and the formats of its nodes. */
import type { ChainId } from '../../registry.ts';
import type { UtxoChainId } from './chains.ts';

export interface UtxoNetwork {
  /**
   * A mainnet block that no other chain has at this height: the genesis block, or for chains with a common history the first block
   * after they split.
   */
  readonly mark: { readonly height: number; readonly hash: string };
  /** Genesis block of a network that `-regtest` starts, for tests on an operator's own node. */
  readonly regtestGenesis: string;
  /**
   * Highest verbosity of `getblock` that returns whole transactions: 3 adds the spent outputs of inputs; nodes that do not know 3 treat
   * it as 2.
   */
  readonly blockVerbosity: 2 | 3;
  /** Whether transactions are serialized like Bitcoin's, so that their bytes prove their id. */
  readonly hasBitcoinTransactions: boolean;
  /** Whether blocks are too: a plain header of 80 bytes and such transactions. */
  readonly hasBitcoinBlocks: boolean;
}

const BITCOIN_REGTEST = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206';

/**
 * Genesis hashes are from `chainparams.cpp` of Bitcoin, Litecoin, Dogecoin, Dash and Zcash. The first blocks after splits are from the
 * checkpoints of the nodes: BTC from BCH in August 2017, BSV from BCH in November 2018, BCH from eCash in November 2020.
 */
const NETWORKS: Readonly<Record<UtxoChainId, UtxoNetwork>> = {
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
    // The integrating transaction of an extension block has an extra flag (LIP-0003).
    hasBitcoinTransactions: false,
    hasBitcoinBlocks: false,
  },
  DOGE: {
    mark: { height: 0, hash: '1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691' },
    regtestGenesis: '3d2160a3b5dc4a9d62e7e66a295f70313ac808440ef7400d6c0772171ce973a5',
    blockVerbosity: 2,
    hasBitcoinTransactions: true,
    // Headers with merged mining are longer.
    hasBitcoinBlocks: false,
  },
  DASH: {
    mark: { height: 0, hash: '00000ffd590b1485b3caadc19b22e6379c733355108f107a430458cdf3407ab6' },
    regtestGenesis: '000008ca1832a4baf228eb1553c03d3a2c8e02399550dd6ea8d65cec3ef23d2e',
    blockVerbosity: 3,
    // Special transactions have a payload after the lock time (DIP-0002).
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
    // Here 3 means only the coinbase.
    blockVerbosity: 2,
    hasBitcoinTransactions: true,
    hasBitcoinBlocks: true,
  },
};

/** Returns the properties of a UTXO chain; throws if the chain is not one. */
export function networkOf(chain: ChainId): UtxoNetwork {
  const network = (NETWORKS as Readonly<Partial<Record<ChainId, UtxoNetwork>>>)[chain];
  if (network === undefined) throw new Error(`${chain} is not a UTXO chain.`);
  return network;
}
