import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import {
  type BulkQuery,
  countBulkAddresses,
  countUsualAddresses,
  createBulk,
} from '../../src/screening/bulk.ts';
import { createLabelSet } from '../../src/screening/label-set.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { BTC_WALLET, createWorld, WALLETS, type World } from './world.ts';

let world: World;
let scanned: BulkQuery;
let parsed: BulkQuery;

beforeAll(async () => {
  world = await createWorld();
  scanned = createBulk(world.deps);
  parsed = createBulk(world.deps, { scan: false });
});
afterAll(() => world.close());

const bytes = (body: unknown): Uint8Array =>
  Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));

interface Vector {
  readonly chain: string;
  readonly address: string;
  readonly valid: boolean;
}

interface Data {
  readonly results: readonly Record<string, unknown>[];
  readonly coverage: unknown;
  readonly reasons: readonly { code: string }[];
  readonly dataVersion: string;
}

const ask = (body: unknown): Data => JSON.parse(Buffer.from(scanned(bytes(body)).json).toString()) as Data;

/** The answer, or the error with its message. */
function outcome(query: () => unknown): unknown {
  try {
    return query();
  } catch (error) {
    if (!(error instanceof AssayError)) throw error;
    return { code: error.code, message: error.message, field: error.field };
  }
}

const textOf = (query: BulkQuery, body: Uint8Array): unknown =>
  outcome(() => {
    const { json, answered } = query(body);
    return `${answered} ${Buffer.from(json).toString()}`;
  });

