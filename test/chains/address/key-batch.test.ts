import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BATCH_MEMORY, BATCH_TEXTS, KeyBatch } from '../../../src/chains/address/key-batch.ts';
import { formatAddressKey, maxKeyBytes, writeAddressKey } from '../../../src/chains/address/parse.ts';
import { UTXO_KINDS } from '../../../src/chains/address/utxo.ts';
import { type ChainId, chainOf } from '../../../src/chains/registry.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

interface Item {
  readonly chain: ChainId | null;
  readonly start: number;
  readonly end: number;
}

/** The key of each item in hex, written alone; null if it has none. */
function keysOf(source: Uint8Array, items: readonly Item[]): (string | null)[] {
  const key = new Uint8Array(maxKeyBytes);
  return items.map(({ chain, start, end }) => {
    const length = chain === null ? -1 : writeAddressKey(chain, source, start, end, key, 0);
    return length < 0 ? null : Buffer.from(key.subarray(0, length)).toString('hex');
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

const batch = new KeyBatch();

/** The keys of the items in batches, and how many of them the kernel wrote. */
function inBatches(
  source: Uint8Array,
  items: readonly Item[],
  by = batch,
): { keys: (string | null)[]; confirmed: number } {
  const keys: (string | null)[] = [];
  let confirmed = 0;
  for (let from = 0; from < items.length; from += BATCH_TEXTS) {
    const to = Math.min(items.length, from + BATCH_TEXTS);
    by.read(source, items, from, to, ({ chain }) => chain);
    for (let index = 0; index < to - from; index++) {
      const [start, length] = [by.starts[index] as number, by.lengths[index] as number];
      if (length > 0 && start < BATCH_MEMORY.source) confirmed++;
      keys.push(length < 0 ? null : Buffer.from(by.keys.subarray(start, start + length)).toString('hex'));
    }
  }
  return { keys, confirmed };
}

/** Chains and kinds of keys, the bytes of their payloads, and whether the kernel reads their texts. */
const FORMS: readonly (readonly [chain: ChainId, kind: number, bytes: number, byKernel: boolean])[] = [
  ...(['BTC', 'LTC', 'DOGE', 'DASH', 'ZEC', 'BSV'] as const).flatMap((chain) => [
    [chain, UTXO_KINDS.p2pkh, 20, true] as const,
    [chain, UTXO_KINDS.p2sh, 20, true] as const,
  ]),
  ...(['BTC', 'LTC'] as const).flatMap((chain) => [
    [chain, UTXO_KINDS.p2wpkh, 20, true] as const,
    [chain, UTXO_KINDS.p2wsh, 32, true] as const,
    [chain, UTXO_KINDS.p2tr, 32, true] as const,
    // Witness version 5.
    [chain, 21, 32, false] as const,
  ]),
  ['BCH', UTXO_KINDS.p2pkh, 20, false],
  ['TRON', 1, 20, true],
  ['XRP', 1, 20, true],
  ['XTZ', 1, 22, false],
  ['ETH', 1, 20, true],
  ['BASE', 1, 20, true],
];
const rightText = fc
  .tuple(fc.constantFrom(...FORMS), fc.uint8Array({ minLength: 32, maxLength: 32 }))
  .map(([[chain, kind, bytes, byKernel], random]) => {
    const payload = random.subarray(0, bytes);
    if (chain === 'XTZ') payload.fill(0, 0, 2);
    const text = formatAddressKey(Uint8Array.of(chainOf(chain).keyByte, kind, ...payload), chain);
    return { chain, byKernel, text: chain === 'BASE' ? text.toLowerCase() : text };
  });
const rightRow = rightText.map(({ chain, text }): readonly [ChainId, string] => [chain, text]);
const wrongRow = fc
  .tuple(rightRow, fc.nat(), fc.integer({ min: 0, max: 127 }), fc.nat(6))
  .map(([[chain, text], at, code, kind]): readonly [ChainId, string] => {
    const place = at % text.length;
    const changed = (character: string): string =>
      `${text.slice(0, place)}${character}${text.slice(place + 1)}`;
    const texts = [
      changed(String.fromCharCode(code)),
      text.slice(place),
      text.slice(0, place),
      `${'1'.repeat(place)}${text}`,
      text.toUpperCase(),
      changed((text[place] as string).toUpperCase()),
      `${text}${text[place]}`,
    ];
    return [chain, texts[kind] as string];
  });

describe('keys of a batch', () => {
  it('are written by the kernel for usual texts', () => {
    fc.assert(
      fc.property(fc.array(rightText, { minLength: 3, maxLength: 128 }), (rows) => {
        const { source, items } = placed(rows.map(({ chain, text }) => [chain, text]));
        const { keys, confirmed } = inBatches(source, items);
        expect(keys).toEqual(keysOf(source, items));
        expect(keys).not.toContain(null);
        expect(confirmed).toBe(rows.filter(({ byKernel }) => byKernel).length);
      }),
      { numRuns: 100 },
    );
  });

  it('are those that texts have alone, right or wrong', () => {
    const chains = fc.constantFrom(...FORMS.map(([chain]) => chain));
    const texts = fc.oneof(rightRow, wrongRow, fc.tuple(chains, fc.string()));
    fc.assert(
      fc.property(fc.array(texts, { minLength: 1, maxLength: 20 }), (rows) => {
        const { source, items } = placed(
          rows.map(([chain, text]) => [chain, text.replace(/[^ -~]/g, '') || '1']),
        );
        expect(inBatches(source, items).keys).toEqual(keysOf(source, items));
      }),
      { numRuns: 1_000 },
    );
  });

  it('are those of texts out of order, overlapping, far apart, empty, and without a chain', () => {
    const rows = fc.sample(rightRow, { numRuns: 40, seed: 7 });
    const { source, items } = placed(rows);
    const far = Buffer.concat([source, Buffer.alloc(100_000, ' '), source]);
    const shift = source.length + 100_000;
    const moved = items.map((item) => ({ ...item, start: item.start + shift, end: item.end + shift }));
    const gaps = items.flatMap((item) => [item, { ...item, end: item.start }, { ...item, chain: null }]);
    for (const order of [
      [...items].reverse(),
      items.flatMap((item) => [item, item]),
      [...items, ...moved],
      gaps,
    ])
      expect(inBatches(far, order).keys).toEqual(keysOf(far, order));
  });

  it('do not depend on the batch before, nor on the chain that a text is right for', () => {
    const { source, items } = placed(fc.sample(rightRow, { numRuns: 120, seed: 3 }));
    inBatches(source, items);
    for (const chain of ['XRP', 'BTC', 'LTC', 'ZEC', 'ETH', 'SOL'] as const) {
      const foreign = items.map((item): Item => ({ ...item, chain }));
      expect(inBatches(source, foreign).keys).toEqual(keysOf(source, foreign));
    }
    source.fill('1');
    expect(inBatches(source, items).keys.every((key) => key === null)).toBe(true);
  });

  it('are the same without the kernel, and for the longest keys', () => {
    const { source, items } = placed(fc.sample(rightRow, { numRuns: 128, seed: 5 }));
    expect(inBatches(source, items, new KeyBatch(false))).toEqual({
      keys: keysOf(source, items),
      confirmed: 0,
    });
    expect(BATCH_MEMORY.otherKeys + (BATCH_TEXTS + 1) * maxKeyBytes).toBeLessThanOrEqual(batch.keys.length);
  });
});

describeWithSharedData('every vector', () => {
  it('has the key that it has alone', () => {
    const rows = JSON.parse(readFileSync(sharedData('addresses', 'vectors.json'), 'utf8')) as {
      chain: ChainId;
      address: string;
    }[];
    const { source, items } = placed(rows.map(({ chain, address }) => [chain, address]));
    expect(inBatches(source, items).keys).toEqual(keysOf(source, items));
  });
});
