import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { systemRandom } from '../../../src/base/random.ts';
import {
  Fingerprinter,
  HEX_PACKED_BYTES,
  packTransaction,
  packTransactionInto,
  positionCode,
  positionMark,
  positionText,
  transactionKey,
  unpackTransaction,
} from '../../../src/graph/store/fingerprint.ts';
import { KeyTable, keysIn } from '../../../src/graph/store/key-table.ts';

const secret = Uint8Array.from({ length: 8 }, (_, index) => index);

describe('fingerprints', () => {
  it('match the reference (vectors_hsip64 of github.com/veorq/SipHash)', () => {
    const hashed = (length: number): string => {
      const fingerprint = new Fingerprinter(secret);
      fingerprint.hash(
        Uint8Array.from({ length }, (_, index) => index),
        0,
        length,
      );
      const out = Buffer.alloc(8);
      out.writeUInt32LE(fingerprint.low, 0);
      out.writeUInt32LE(fingerprint.high, 4);
      return out.toString('hex');
    };
    expect(hashed(0)).toBe('218d1f59b9b83cc8');
    expect(hashed(1)).toBe('be552412f8387315');
  });

  it('differ under another secret', () => {
    const packed = packTransaction(`0x${'ab'.repeat(32)}`);
    const key = (of: Uint8Array): Buffer => transactionKey(packed, new Fingerprinter(of));
    expect(key(secret).equals(key(secret.map((byte) => byte ^ 1)))).toBe(false);
  });
});

describe('packed transaction ids', () => {
  it('are restored as written', () => {
    const hex = fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .map((bytes) => Buffer.from(bytes).toString('hex'));
    const any = fc.oneof(
      hex,
      hex.map((text) => `0x${text}`),
      fc.string({ minLength: 1, maxLength: 128 }),
    );
    fc.assert(fc.property(any, (id) => unpackTransaction(packTransaction(id)) === id));
    expect(packTransaction('ab'.repeat(32)).length).toBe(33);
  });

  it('have 33 bytes only if they are 64 lower-case digits of hex, with or without 0x', () => {
    const digits = '0123456789abcdef'.repeat(4);
    const texts = [digits.slice(1), `${digits}0`, `0X${digits}`, `00${digits}`, `0x${digits.slice(1)}`];
    for (const wrong of ['A', 'g', '/', ':', '`', ' ', '\u0130', '\uff10'])
      for (const at of [0, 31, 63]) texts.push(`${digits.slice(0, at)}${wrong}${digits.slice(at + 1)}`);
    for (const text of texts)
      expect(packTransaction(text)).toEqual(Buffer.concat([Buffer.of(1), Buffer.from(text, 'utf8')]));
    expect(packTransaction(`0x${digits}`).toString('hex')).toBe(`00${digits}`);
    expect(packTransaction(digits).toString('hex')).toBe(`02${digits}`);
  });

  it('use the memory of the caller only for hex', () => {
    const into = Buffer.alloc(HEX_PACKED_BYTES);
    expect(packTransactionInto('ab'.repeat(32), into)).toBe(into);
    expect(packTransactionInto('ab', into)).toEqual(packTransaction('ab'));
    expect(packTransactionInto('ab', into)).not.toBe(into);
  });
});

describe('positions', () => {
  it('of the common forms are integers, each different', () => {
    const words = ['log', 'out', 'in', 'trace', 'value', 'internal', 'fee'];
    const texts = ['value', ...words.flatMap((word) => [0, 1, 7, 999_999_999].map((n) => `${word}:${n}`))];
    const codes = texts.map(positionCode);
    expect(codes.map((code) => positionText(code as number))).toEqual(texts);
    expect(new Set(codes).size).toBe(texts.length);
  });

  it.each(['log:01', 'log:1000000000', 'log:', 'trace:0_1', 'LOG:1', ''])(
    '%j is encoded as text',
    (position) => {
      expect(positionCode(position)).toBeNull();
      expect(positionMark(position, new Fingerprinter(secret))).toBeGreaterThanOrEqual(2 ** 47);
    },
  );
});

/** Looks up a single key. */
function numberOf(table: KeyTable, key: Uint8Array): number {
  const place = table.add(key, 0, key.length);
  return table.settle()[place] as number;
}

describe('a key table', () => {
  it('numbers keys of any length by first occurrence, and finds them again', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 34 }), { maxLength: 200 }), (keys) => {
        const table = new KeyTable();
        const numbers = new Map<string, number>();
        for (const key of [...keys, ...keys]) {
          const name = Buffer.from(key).toString('hex');
          const number = numberOf(table, key);
          expect(number).toBe(numbers.get(name) ?? numbers.size + 1);
          numbers.set(name, number);
        }
        expect(table.count).toBe(numbers.size);
        const fresh = table.takeFresh();
        expect([...keysIn(fresh)].map(({ number, key }) => [key.toString('hex'), number])).toEqual([
          ...numbers,
        ]);
        expect(table.takeFresh()).toHaveLength(0);
      }),
      { numRuns: 30 },
    );
  });

  it('gives two keys of one hash and different lengths a number each', () => {
    const bytes = vi.spyOn(systemRandom, 'bytes').mockReturnValue(new Uint8Array(4));
    try {
      const table = new KeyTable();
      // One step of the hash, with the seed 0: the last word of the long key leads to the same state as the short key.
      const mixed = Math.imul(8 ^ 0x64636261, 0x2c1b3c6d);
      const long = Buffer.from('abcd0000');
      long.writeInt32LE(mixed ^ (mixed >>> 15) ^ 4 ^ 0x64636261, 4);
      const short = long.subarray(0, 4);
      expect(numberOf(table, long)).toBe(1);
      expect(numberOf(table, short)).toBe(2);
      expect([numberOf(table, long), numberOf(table, short)]).toEqual([1, 2]);
    } finally {
      bytes.mockRestore();
    }
  });

  it('gives the keys of a batch the numbers that they get one by one', () => {
    // Keys of one batch repeat, and some are so long that the batch is short.
    const keys = Array.from({ length: 5_000 }, (_, index) =>
      Buffer.from(`${(index * 7) % 1_900}`.padEnd(index % 50 === 0 ? 500 : 22)),
    );
    const single = new KeyTable();
    const batched = new KeyTable();
    const numbers: number[] = [];
    let batch = 0;
    const settle = (): void => {
      numbers.push(...batched.settle().subarray(0, batch));
      batch = 0;
    };
    for (const key of keys) {
      if (!batched.hasRoomFor(1)) settle();
      expect(batched.add(key, 0, key.length)).toBe(batch++);
    }
    settle();
    expect(numbers).toEqual(keys.map((key) => numberOf(single, key)));
    expect(batched.takeFresh()).toEqual(single.takeFresh());
  });

  it('keeps its numbers while it grows', () => {
    const table = new KeyTable();
    // Every third key does not fit into a slot.
    const key = (index: number): Buffer => Buffer.from(`key ${index}`.padEnd(index % 3 === 0 ? 32 : 0));
    for (let index = 1; index <= 100_000; index++) numberOf(table, key(index));
    for (const index of [1, 2, 32_768, 65_537, 100_000]) {
      expect(numberOf(table, key(index))).toBe(index);
    }
  });
});
