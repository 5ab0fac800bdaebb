/** The texts of a chain that the kernel of address batches can read (`key-batch.ts`). */

/** EVM addresses, in one letter case or with the checksum of EIP-55. */
interface EvmForm {
  readonly type: 'evm';
  readonly keyByte: number;
  /** Kind byte of the keys. */
  readonly kind: number;
}

/** Base58check texts of a version and a hash of 20 bytes, and lower-case bech32 texts of witness programs. */
interface Base58CheckForm {
  readonly type: 'base58check';
  readonly keyByte: number;
  readonly digits: Uint8Array;
  /** Number of bytes of a version. */
  readonly versionBytes: number;
  /** Versions, at most four, with the kind byte of their keys. */
  readonly kinds: readonly (readonly [version: number, kind: number])[];
  /** Prefix of witness programs, at most three characters; null if the chain has none. */
  readonly hrp: string | null;
}

/** The kernel leaves all other texts of the chain, right or wrong, to its codec. */
export type BatchForm = EvmForm | Base58CheckForm;
