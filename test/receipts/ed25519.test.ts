/** Signatures with libsodium: the vectors of RFC 8032, the bytes of node:crypto, and platforms without the library. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import {
  nodeSigner,
  privateKeyOf,
  SIGNATURE_BYTES,
  type Sodium,
  sodiumSigner,
} from '../../src/receipts/ed25519.ts';

const sodium = createRequire(import.meta.url)('sodium-native') as Sodium;
const { privateKey } = generateKeyPairSync('ed25519');

/** RFC 8032, 7.1: tests 1 to 3. */
const VECTORS = [
  {
    seed: '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    x: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    text: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    seed: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    x: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    text: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
  {
    seed: 'c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7',
    x: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    text: 'af82',
    signature:
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  },
];

describe('Ed25519 with libsodium', () => {
  it.each(VECTORS)(
    'signs the text $text of RFC 8032, with the key of its seed',
    ({ seed, x, text, signature }) => {
      const key = privateKeyOf(Buffer.from(seed, 'hex'));
      expect(key.export({ format: 'jwk' }).x).toBe(Buffer.from(x, 'hex').toString('base64url'));
      for (const signer of [sodiumSigner(key), nodeSigner(key)]) {
        const signed = Buffer.alloc(SIGNATURE_BYTES);
        signer?.sign(Buffer.from(text, 'hex'), signed);
        expect(signed.toString('hex')).toBe(signature);
      }
    },
  );

  it('signs the bytes that node:crypto signs, also into memory that threads share', () => {
    const signer = sodiumSigner(privateKey);
    const memory = Buffer.from(new SharedArrayBuffer(SIGNATURE_BYTES));
    for (let length = 0; length < 5_000; length += 83) {
      const text = randomBytes(length);
      signer?.sign(text, memory);
      expect(Buffer.from(memory)).toEqual(sign(null, text, privateKey));
    }
  });

  it('overwrites the secret key when it is wiped, and signs nothing afterwards', () => {
    const memories: Buffer[] = [];
    const malloc = (bytes: number): Buffer => {
      const memory = sodium.sodium_malloc(bytes);
      memories.push(memory);
      return memory;
    };
    const signer = sodiumSigner(privateKey, () => ({ ...sodium, sodium_malloc: malloc }));
    const [secret] = memories as [Buffer];
    expect(secret.equals(Buffer.alloc(secret.length))).toBe(false);
    signer?.wipe();
    expect(secret.equals(Buffer.alloc(secret.length))).toBe(true);
    expect(() => signer?.sign(Buffer.alloc(1), Buffer.alloc(SIGNATURE_BYTES))).toThrow('was wiped');
  });

  it('overwrites the encoded key that it reads the seed from', () => {
    const wiped: Uint8Array[] = [];
    const memzero = (bytes: Uint8Array): void => {
      sodium.sodium_memzero(bytes);
      wiped.push(bytes);
    };
    sodiumSigner(privateKey, () => ({ ...sodium, sodium_memzero: memzero }));
    const [encoded] = wiped as [Uint8Array];
    expect(encoded.length).toBeGreaterThan(32);
    expect(encoded.every((byte) => byte === 0)).toBe(true);
  });

  it('returns null if the library cannot be loaded', () => {
    const load = (): never => {
      throw new Error('Cannot find addon');
    };
    expect(sodiumSigner(privateKey, load)).toBeNull();
  });

  it('returns null if the library signs other bytes than node:crypto, and overwrites the key', () => {
    const memories: Buffer[] = [];
    const load = (): Sodium => ({
      ...sodium,
      sodium_malloc: (bytes) => {
        const memory = sodium.sodium_malloc(bytes);
        memories.push(memory);
        return memory;
      },
      crypto_sign_detached: (signature) => signature.fill(7),
    });
    expect(sodiumSigner(privateKey, load)).toBeNull();
    expect(memories[0]?.equals(Buffer.alloc(64))).toBe(true);
  });
});
