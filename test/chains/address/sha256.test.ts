import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { doubleSha256Head, ONE_BLOCK_MAX, writeSha256 } from '../../../src/chains/address/sha256.ts';

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

it('matches OpenSSL for every message of one block', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: ONE_BLOCK_MAX }), fc.nat(7), (message, from) => {
      const bytes = new Uint8Array(from + message.length);
      bytes.set(message, from);
      const out = new Uint8Array(40);
      writeSha256(bytes, from, message.length, out, 3, 32);
      expect(Buffer.from(out.subarray(3, 35))).toEqual(sha256(message));
      expect(doubleSha256Head(bytes, from, message.length)).toBe(sha256(sha256(message)).readInt32BE());
    }),
    { numRuns: 500 },
  );
});

it('hashes messages of every length up to a whole block', () => {
  for (let length = 0; length <= ONE_BLOCK_MAX; length++) {
    const message = new Uint8Array(length).fill(0xff);
    expect(doubleSha256Head(message, 0, length)).toBe(sha256(sha256(message)).readInt32BE());
  }
});
