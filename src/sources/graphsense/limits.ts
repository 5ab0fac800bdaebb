/** Limits of TagPacks, each with the reason for its value. */
export const TAGPACK_LIMITS = {
  /** All TagPacks are 92 entries. */
  tagPackEntriesMax: 50_000,
  /** The head of a TagPack (title, source, defaults) has 1 KB; if it is longer, the file is of another kind. */
  tagPackHeaderCharsMax: 256 * 1024,
  /** One tag or actor has at most 4 KB of YAML. */
  tagPackItemCharsMax: 64 * 1024,
  /** A TagPack that does not have the usual layout of one tag per block is parsed as a whole, in memory. */
  tagPackIrregularCharsMax: 16 * 1024 * 1024,
  /** The actor pack has 3,813 actors; each is kept in memory for the join. */
  tagPackActorsMax: 200_000,
} as const;
