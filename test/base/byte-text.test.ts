import { describe, expect, it } from 'vitest';
import { fragment } from '../../src/base/byte-text.ts';

describe('the cached bytes of a text', () => {
  it('have memory of their own, and not a part of a pool that stays alive with them', () => {
    for (const text of ['', ',', 'Received 12.5 % of its value', 'größer als 8 KB ü'.repeat(1_000)]) {
      const bytes = fragment(text);
      expect(bytes.toString('utf8')).toBe(text);
      expect(bytes.buffer.byteLength).toBe(Buffer.byteLength(text));
    }
  });
});
