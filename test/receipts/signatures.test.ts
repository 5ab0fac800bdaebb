/** Signatures of a few texts, of many at a time on the thread, and of texts that do not fit. */
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { workerUrl } from '../../src/base/paths.ts';
import { RECEIPT_LIMITS } from '../../src/receipts/limits.ts';
import { Signatures } from '../../src/receipts/signatures.ts';
import type { SigningJob } from '../../src/receipts/signing-thread.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const publicKey = createPublicKey(privateKey);

/** Source of a thread in which sodium-native cannot be loaded. */
const workerWithoutSodium = (): string => `
  const { Module } = require('node:module');
  const load = Module._load;
  Module._load = (name, ...rest) => {
    if (name === 'sodium-native') throw new Error('no binary for this platform');
    return load(name, ...rest);
  };
  import(${JSON.stringify(workerUrl('signatures').href)});
`;

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

  it('signs on the pool and on the thread if libsodium cannot be loaded', async () => {
    const load = (): never => {
      throw new Error('no binary for this platform');
    };
    const newThread = (job: SigningJob): Worker =>
      new Worker(workerWithoutSodium(), { workerData: job, eval: true });
    signatures = new Signatures(privateKey.export({ format: 'jwk' }), { load, newThread });
    await signAll(texts(3));
    await signAll(texts(300));
  });

  it('signs texts that wait for a busy thread when it is done, and when it fails', async () => {
    const threads: Worker[] = [];
    const newThread = (job: SigningJob): Worker => {
      const thread = new Worker(workerUrl('signatures'), { workerData: job, execArgv: [] });
      threads.push(thread);
      return thread;
    };
    signatures = new Signatures(privateKey.export({ format: 'jwk' }), { newThread });
    // Two groups, and texts that do not fill the next.
    const waiting = 2 * RECEIPT_LIMITS.signedAtOnceMax + 3;
    await signAll(texts(waiting));
    const signed = signAll(texts(waiting));
    threads[0]?.postMessage(undefined);
    await signed;
    const again = signAll(texts(waiting));
    await threads[0]?.terminate();
    await again;
  });

  it('signs all texts of a thread that fails while it works, and starts another one', async () => {
    const threads: Worker[] = [];
    const newThread = (job: SigningJob): Worker => {
      const thread = new Worker(workerUrl('signatures'), { workerData: job, execArgv: [] });
      threads.push(thread);
      return thread;
    };
    signatures = new Signatures(privateKey.export({ format: 'jwk' }), { newThread });
    await signAll(texts(300));
    expect(threads).toHaveLength(1);
    const [first] = threads as [Worker];
    const exits = new Promise((resolve) => first.once('exit', resolve));
    // Before the thread has read its first group: it reads no member of this message, and ends with the error.
    first.postMessage(undefined);
    await signAll(texts(300));
    expect(await exits).toBe(1);
    await signAll(texts(300));
    expect(threads).toHaveLength(2);
  });
});
