import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Base58CheckLanes } from '../../../src/chains/address/base58check-lanes.ts';
import { note } from '../../../src/chains/address/fault.ts';
import {
  base58CheckDigits,
  formatAddressKey,
  maxKeyBytes,
  writeAddressKey,
} from '../../../src/chains/address/parse.ts';
import { type ChainId, chainOf } from '../../../src/chains/registry.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

interface Item {
  readonly chain: ChainId;
  readonly start: number;
  readonly end: number;
}

/** The fault and its detail, or key, kind and memo of each item. */
function keysOf(source: Uint8Array, items: readonly Item[]): unknown[] {
  return items.map(({ chain, start, end }) => {
    const key = new Uint8Array(maxKeyBytes);
    const length = writeAddressKey(chain, source, start, end, key, 0);
    return length < 0
      ? [length, note.detail]
      : [length, Buffer.from(key.subarray(0, length)).toString('hex'), note.kind, note.memo];
  });
}

/** Texts behind one another in a buffer. */
function placed(rows: readonly (readonly [ChainId, string])[]): { source: Buffer; items: Item[] } {
  let next = 0;
  const items = rows.map(([chain, text]) => {
    next += text.length + 1;
    return { chain, start: next - text.length - 1, end: next - 1 };
  });
  return { source: Buffer.from(rows.map(([, text]) => `${text},`).join('')), items };
}

const lanes = Base58CheckLanes.create() as Base58CheckLanes;

/** What `keysOf` returns with the texts decoded in batches of at most 128, and how many were confirmed ahead. */
function decoded(source: Uint8Array, items: readonly Item[]): { keys: unknown[]; confirmed: number } {
  const keys: unknown[] = [];
  let confirmed = 0;
  const digitsOf = ({ chain }: Item): Uint8Array | null => base58CheckDigits(chain);
  for (let from = 0; from < items.length; from += 128) {
    const batch = items.slice(from, from + 128);
    lanes.decode(source, batch, 0, batch.length, digitsOf);
    for (const item of batch) {
      const digits = digitsOf(item);
      if (digits !== null && lanes.take(source, item.start, item.end, digits) > 0) confirmed++;
    }
    lanes.decode(source, batch, 0, batch.length, digitsOf);
    keys.push(...keysOf(source, batch));
    lanes.finish();
  }
  return { keys, confirmed };
}

const CHAINS = ['BTC', 'LTC', 'DOGE', 'DASH', 'ZEC', 'BCH', 'BSV', 'TRON', 'XRP', 'XTZ'] as const;
const XTZ_TAG = [0, 0];
const rightText = fc
  .tuple(fc.constantFrom<ChainId>(...CHAINS), fc.uint8Array({ minLength: 20, maxLength: 20 }))
  .map(([chain, hash]): readonly [ChainId, string] => {
    const payload = chain === 'XTZ' ? [...XTZ_TAG, ...hash] : hash;
    return [chain, formatAddressKey(Uint8Array.of(chainOf(chain).keyByte, 1, ...payload), chain)];
  });
const wrongText = fc
  .tuple(rightText, fc.nat(), fc.integer({ min: 0, max: 127 }), fc.nat(2))
  .map(([[chain, text], at, code, kind]): readonly [ChainId, string] => {
    const place = at % text.length;
    const replaced = `${text.slice(0, place)}${String.fromCharCode(code)}${text.slice(place + 1)}`;
    return [chain, [replaced, text.slice(place), `${'1'.repeat(place)}${text}`][kind] as string];
  });

describe('base58check texts that are decoded together', () => {
  it('are confirmed', () => {
    fc.assert(
      fc.property(fc.array(rightText, { minLength: 3, maxLength: 140 }), (rows) => {
        const { source, items } = placed(rows);
        const { keys, confirmed } = decoded(source, items);
        expect(keys).toEqual(keysOf(source, items));
        // Cash addresses are no base58check, and the last batch may be too short.
        const texts = rows.filter(([chain]) => chain !== 'BCH').length;
        expect(confirmed).toBeGreaterThanOrEqual(texts - (rows.length > 128 ? 12 : texts < 3 ? 2 : 0));
      }),
      { numRuns: 50 },
    );
  });

  it('have the keys and faults that they have one by one, right or wrong', () => {
    const texts = fc.oneof(rightText, wrongText, fc.tuple(fc.constantFrom<ChainId>(...CHAINS), fc.string()));
    fc.assert(
      fc.property(fc.array(texts, { minLength: 1, maxLength: 20 }), (rows) => {
        const { source, items } = placed(
          rows.map(([chain, text]) => [chain, text.replace(/[^ -~]/g, '') || '1']),
        );
        expect(decoded(source, items).keys).toEqual(keysOf(source, items));
      }),
      { numRuns: 500 },
    );
  });

  it('have their keys out of order, overlapping, and far apart', () => {
    const rows = fc.sample(rightText, { numRuns: 40, seed: 7 });
    const { source, items } = placed(rows);
    const far = Buffer.concat([source, Buffer.alloc(100_000, ' '), source]);
    const shift = source.length + 100_000;
    const moved = items.map((item) => ({ ...item, start: item.start + shift, end: item.end + shift }));
    for (const order of [[...items].reverse(), items.flatMap((item) => [item, item]), [...items, ...moved]])
      expect(decoded(far, order).keys).toEqual(keysOf(far, order));
  });

  it('are not confirmed by the digits of another chain, nor after the batch', () => {
    const { source, items } = placed(
      fc.sample(rightText, { numRuns: 20, seed: 3 }).map(([, text]) => ['BTC', text]),
    );
    const foreign = items.map((item): Item => ({ ...item, chain: 'XRP' }));
    lanes.decode(source, items, 0, items.length, () => base58CheckDigits('BTC'));
    const ahead = keysOf(source, foreign);
    lanes.finish();
    expect(ahead).toEqual(keysOf(source, foreign));
    source.fill('1');
    expect(keysOf(source, items).every((row) => (row as [number])[0] < 0)).toBe(true);
  });
});

describeWithSharedData('every vector', () => {
  it('has the key and the fault that it has alone', () => {
    const rows = JSON.parse(readFileSync(sharedData('addresses', 'vectors.json'), 'utf8')) as {
      chain: ChainId;
      address: string;
    }[];
    const { source, items } = placed(rows.map(({ chain, address }) => [chain, address]));
    expect(decoded(source, items).keys).toEqual(keysOf(source, items));
  });
});
