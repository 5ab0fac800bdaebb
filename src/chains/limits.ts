/** Limits of chains, their addresses and their followers, each with the reason for its value. */
export const CHAIN_LIMITS = {
  /**
   * The longest known address is a ZEC unified address with all three receivers that may occur together, 213 characters; future receivers
   * need room.
   */
  addressTextMax: 512,
  /** The `trace:` paths of the deepest calls observed are shorter than this. */
  transferPositionTextMax: 64,
  /** Bytes of the operator's token list: 100,000 rows, which is more tokens than have a price. */
  ownTokensBytesMax: 8 * 1024 * 1024,
  /**
   * Blocks of a reorg that a follower reverts: the deepest accidental reorg had 157 (Polygon, February 2023). An attack needs the attention
   * of a person.
   */
  reorgBlocksMax: 512,
  /**
   * Blocks before the first one of a follower whose hashes it reads: deeper reorgs are rare, and each is one request. Only a reorg of the first
   * block itself needs them.
   */
  earlierBlocks: 16,
  /**
   * Time by which a block may be ahead of this machine's clock: Bitcoin and its forks allow two hours, other chains seconds. The third hour is for
   * the clock. A block of next year would make stored data look fresh until then, and hide what is unusual today.
   */
  blockAheadMsMax: 3 * 3_600_000,
  /** Blocks fetched ahead while a follower catches up: hides the latency of the node, and holds at most a few full blocks. */
  followAheadBlocks: 4,
  /**
   * Blocks of a chain that are kept for a second follower: two that are at the head differ by the blocks fetched ahead, and one that waits
   * for a price by two more. Some MB of the largest blocks.
   */
  sharedBlocksMax: 8,
} as const;
