/** Texts and ids that clients and third parties send: times, cursors, account numbers, and what a terminal may show. */
import { describe, expect, it } from 'vitest';
import { hasCheckDigits, inGroups, parseIban, withCheckDigits } from '../../src/base/iban.ts';
import { createIds, ID_SHAPE, idOfName } from '../../src/base/ids.ts';
import { timeOf } from '../../src/base/iso-times.ts';
import { sha256 } from '../../src/base/merkle.ts';
import { sequenceOfCursor } from '../../src/base/paging.ts';
import { printable, printableLine } from '../../src/base/printable.ts';
import { LINE_SALT_BYTES, LineLeaves, lineSalt } from '../../src/base/salted-lines.ts';

describe('a time of a client', () => {
  it.each([
    ['2026-12-31', '2026-12-31T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-12-31T23:59Z', '2026-12-31T23:59:00.000Z'],
    ['2026-12-31T23:59:59Z', '2026-12-31T23:59:59.000Z'],
    ['2026-12-31T00:00:00.5+23:59', '2026-12-30T00:01:00.500Z'],
    ['2026-12-31T20:00:00.123-01:30', '2026-12-31T21:30:00.123Z'],
  ])('is read: %s', (text, iso) => {
    expect(timeOf('at', text)).toBe(Date.parse(iso));
  });

  it.each([
    '',
    '2026-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
    '2026-1-1',
    '2026-12-31T24:00Z',
    '2026-12-31T23:60Z',
    '2026-12-31T23:59:60Z',
    '2026-12-31T10:00:00',
    '2026-12-31T10:00:00.1234Z',
    '2026-12-31T10:00:00+24:00',
    '2026-12-31T10Z',
    '2026-12-31Z',
    ' 2026-12-31',
    '2026-12-31\n',
    '1',
  ])('is refused with its field: %j', (text) => {
    expect(() => timeOf('at', text)).toThrow('at: must be an ISO 8601 date');
  });
});

describe('a cursor of a sequence', () => {
  it('is a number from 1 to 15 digits, and nothing else', () => {
    expect([sequenceOfCursor('1'), sequenceOfCursor('999999999999999')]).toEqual([1, 999_999_999_999_999]);
    for (const wrong of ['', '0', '01', '-1', '1.5', '1e3', ' 1', '1\n', '1000000000000000', 'a'])
      expect(() => sequenceOfCursor(wrong), wrong).toThrow('cursor: not a cursor');
  });
});

describe('an account number', () => {
  it('is read in any spelling, if its check digits fit', () => {
    expect(parseIban('gb82 west 1234 5698 7654 32')).toBe('GB82WEST12345698765432');
    // The shortest and the longest that are registered, of Norway and of Saint Lucia.
    expect(parseIban('NO9386011117947')).toBe('NO9386011117947');
    expect(parseIban('LC55HEMM000100010012001200023015')).toBe('LC55HEMM000100010012001200023015');
    // A is 10, the first number of two digits.
    expect(parseIban('AT61 1904 3002 3457 3201')).toBe('AT611904300234573201');
    expect(parseIban('AE07 0331 2345 6789 0123 456')).toBe('AE070331234567890123456');
    for (const wrong of [
      '',
      'GB83WEST12345698765432',
      'GB82WEST12345698765423',
      'GB82WEST1234569876543-2',
      '82GBWEST12345698765432',
      withCheckDigits('RF', '12345678901'),
      withCheckDigits('NO', '8601111794'),
      withCheckDigits('LC', '1'.repeat(31)),
    ])
      expect(parseIban(wrong), wrong).toBeNull();
    expect(parseIban(withCheckDigits('LC', '1'.repeat(30)))).not.toBeNull();
  });

  it('has check digits of two places, and groups of four', () => {
    // A reference of ISO 11649 as its standard shows it.
    expect(withCheckDigits('RF', '539007547034')).toBe('RF18539007547034');
    for (let number = 0; number < 300; number++) {
      const text = withCheckDigits('RF', `A${number}`);
      expect(text).toMatch(/^RF\d{2}A/);
      expect(hasCheckDigits(text)).toBe(true);
    }
    expect([inGroups('RF18539007547034'), inGroups('12345'), inGroups('')]).toEqual([
      'RF18 5390 0754 7034',
      '1234 5',
      '',
    ]);
  });
});

