/** The JSON of results in memory that is used again. */
import { describe, expect, it } from 'vitest';
import { createJsonWriter } from '../../src/pool/task.ts';

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

describe('createJsonWriter', () => {
  it('writes the text that JSON.stringify returns, in UTF-8', () => {
    const write = createJsonWriter();
    for (const value of [{ name: 'Müller' }, { name: '金 𠮷 \ud800' }, { list: ['x'.repeat(50_000)] }, null])
      expect(textOf(write(value))).toBe(Buffer.from(JSON.stringify(value)).toString('utf8'));
  });

  it('uses its memory again, so that only the last result is valid', () => {
    const write = createJsonWriter();
    const first = write({ name: 'first' });
    const second = write({ name: 'secon' });
    expect(second.buffer).toBe(first.buffer);
    expect(textOf(first)).toBe('{"name":"secon"}');
  });
});
