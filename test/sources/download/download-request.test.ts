import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decoded } from '../../../src/sources/download-request.ts';

async function* body(...chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read);
}

describe('the body of a response', () => {
  it.each([null, '', 'identity'])('passes as it is with the encoding %j', async (encoding) => {
    expect(String(await bytesOf(decoded(body(Buffer.from('plain')), encoding)))).toBe('plain');
  });

  it.each(['gzip', ' X-GZIP '])('is unpacked with the encoding %j', async (encoding) => {
    expect(String(await bytesOf(decoded(body(gzipSync('packed')), encoding)))).toBe('packed');
  });

  it('with a broken packing fails for its reader, however late that one begins', async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    process.prependListener('uncaughtException', onError);
    try {
      const chunks = decoded(body(Buffer.from('no gzip')), 'gzip');
      // The reader opens a file in the meantime.
      await wait(20);
      await expect(bytesOf(chunks)).rejects.toThrow('incorrect header check');
    } finally {
      process.off('uncaughtException', onError);
    }
    expect(errors).toEqual([]);
  });
});
