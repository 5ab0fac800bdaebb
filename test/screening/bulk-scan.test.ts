import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadKernel } from '../../src/base/kernel.ts';
import {
  type BulkPlaces,
  createBulkScanner,
  createPlainScanner,
  PLACE_NUMBERS,
  SCAN_MEMORY,
} from '../../src/screening/bulk-scan.ts';

const scan = createBulkScanner();
const plain = createPlainScanner();

/** The texts that a scan found; an absent one is null. */
function texts(body: Uint8Array, found: BulkPlaces | null): unknown {
  if (found === null) return null;
  const text = (start: number, end: number): string | null =>
    start === -1 ? null : Buffer.from(body).toString('latin1', start, end);
  const { count, chain, places } = found;
  const items = Array.from({ length: count }, (_, item) => {
    const [start, end, chainStart, chainEnd] = places.subarray(item * PLACE_NUMBERS);
    return [text(start as number, end as number), text(chainStart as number, chainEnd as number)];
  });
  return { chain: text(chain.start, chain.end), items };
}

const found = (body: string | Uint8Array): unknown => {
  const bytes = Buffer.from(body as string, 'latin1');
  return texts(bytes, scan(bytes));
};

describe('the scan of a bulk body', () => {
  it('runs as a kernel that the build assembled', () => {
    expect(loadKernel('bulk-scan')).not.toBeNull();
    expect(loadKernel('no-such-kernel')).toBeNull();
  });

  it('finds addresses and chains in any order, with any white space', () => {
    expect(found('{"addresses":["a",{"address":"b"},{"chain":"ETH","address":"c"}],"chain":"BTC"}')).toEqual({
      chain: 'BTC',
      items: [
        ['a', null],
        ['b', null],
        ['c', 'ETH'],
      ],
    });
    expect(found(' {\n"chain" :\t"" ,\r"addresses": [ { "address" : "" , "chain":"x" } , "y" ] } ')).toEqual({
      chain: '',
      items: [
        ['', 'x'],
        ['y', null],
      ],
    });
  });

  it('leaves every other body to the parser', () => {
    for (const body of [
      '',
      '{',
      '{}',
      '[]',
      '{"addresses":[]}',
      '{"addresses":["a"],}',
      '{"addresses":["a"]} x',
      '{"addresses":["a"]}\0',
      '{"addresses":["a"',
      '{"addresses":["a',
      '{"addresses":["a",]}',
      '{"addresses":["a"],"addresses":["a"]}',
      '{"addresses":["a"],"chain":"b","chain":"b"}',
      '{"addresses":["a"],"verdict":true}',
      '{"addresses":[{"chain":"b"}]}',
      '{"addresses":[{"address":"a","address":"a"}]}',
      '{"addresses":[{"address":"a","note":"b"}]}',
      '{"addresses":[{}]}',
      '{"addresses":[1]}',
      '{"addresses":["\\u0041"]}',
      '{"addresses":["\x7f"]}',
      '{"addresses":["\x1f"]}',
      '{"addresses":["\xe9"]}',
      '{"adresses":["a"]}',
      `{"addresses":[${Array(101).fill('"a"').join()}]}`,
    ])
      expect(found(body), body).toBeNull();
  });

  it('does not read what an earlier, longer body left behind', () => {
    const whole = `{"addresses":["${'a'.repeat(40)}"]}`;
    for (let length = whole.length - 1; length >= 0; length--) {
      found(whole);
      expect(found(whole.slice(0, length))).toBeNull();
    }
  });

  it('scans bodies of any length', () => {
    const frame = '{"addresses":[""]}'.length;
    for (const length of [0, 15, 16, 17, SCAN_MEMORY.sourceMax - frame, SCAN_MEMORY.sourceMax, 200_000]) {
      const address = 'a'.repeat(length);
      expect(found(`{"addresses":["${address}"]}`)).toEqual({ chain: null, items: [[address, null]] });
    }
  });

  it('gives the same places with and without the kernel, also for damaged bodies', () => {
    const text = fc.constantFrom(
      '',
      'ETH',
      '0x00000000000000000000000000000000000000aa',
      'a'.repeat(15),
      '~ !',
    );
    const item = fc.oneof(text, fc.record({ address: text, chain: text }, { requiredKeys: ['address'] }));
    const body = fc.record(
      { chain: text, addresses: fc.array(item, { minLength: 1, maxLength: 6 }) },
      { requiredKeys: ['addresses'] },
    );
    const damage = fc.record({
      at: fc.nat(),
      drop: fc.nat({ max: 2 }),
      add: fc.constantFrom(
        '',
        '"',
        '\\',
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        ' ',
        '\n',
        '\0',
        '\x7f',
        '\xff',
        'chain',
      ),
    });
    let usual = 0;
    fc.assert(
      fc.property(body, fc.nat({ max: 2 }), fc.array(damage, { maxLength: 2 }), (value, indent, damages) => {
        let json = JSON.stringify(value, null, indent);
        for (const { at, drop, add } of damages) {
          const place = at % json.length;
          json = json.slice(0, place) + add + json.slice(place + drop);
        }
        const bytes = Buffer.from(json, 'latin1');
        const expected = texts(bytes, plain(bytes));
        expect(texts(bytes, scan(bytes))).toEqual(expected);
        if (expected === null) return;
        usual++;
        expect(() => JSON.parse(json)).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
    expect(usual).toBeGreaterThan(200);
  });
});
