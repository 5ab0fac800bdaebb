/**
 * Port of the keys that sign receipts. keys-store.ts implements it in the store of receipts; a module for PKCS#11 or a key management
 * service implements the same. Every implementation passes test/conformance/signing-keys.ts.
 */
import { createHash } from 'node:crypto';
import type { ReceiptJwk, ReceiptJwks, ReceiptSigner } from './jws.ts';

/** A signing key without its secret. */
export interface SigningKey {
  readonly kid: string;
  readonly status: 'ACTIVE' | 'RETIRED';
  readonly createdAtMs: number;
  /** From this time on, a receipt that the key has signed is not valid. Null for the active key. */
  readonly endsAtMs: number | null;
  readonly jwk: ReceiptJwk;
}

export interface SigningKeys {
  /** Returns the active key; creates the first one. Rejects with NOT_READY if this node cannot use it. */
  active(): Promise<ReceiptSigner>;
  /** Creates a key that signs from now on, and retires the active one. Retired keys are kept, because their receipts stay valid. */
  rotate(): Promise<SigningKey>;
  /** Returns all keys, oldest first. */
  list(): readonly SigningKey[];
}

/** Returns the public document of all keys. */
export const jwksOf = (keys: readonly SigningKey[]): ReceiptJwks => ({ keys: keys.map(({ jwk }) => jwk) });

/** Returns the id of a key: its thumbprint (RFC 7638), so that two keys never have the same id. */
export const thumbprintOf = (x: string): string =>
  createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
