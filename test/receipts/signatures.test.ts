/** Signatures of a few texts, of many at a time on the thread, and of texts that do not fit. */
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';
import { Signatures } from '../../src/receipts/signatures.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const publicKey = createPublicKey(privateKey);

describe('signatures of receipts', () => {
  let signatures: Signatures;
  afterEach(() => signatures.close());

  /** Signs texts at a time. Their memory is used again at once, as callers do. */
  async function signAll(texts: readonly Buffer[]): Promise<void> {
    const scratch = Buffer.alloc(RECEIPT_LIMITS.signedAtOnceBytes + 1);
    const signed = await Promise.all(
      texts.map((text) => {
        text.copy(scratch);
        return signatures.sign(scratch.subarray(0, text.length));
      }),
    );
    for (const [number, text] of texts.entries())
      expect(verify(null, text, publicKey, signed[number] as Uint8Array)).toBe(true);
  }
  const texts = (count: number): Buffer[] =>
    Array.from({ length: count }, (_, number) => Buffer.from(`text ${number} ${'x'.repeat(number * 7)}`));

  it.each([1, 3, 4, 256, 257, 1_500])('signs %i texts at a time', async (count) => {
    signatures = new Signatures(privateKey.export({ format: 'jwk' }));
    await signAll(texts(count));
    await signAll(texts(count));
  });

  it('signs a text that is larger than the memory of the thread', async () => {
    signatures = new Signatures(privateKey.export({ format: 'jwk' }));
    await signAll([...texts(10), Buffer.alloc(RECEIPT_LIMITS.signedAtOnceBytes + 1, 'y'), ...texts(10)]);
  });

  it('signs all texts that wait when it is closed, and later ones', async () => {
    signatures = new Signatures(privateKey.export({ format: 'jwk' }));
    await signAll(texts(10));
    const waiting = signAll(texts(300));
    await signatures.close();
    await waiting;
    await signAll(texts(20));
  });
});