describe('a text for a terminal', () => {
  it('has the codes of characters that move the cursor, colour or reverse, and keeps the others', () => {
    const codes = [0, 8, 0xb, 0x1f, 0x7f, 0x9f, 0x61c, 0x200e, 0x200f, 0x2028, 0x202e, 0x2066, 0x2069];
    for (const code of codes)
      expect(printable(`a${String.fromCharCode(code)}b`)).toBe(`a\\u${code.toString(16).padStart(4, '0')}b`);
    const harmless = [9, 10, 0x20, 0x7e, 0xa0, 0x61b, 0x61d, 0x200d, 0x2010, 0x2027, 0x202f, 0x2065, 0x206a];
    for (const code of harmless) expect(printable(String.fromCharCode(code))).toBe(String.fromCharCode(code));
    expect([printable('\u001b[1m\u001b[0m'), printableLine('a\r\n\tb\u0007')]).toEqual([
      '\\u001b[1m\\u001b[0m',
      'a b\\u0007',
    ]);
  });
});

describe('ids', () => {
  const idsOf = (times: number[], bytes: (draw: number) => number[]) => {
    let draws = 0;
    const clock = { now: () => times.shift() as number, monotonic: () => 0 };
    const newId = createIds({ clock, random: { bytes: () => Buffer.from(bytes(draws++)) } });
    return { newId, draws: () => draws };
  };
  const ALL = Array.from({ length: 10 }, () => 0xff);

  it('increase within a millisecond, also past the first half of their digits, and are drawn anew in the next', () => {
    const { newId, draws } = idsOf([5, 5, 5, 6, 6], () => ALL);
    const ids = [newId(), newId(), newId(), newId(), newId()];
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(5);
    for (const id of ids) expect(id).toMatch(ID_SHAPE);
    expect([ids[0]?.slice(10), ids[1]?.slice(10), ids[2]?.slice(10)]).toEqual([
      'fzzzzzzzzzzzzzzz',
      'g000000000000000',
      'g000000000000001',
    ]);
    expect([draws(), ids[0]?.slice(0, 10), ids[3]?.slice(0, 10)]).toEqual([2, '0000000005', '0000000006']);
  });

  it('are drawn anew if the clock was set back', () => {
    const { newId, draws } = idsOf([6, 5, 6], () => ALL);
    for (let at = 0; at < 3; at++) newId();
    expect(draws()).toBe(3);
  });

  it('of a name are the same everywhere, and sort by their time', () => {
    expect(idOfName(7, 'a')).toBe(idOfName(7, 'a'));
    expect(idOfName(7, 'a')).not.toBe(idOfName(7, 'b'));
    expect(idOfName(7, 'z') < idOfName(8, 'a')).toBe(true);
    expect(idOfName(7, 'a')).toMatch(ID_SHAPE);
  });
});

describe('a salted line', () => {
  it('has the salt of its number, and the leaf of its salt and text', () => {
    const secret = Buffer.alloc(32, 7);
    const salts = [0, 1, 2 ** 32].map((line) => lineSalt(secret, line).toString('hex'));
    expect(new Set(salts).size).toBe(3);
    expect(Buffer.from(salts[1] as string, 'hex')).toEqual(
      sha256(Buffer.concat([secret, Buffer.from('0000000000000001', 'hex')])).subarray(0, 16),
    );
    const leaves = new LineLeaves();
    const salt = Buffer.alloc(LINE_SALT_BYTES, 3);
    // Around the length of its memory, and a shorter one after a longer one.
    for (const length of [5, 8_174, 8_175, 8_176, 20_000, 40_001, 1]) {
      const text = Buffer.alloc(length, 0x61);
      expect(leaves.leafOf(salt, text)).toEqual(sha256(Buffer.concat([Buffer.of(0), salt, text])));
    }
  });
});
