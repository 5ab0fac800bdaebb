import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fragment, jsonTextInto } from '../../src/base/byte-text.ts';

describe('the cached bytes of a text', () => {
  it('have memory of their own, and not a part of a pool that stays alive with them', () => {
    for (const text of ['', ',', 'Received 12.5 % of its value', 'größer als 8 KB ü'.repeat(1_000)]) {
      const bytes = fragment(text);
      expect(bytes.toString('utf8')).toBe(text);
      expect(bytes.buffer.byteLength).toBe(Buffer.byteLength(text));
    }
  });
});

it('writes texts as JSON does', () => {
  const out = Buffer.alloc(4096);
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ maxLength: 300 }), fc.string({ unit: 'binary', maxLength: 300 })),
      (text) => {
        const end = jsonTextInto(text, out, 3);
        expect(`"${out.toString('utf8', 3, end)}"`).toBe(Buffer.from(JSON.stringify(text)).toString());
      },
    ),
  );
  expect(jsonTextInto('four', Buffer.alloc(3), 0)).toBe(-1);
  expect(jsonTextInto('', out, -1)).toBe(-1);
  expect(jsonTextInto('', out, 7)).toBe(7);
});
