/** Limits of name screening, each with the reason for its value. */
export const NAME_LIMITS = {
  /** Specification: names of one screening request. */
  screenedNamesMax: 50,
  /** Issue: maximum characters of a screened name; the longest real name has 400, including every former name. */
  screenedNameCharsMax: 300,
  /** Characters of an identifier with its spaces and punctuation; the longest listed one has 40 without them. */
  identifierCharsMax: 64,
  /** Specification decisions: matches returned for each list type. */
  nameMatchesPerListType: 5,
  /** A request may ask for more matches of each list type; beyond this a name is not distinctive. */
  nameMatchesPerListTypeMax: 50,
  /** Minimum of a requested threshold: below this nothing is a match, and responses grow. */
  nameThresholdMin: 0.5,
  /** Matches of one name that are examined and counted; a name with more matches is not distinctive. */
  nameMatchesMax: 200,
  /** Matches that one account may clear: 500 bytes each, 50 MB. */
  clearedMatchesMax: 100_000,
} as const;
