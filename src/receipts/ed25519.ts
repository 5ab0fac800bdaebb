/**
 * Ed25519 signatures with libsodium: the same bytes as those of node:crypto, in 60 % of the time. A platform without a binary of libsodium,
 * and a binary that signs other bytes, leave the signatures to node:crypto.
 */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { createRequire } from 'node:module';

export const SIGNATURE_BYTES = 64;
/** Random bytes of which a key is made. */
export const SEED_BYTES = 32;
/** PKCS #8 of an Ed25519 key (RFC 8410): these bytes, then the seed. */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const SECRET_BYTES = 64;
/** Signed with both libraries before the first receipt. */
const TRIAL = Buffer.from('assay: trial of a library that signs');

/** Returns the private key of a seed as PKCS #8. */
export const pkcs8Of = (seed: Uint8Array): Buffer => Buffer.concat([PKCS8_HEAD, seed]);

/**
 * Returns the private key of a seed. A key that generateKeyPair makes can stop the process for good: Node 20 locks a key while it exports it,
 * and if the garbage collector runs then and frees what made the key, it waits for the same lock on the same thread.
 */
export const privateKeyOf = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: pkcs8Of(seed), format: 'der', type: 'pkcs8' });

/** The functions of the package sodium-native that are used. */
export interface Sodium {
  /** Returns memory with guard pages on both sides, which is not swapped if the system permits that. */
  sodium_malloc(bytes: number): Buffer;
  sodium_memzero(bytes: Uint8Array): void;
  crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void;
  crypto_sign_detached(signature: Uint8Array, text: Uint8Array, secretKey: Uint8Array): void;
}

/** Signs texts with one key. */
export interface TextSigner {
  /** Writes the signature of a text, 64 bytes. */
  sign(text: Uint8Array, signature: Uint8Array): void;
  /** Overwrites the secret key. Nothing can be signed afterwards. */
  wipe(): void;
}

/** Loads the binary of this platform. Throws if there is none. */
const loadSodium = (): Sodium => createRequire(import.meta.url)('sodium-native') as Sodium;

class SodiumSigner implements TextSigner {
  readonly #sodium: Sodium;
  #secret: Buffer | null;

  constructor(key: KeyObject, sodium: Sodium) {
    this.#sodium = sodium;
    this.#secret = sodium.sodium_malloc(SECRET_BYTES);
    // PKCS#8 of an Ed25519 key (RFC 8410) ends with the seed.
    const encoded = key.export({ format: 'der', type: 'pkcs8' });
    try {
      const seed = encoded.subarray(encoded.length - SEED_BYTES);
      sodium.crypto_sign_seed_keypair(Buffer.alloc(SEED_BYTES), this.#secret, seed);
    } finally {
      sodium.sodium_memzero(encoded);
    }
  }

  sign(text: Uint8Array, signature: Uint8Array): void {
    if (this.#secret === null) throw new Error('The signing key was wiped.');
    this.#sodium.crypto_sign_detached(signature, text, this.#secret);
  }

  wipe(): void {
    if (this.#secret !== null) this.#sodium.sodium_memzero(this.#secret);
    this.#secret = null;
  }
}

/**
 * Returns a signer with libsodium.
 *
 * @returns null if the binary cannot be loaded, or signs other bytes than node:crypto
 */
export function sodiumSigner(key: KeyObject, load: () => Sodium = loadSodium): TextSigner | null {
  let signer: SodiumSigner | null = null;
  try {
    signer = new SodiumSigner(key, load());
    const signature = Buffer.alloc(SIGNATURE_BYTES);
    signer.sign(TRIAL, signature);
    if (signature.equals(sign(null, TRIAL, key))) return signer;
  } catch {
    // No binary for this platform, or one that does not work there.
  }
  signer?.wipe();
  return null;
}

/** Returns a signer with node:crypto. */
export function nodeSigner(key: KeyObject): TextSigner {
  let used: KeyObject | null = key;
  return {
    sign(text, signature) {
      if (used === null) throw new Error('The signing key was wiped.');
      signature.set(sign(null, text, used));
    },
    // The memory of the key is freed, and overwritten by OpenSSL, when nothing refers to it.
    wipe() {
      used = null;
    },
  };
}
