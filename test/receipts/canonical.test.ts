/** Vectors of RFC 8785 (sections 3.2.2, 3.2.3 and appendix B), and the texts that have no canonical form. */
import { describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import {
  canonicalJson,
  canonicalObject,
  canonicalParts,
  canonicalSha256,
} from '../../src/receipts/canonical.ts';

const double = (hex: string): number => Buffer.from(hex, 'hex').readDoubleBE();

describe('canonical JSON', () => {
  it('writes the example of section 3.2.2', () => {
    const example = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    const text = canonicalJson(JSON.parse(example));
    expect(text).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    );
    // The bytes that section 3.2.4 lists.
    expect(Buffer.from(text).toString('hex')).toBe(
      '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b3333333333333333332e333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c75303030665c6e4127425c225c5c5c5c5c222f227d',
    );
  });

  it('sorts names by UTF-16 code units, as section 3.2.3 shows', () => {
    const names = { '€': 1, '\r': 2, '\ufb33': 3, '1': 4, '😀': 5, '\u0080': 6, ö: 7 };
    expect(Object.values(JSON.parse(canonicalJson(names)) as object)).toHaveLength(7);
    const order = [...canonicalJson(names).matchAll(/:(\d)/g)].map((match) => match[1]);
    expect(order).toEqual(['2', '4', '6', '7', '1', '5', '3']);
  });

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('writes the double %s of appendix B as %s', (hex, text) => {
    expect(canonicalJson(double(hex))).toBe(text);
  });

  it('gives the same hash for a text that was written again', () => {
    const sent = '{"b": [1.0, 2e2],\n "a": "\\u00e9"}';
    expect(canonicalSha256(JSON.parse(sent))).toBe(
      canonicalSha256(JSON.parse(JSON.stringify(JSON.parse(sent), null, 4))),
    );
    expect(canonicalSha256({ a: 1 })).not.toBe(canonicalSha256({ a: '1' }));
  });

  it.each([
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
    ['a lone surrogate', '\ud83d'],
    ['a lone surrogate in a name', { '\udead': 1 }],
    ['a bigint', { amount: 1n }],
    ['a function', [() => 1]],
  ])('refuses %s', (_, value) => {
    expect(() => canonicalJson(value)).toThrow('RFC 8785');
  });

  it('refuses a value that would exhaust the stack', () => {
    const deep = JSON.parse('['.repeat(5_000) + ']'.repeat(5_000));
    expect(() => canonicalJson(deep)).toThrow('64 levels');
    for (const [open, end] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const nested = (levels: number): string => `${open.repeat(levels)}1${end.repeat(levels)}`;
      expect(canonicalJson(JSON.parse(nested(64)))).toBe(nested(64));
      expect(() => canonicalJson(JSON.parse(nested(65)))).toThrow('64 levels');
    }
    const rest = (levels: number) => JSON.parse(`{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`) as object;
    const omitting = (levels: number) => () =>
      canonicalObject(rest(levels) as Record<string, unknown>, new Set());
    const parting = (levels: number) => () => canonicalParts(rest(levels) as Record<string, unknown>, 'b');
    for (const write of [omitting, parting]) {
      write(64)();
      expect(write(65)).toThrow('64 levels');
    }
  });

  it('writes the same as a writer that sorts every object, for generated values of few and of many shapes', () => {
    const next = seededUint32(21);
    const plain = (value: unknown): string => {
      if (Array.isArray(value)) return `[${value.map(plain).join(',')}]`;
      if (typeof value !== 'object' || value === null) return JSON.stringify(value);
      const members = Object.entries(value).filter(([, member]) => member !== undefined);
      members.sort(([a], [b]) => (a < b ? -1 : 1));
      return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${plain(member)}`).join(',')}}`;
    };
    const NAMES = ['a', 'b', 'é', '"', 'constructor', '10', '9', '\\', 'toString', 'zz', '😀'];
    const textOf = (): string =>
      ['', 'plain', 'a"b', 'back\\slash', '\u0007', 'ü', '\u007f', '\u2028'][next() % 8]!;
    const make = (depth: number): unknown => {
      const kind = next() % (depth > 3 ? 5 : 7);
      if (kind === 0) return textOf();
      if (kind === 1) return (next() - 2 ** 31) / 1_000;
      if (kind === 2) return next() % 2 === 0;
      if (kind === 3) return null;
      if (kind === 4) return textOf() + String(next());
      if (kind === 5) return Array.from({ length: next() % 4 }, () => make(depth + 1));
      const names = Array.from(
        { length: next() % 6 },
        () => NAMES[next() % NAMES.length]! + String(next() % 3),
      );
      return Object.fromEntries(
        names.map((name) => [name, next() % 9 === 0 ? undefined : (make(depth + 1) ?? null)]),
      );
    };
    for (let at = 0; at < 5_000; at++) {
      const value = { first: make(0), second: make(1) };
      expect(canonicalJson(value)).toBe(plain(value));
    }
  });

  it('writes the own members of an object alone, also behind a longer one that begins like it', () => {
    expect(canonicalJson({ first: 1, constructor: 2 })).toBe('{"constructor":2,"first":1}');
    expect(canonicalJson({ first: 1 })).toBe('{"first":1}');
    expect(canonicalJson({ first: 1, toString: 3 })).toBe('{"first":1,"toString":3}');
  });

  it('leaves members out', () => {
    const value = { b: { d: 1, c: 2 }, a: 'x', receipt: 3 };
    expect(canonicalObject(value, new Set(['receipt']))).toBe('{"a":"x","b":{"c":2,"d":1}}');
  });

  it.each([
    [{ z: 1, b: 2, a: 'x' }, '"a":"x"', '"z":1'],
    [{ c: null, b: 2 }, '', '"c":null'],
    [{ b: 2, a: [1] }, '"a":[1]', ''],
    [{ y: 4, a: 1, z: 5, aa: 2, b: 3, x: undefined }, '"a":1,"aa":2', '"y":4,"z":5'],
    [{ b: 2 }, '', ''],
  ])('writes the members of %j before and after one of them', (value, before, after) => {
    expect(canonicalParts(value, 'b')).toEqual({ before, after });
  });
});