describe('bulk labels', () => {
  it('answers every item like a single request, in the order of the request', () => {
    const single = createLabelSet(world.deps);
    const items = [
      ...Object.values(WALLETS).map((address) => ({ address, chain: 'ETH' })),
      { address: WALLETS.contract, chain: 'BSC' },
      { address: BTC_WALLET, chain: 'btc' },
    ];
    const data = ask({ addresses: items });
    const expected = items.map(({ address, chain }) => {
      const { coverage: _, reasons: __, dataVersion: ___, ...item } = single(chain, address);
      return item;
    });
    expect(data.results).toEqual(expected);
    const { coverage, reasons, dataVersion } = single('ETH', WALLETS.unknown);
    expect({ coverage: data.coverage, reasons: data.reasons, dataVersion: data.dataVersion }).toEqual({
      coverage,
      reasons,
      dataVersion,
    });
  });

  it('reports an invalid item in its place without failing the others', () => {
    const body = {
      chain: 'ETH',
      addresses: [
        WALLETS.exchange,
        'nonsense',
        '',
        { address: WALLETS.exchange, chain: 'NOPE' },
        { address: BTC_WALLET },
        'x'.repeat(600),
        `${WALLETS.exchange.slice(0, -1)}ü`,
        WALLETS.mixer,
      ],
    };
    const { results } = ask(body);
    expect(results.map((item) => 'error' in item)).toEqual([
      false,
      true,
      true,
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(results[1]).toMatchObject({ address: 'nonsense', error: expect.stringContaining('0x') });
    expect(results[3]?.error).toContain('(got "NOPE")');
    expect(results[4]?.error).toMatch(/BTC|Bitcoin/);
    expect(results[6]?.address).toBe(`${WALLETS.exchange.slice(0, -1)}ü`);
    expect(scanned(bytes(body)).answered).toBe(2);
  });

  it('reports a missing chain for each address, and rejects the request if the shared chain is invalid', () => {
    expect(ask({ addresses: [WALLETS.exchange] }).results[0]?.error).toContain('chain');
    expect(() => ask({ addresses: [WALLETS.exchange], chain: 'NOPE' })).toThrow(/chain: must be one of/);
  });

  it('counts the addresses of a body without answering it', () => {
    expect(countBulkAddresses(bytes({ addresses: ['a', { address: 'b', chain: 'c' }] }))).toBe(2);
    expect(countBulkAddresses(bytes({ addresses: ['\u00e4', 'b', 'c'], more: [1, 2] }))).toBe(3);
    expect(() => countBulkAddresses(bytes({ addresses: [] }))).toThrow(/1 to 100/);
    expect(() => countBulkAddresses(bytes({ addresses: Array(101).fill('a') }))).toThrow(/1 to 100/);
  });

  it('counts the addresses of a body in one pass only if it has known fields and no surprises', () => {
    const counts = (body: object): number | null => countUsualAddresses(bytes(body));
    expect(counts({ addresses: ['a', { address: 'b', chain: 'c' }, { chain: 'c', address: 'd' }] })).toBe(3);
    expect(counts({ chain: 'ETH', addresses: Array(100).fill('a') })).toBe(100);
    expect(counts({ addresses: Array(101).fill('a') })).toBeNull();
    expect(counts({ addresses: [] })).toBeNull();
    expect(counts({ addresses: ['a'], chian: 'ETH' })).toBeNull();
    expect(counts({ addresses: [{ address: 'a', chian: 'ETH' }] })).toBeNull();
    expect(counts({ addresses: [{ address: 'a', chain: { id: 1 } }] })).toBeNull();
    expect(counts({ addresses: ['\u00e4'] })).toBeNull();
    expect(countUsualAddresses(Buffer.from('{"addresses":["a"],"addresses":["b"]}'))).toBeNull();
    expect(countUsualAddresses(Buffer.from('{"addresses":["a"]}{}'))).toBeNull();
  });

  it('rejects an invalid bulk body, and names the field', () => {
    const bad: [unknown, string][] = [
      ['[]', 'body'],
      ['{"addresses":', 'body'],
      [{}, 'addresses'],
      [{ addresses: 'a' }, 'addresses'],
      [{ addresses: [1] }, 'addresses[0]'],
      [{ addresses: ['a', { address: 5 }] }, 'addresses[1].address'],
      [{ addresses: [{ address: 'a', chain: null }] }, 'addresses[0].chain'],
      [{ addresses: ['a'], chain: 7 }, 'chain'],
    ];
    for (const [body, field] of bad) expect(outcome(() => scanned(bytes(body)))).toMatchObject({ field });
  });

  it('reports missing lists once, beside the items', () => {
    world.setLists({});
    const { reasons, results } = ask({ addresses: [WALLETS.unknown], chain: 'ETH' });
    expect(reasons[0]?.code).toBe('STALE_OR_MISSING_DATA');
    expect(results[0]).not.toHaveProperty('reasonCodes');
  });

  it('returns the time of the last check like a single request if the list has only a date', () => {
    world.setLists({ OFAC_SDN: { publishedAt: '2025-03-21', checkedAt: '2025-03-21', records: 1 } });
    const { results } = ask({ addresses: [WALLETS.sanctioned], chain: 'ETH' });
    expect(results[0]?.sanctionsDetail).toMatchObject({ dataAsOf: '2025-03-21T00:00:00.000Z' });
    expect(results[0]?.sanctionsDetail).toEqual(
      createLabelSet(world.deps)('ETH', WALLETS.sanctioned).sanctionsDetail,
    );
  });

  it('grows its buffer if the answer is larger', () => {
    const { results } = ask({ chain: 'ETH', addresses: Array(100).fill(`${'"\\\u0001☂'.repeat(120)}`) });
    expect(results.length).toBe(100);
  });
});

describeWithSharedData('bulk labels of all chains', () => {
  it('show every valid address like a single request', () => {
    const vectors = JSON.parse(readFileSync(sharedData('addresses', 'vectors.json'), 'utf8')) as Vector[];
    const valid = vectors.filter((vector) => vector.valid);
    expect(valid.length).toBeGreaterThan(50);
    const single = createLabelSet(world.deps);
    for (const { chain, address } of valid) {
      const { results } = ask({ addresses: [{ chain, address }] });
      expect(results[0]?.address).toBe(single(chain, address).address);
    }
  });
});

describe('the scan and JSON.parse give the same answer', () => {
  const address = fc.oneof(
    fc.constantFrom(...Object.values(WALLETS), BTC_WALLET, WALLETS.exchange.toUpperCase(), ''),
    fc.string({ maxLength: 20 }),
    fc.string({ unit: 'grapheme', maxLength: 10 }),
  );
  const chain = fc.constantFrom('ETH', 'eth', 'BTC', 'Polygon', 'NOPE', '', '\u00e9');
  const item = fc.oneof(
    address,
    fc.record({ address, chain }, { requiredKeys: ['address'] }),
    fc.record({ chain, address }),
    fc.record({ address, chain, note: fc.string() }),
    fc.constantFrom(null, 5, [], {}, { address: 5 }, { address: 'a', chain: 1 }),
  );
  const body = fc.record(
    { chain, addresses: fc.array(item, { maxLength: 8 }), extra: fc.jsonValue() },
    { requiredKeys: ['addresses'] },
  );
  const fine = fc.record({
    chain: fc.constantFrom('ETH', 'bsc'),
    addresses: fc.array(address, { minLength: 1, maxLength: 105 }),
  });

  const same = (text: Uint8Array): void => {
    expect(textOf(scanned, text)).toEqual(textOf(parsed, text));
    expect(outcome(() => countBulkAddresses(text))).toEqual(
      outcome(() => countBulkAddresses(Buffer.concat([Buffer.from(' '), text]))),
    );
  };

  it('for bodies of all shapes', () => {
    fc.assert(
      fc.property(fc.oneof(body, fine), (value) => same(bytes(value))),
      { numRuns: 500 },
    );
  });

  it('for white space, escapes and duplicate fields', () => {
    const pieces = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        ' ',
        '\n',
        '\t',
        '\r',
        '"addresses"',
        '"address"',
        '"chain"',
        '"ETH"',
      ],
      ...[
        `"${WALLETS.exchange}"`,
        `"${WALLETS.mixer}"`,
        '"\\u0030x"',
        '"\\"',
        '"a',
        '1',
        'null',
        '{"address":"a"}',
      ],
      ...[
        '"addresses":["a"]',
        '"chain":"ETH"',
        '{"address":"b","address":"c"}',
        '\u00a0',
        '\ufeff',
        '\u0000',
      ],
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 14 }), (parts) => same(bytes(parts.join('')))),
      { numRuns: 2000 },
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 4 }), fc.nat(90), (parts, at) => {
        const text = `{"chain":"ETH","addresses":["${WALLETS.exchange}",{"address":"${WALLETS.mixer}","chain":"BSC"}]}`;
        same(bytes(text.slice(0, at) + parts.join('') + text.slice(at)));
      }),
      { numRuns: 1000 },
    );
  });

  it('for a changed byte at any position', () => {
    const text = bytes(
      `{ "addresses" : [ "${WALLETS.exchange}" , {"chain":"ETH","address":"${WALLETS.mixer}"} ] , "chain":"BSC"}`,
    );
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.integer({ min: 1, max: 127 }), (at, byte) => {
        const changed = Uint8Array.from(text);
        changed[at] = byte;
        same(changed);
      }),
      { numRuns: 2000 },
    );
  });
});
