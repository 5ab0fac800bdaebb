/** Every cap of the program, each with the reason for its number. */

export const LIMITS = {
  /** Specification: addresses in one bulk raw-label request. */
  bulkAddressesMax: 100,
  /** Specification decisions: body of a request unless its route says otherwise. */
  bodyBytesMax: 1024 * 1024,
  /** Nobody's request nests deeper than an array of objects; recursion in a parser must stay far from the stack's end. */
  jsonDepthMax: 16,
  /** The longest valid address text of the 36 chains is a ZEC unified address with four receivers; beyond is noise. */
  addressTextMax: 512,
} as const;
