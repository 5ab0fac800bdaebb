import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createNeighbourColumns } from '../../src/graph/graph.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';

let folder = '';
let store: TransferStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-graph-'));
  store = openTransferStore({ path: folder, readOnly: false });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const key = (index: number): Uint8Array => parseAddress('ETH', address(index)).key;
const hash = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`;
const token = address(0xfeed);

const transfer = (fields: Partial<Transfer>): Transfer => ({
  chain: 'ETH',
  txHash: hash(1),
  position: 'value',
  blockNumber: 100,
  timestampMs: 1_700_000_000_000,
  from: address(1),
  to: address(2),
  asset: 'ETH',
  amount: 10n,
  decimals: 18,
  valueUsd: null,
  ...fields,
});

describe('the transfer store', () => {
  it('sums transfers per counterparty, asset and direction', async () => {
    await store.ingest([
      transfer({ txHash: hash(1), valueUsd: 10.5 }),
      transfer({ txHash: hash(2), amount: 5n, valueUsd: 1.25, timestampMs: 1_700_000_060_000 }),
      transfer({ txHash: hash(2), position: 'log:1', asset: token, decimals: null, amount: 1n << 200n }),
      transfer({ txHash: hash(3), from: address(2), to: address(1), amount: 1n }),
    ]);
    const [out, ...rest] = store.counterparties('ETH', key(1), { direction: 'out', limit: 10 });
    expect(rest).toEqual([]);
    expect(out).toMatchObject({
      address: parseAddress('ETH', address(2)).canonical,
      transfers: 3,
      unpricedTransfers: 1,
      valueUsd: 11.75,
      firstSeenMs: 1_700_000_000_000,
      lastSeenMs: 1_700_000_060_000,
    });
    expect(out?.assets).toMatchObject([
      { asset: 'ETH', amount: 15n, transfers: 2, valueUsd: 11.75, decimals: 18 },
      { amount: 1n << 200n, transfers: 1, valueUsd: null, unpricedTransfers: 1 },
    ]);
    const back = store.counterparties('ETH', key(1), { direction: 'in', limit: 10 });
    expect(back).toMatchObject([{ transfers: 1, assets: [{ amount: 1n }] }]);
    expect(store.counterpartyCount('ETH', key(1), 'out')).toBe(1);
  });

  it('counts a transfer once, for any repetitions and batches', async () => {
    const all = [transfer({}), transfer({ position: 'log:1' }), transfer({ txHash: hash(2) })];
    expect(await store.ingest([...all, ...all])).toEqual({ stored: 3, duplicates: 3 });
    const before = store.totals('ETH', key(1));
    expect(await store.ingest(all)).toEqual({ stored: 0, duplicates: 3 });
    expect(store.totals('ETH', key(1))).toEqual(before);
    expect(store.coverage('ETH').transfers).toBe(3);
  });

  it('counts transactions, not transfers, also across batches', async () => {
    await store.ingest([transfer({})]);
    await store.ingest([transfer({ position: 'log:1' }), transfer({ position: 'log:2', to: address(3) })]);
    await store.ingest([transfer({ txHash: hash(2) })]);
    expect(store.totals('ETH', key(1))).toMatchObject({ transactions: 2, out: { transfers: 4 } });
    expect(store.totals('ETH', key(3))).toMatchObject({ transactions: 1, in: { transfers: 1 } });
  });

  it('keeps a self-transfer, and does not count it as a counterparty', async () => {
    await store.ingest([transfer({ to: address(1) })]);
    expect(store.counterparties('ETH', key(1), { direction: 'out', limit: 10 })).toEqual([]);
    expect(store.totals('ETH', key(1))).toMatchObject({
      selfTransfers: 1,
      transactions: 1,
      in: { transfers: 0 },
      out: { transfers: 0 },
    });
  });

  it('adds value without a sender to the totals, without a counterparty', async () => {
    await store.ingest([transfer({ from: null, valueUsd: 3 })]);
    expect(store.counterparties('ETH', key(2), { direction: 'in', limit: 10 })).toEqual([]);
    expect(store.totals('ETH', key(2))?.in).toMatchObject({ transfers: 1, valueUsd: 3 });
  });

  it('orders counterparties by value, then those without a price', async () => {
    const to = (index: number, valueUsd: number | null, txHash: string): Transfer =>
      transfer({ txHash, to: address(index), valueUsd });
    await store.ingest([to(2, 5, hash(1)), to(3, 50, hash(2)), to(4, null, hash(3)), to(5, 0, hash(4))]);
    const found = store.counterparties('ETH', key(1), { direction: 'out', limit: 3 });
    expect(found.map((one) => one.valueUsd)).toEqual([50, 5, null]);
  });

  it('distinguishes unknown from zero, and an amount of zero from unknown', async () => {
    await store.ingest([
      transfer({ amount: 0n }),
      transfer({ txHash: hash(2), from: address(3), amount: 1n }),
    ]);
    const of = (index: number) => store.counterparties('ETH', key(index), { direction: 'out', limit: 1 })[0];
    expect(of(1)).toMatchObject({ valueUsd: 0, unpricedTransfers: 0 });
    expect(of(3)).toMatchObject({ valueUsd: null, unpricedTransfers: 1 });
  });

  it('distinguishes unknown from zero beside a transfer that moved nothing', async () => {
    await store.ingest([transfer({ amount: 0n }), transfer({ txHash: hash(2), asset: token, amount: 1n })]);
    expect(store.totals('ETH', key(1))?.out).toMatchObject({ valueUsd: null, unpricedTransfers: 1 });
  });

  it('keeps the newest transfers of a pair', async () => {
    const many = Array.from({ length: 9 }, (_, index) =>
      transfer({ txHash: hash(index), timestampMs: 1_000 * ((index * 5) % 9), amount: BigInt(index) }),
    );
    await store.ingest(many);
    const newest = store.newest('ETH', key(1), key(2), 3);
    expect(newest.map((one) => one.timestampMs)).toEqual([8_000, 7_000, 6_000]);
    expect(newest[0]).toMatchObject({ txHash: hash(7), asset: 'ETH', amount: 7n, valueUsd: null });
  });

  it('returns its coverage', async () => {
    expect(store.coverage('BTC')).toEqual({ transfers: 0, firstBlock: null, lastBlock: null, asOf: null });
    await store.ingest([transfer({ blockNumber: 7 }), transfer({ txHash: hash(2), blockNumber: 5 })]);
    expect(store.coverage('ETH')).toEqual({
      transfers: 2,
      firstBlock: 5,
      lastBlock: 7,
      asOf: '2023-11-14T22:13:20.000Z',
    });
  });

  it('agrees with plain sums over random transfers, across chunk splits and batches', async () => {
    const next = seededUint32(7);
    const transfers = Array.from({ length: 6_000 }, (_, index) =>
      transfer({
        txHash: hash(index >> 1),
        position: `log:${index}`,
        from: address(1 + (next() % 3)),
        to: address(1 + (next() % 1_500)),
        asset: next() % 2 === 0 ? 'ETH' : address(0xa000 + (next() % 3)),
        amount: BigInt(next()),
        valueUsd: next() % 3 === 0 ? null : (next() % 1_000_000) / 100,
      }),
    );
    for (let at = 0; at < transfers.length; at += 700) await store.ingest(transfers.slice(at, at + 700));
    for (const node of [1, 2, 3, 40]) {
      for (const direction of ['out', 'in'] as const) {
        const [own, other] = direction === 'out' ? (['from', 'to'] as const) : (['to', 'from'] as const);
        const mine = transfers.filter((one) => one[own] === address(node) && one[other] !== address(node));
        const parties = new Set(mine.map((one) => one[other]));
        const found = store.counterparties('ETH', key(node), { direction, limit: 10_000 });
        expect(found.length).toBe(parties.size);
        expect(store.counterpartyCount('ETH', key(node), direction)).toBe(parties.size);
        const amount = found.flatMap((one) => one.assets).reduce((sum, one) => sum + one.amount, 0n);
        expect(amount).toBe(mine.reduce((sum, one) => sum + one.amount, 0n));
        const cents = found.reduce((sum, one) => sum + Math.round((one.valueUsd ?? 0) * 100), 0);
        expect(cents).toBe(mine.reduce((sum, one) => sum + Math.round((one.valueUsd ?? 0) * 100), 0));
        const flow = store.totals('ETH', key(node))?.[direction];
        expect(flow?.transfers).toBe(mine.length);
        const top = store.counterparties('ETH', key(node), { direction, limit: 5 });
        expect(top).toEqual(found.slice(0, 5));
      }
    }
  });

  it('has the same sums for any order of the transfers', async () => {
    const list = Array.from({ length: 12 }, (_, index) =>
      transfer({
        txHash: hash(index),
        to: address(2 + (index % 3)),
        valueUsd: index,
        timestampMs: index * 1000,
      }),
    );
    const other = mkdtempSync(join(tmpdir(), 'assay-graph-'));
    await store.ingest(list);
    const expected = store.totals('ETH', key(1));
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(list, { minLength: list.length }), async (shuffled) => {
        const path = mkdtempSync(join(other, 'run-'));
        const second = openTransferStore({ path, readOnly: false });
        await second.ingest(shuffled);
        expect(second.totals('ETH', key(1))).toEqual(expected);
        expect(second.newest('ETH', key(1), key(2), 9)).toEqual(store.newest('ETH', key(1), key(2), 9));
        await second.close();
      }),
      { numRuns: 5 },
    );
    rmSync(other, { recursive: true });
  });

  it('leaves nothing of a failed batch', async () => {
    const broken = [transfer({}), transfer({ txHash: hash(2), to: '0x12' })];
    await expect(store.ingest(broken)).rejects.toMatchObject({ code: 'INVALID_ADDRESS' });
    expect(store.coverage('ETH').transfers).toBe(0);
    expect(store.totals('ETH', key(1))).toBeNull();
    expect(await store.ingest([transfer({})])).toEqual({ stored: 1, duplicates: 0 });
    expect(store.totals('ETH', key(1))).toMatchObject({ transactions: 1 });
  });

  it.each([
    ['amount', { amount: -1n }],
    ['valueUsd', { valueUsd: Number.NaN }],
    ['blockNumber', { blockNumber: 1.5 }],
    ['position', { position: '' }],
    ['txHash', { txHash: 'x'.repeat(200) }],
    ['from', { from: null, to: null }],
  ])('rejects a record with an invalid %s', async (field, change) => {
    await expect(store.ingest([transfer(change)])).rejects.toMatchObject({ code: 'INVALID_REQUEST', field });
  });

  it('can be read during a write', async () => {
    const reader = openTransferStore({ path: folder, readOnly: true });
    expect(reader.totals('ETH', key(1))).toBeNull();
    await store.ingest([transfer({})]);
    expect(reader.totals('ETH', key(1))).toMatchObject({ transactions: 1 });
    await reader.close();
  });

  it('is the same after a reopen', async () => {
    await store.ingest([transfer({}), transfer({ txHash: hash(2), to: address(3) })]);
    const before = store.totals('ETH', key(1));
    await store.close();
    store = openTransferStore({ path: folder, readOnly: false });
    expect(store.totals('ETH', key(1))).toEqual(before);
    expect(await store.ingest([transfer({})])).toEqual({ stored: 0, duplicates: 1 });
  });

  it('rejects an unknown format, and leaves the file unchanged', async () => {
    await store.close();
    const path = join(folder, 'eth.mdb');
    const root = openEnvironment(path, { maxDbs: 12, noSubdir: true });
    const meta = root.openDB<unknown, string>({ name: 'meta', encoding: 'msgpack' });
    meta.putSync('format', { name: 'assay-transfers', version: 99 });
    await root.close();
    store = openTransferStore({ path: folder, readOnly: false });
    expect(() => store.coverage('ETH')).toThrow(
      /format version assay-transfers 99; .* assay-transfers 6 only/,
    );
    expect(() => store.coverage('ETH')).toThrow(expect.objectContaining({ code: 'STORE_VERSION' }));
  });
});

describe('a hub', () => {
  it('answers from many chunks, with and without pending updates, like plain sums', async () => {
    const next = seededUint32(11);
    const parties = 3_000;
    const sums = new Map<number, { cents: number; unpriced: number; transfers: number }>();
    let index = 0;
    const toHub = (from: number, valueUsd: number | null): Transfer => {
      const sum = sums.get(from) ?? { cents: 0, unpriced: 0, transfers: 0 };
      sum.cents += Math.round((valueUsd ?? 0) * 100);
      if (valueUsd === null) sum.unpriced++;
      sum.transfers++;
      sums.set(from, sum);
      return transfer({ txHash: hash(++index), from: address(from + 10), to: address(1), valueUsd });
    };
    const anyValue = (): number | null => (next() % 4 === 0 ? null : (next() % 200) / 100);
    const check = (): void => {
      const expected = [...sums].sort(
        ([a, left], [b, right]) =>
          right.cents - left.cents || right.unpriced - left.unpriced || idOf(a) - idOf(b),
      );
      for (const limit of [1, 10, 700, 5_000]) {
        expectFirstOfRow(limit);
        const found = store.counterparties('ETH', key(1), { direction: 'in', limit });
        expect(
          found.map((one) => [one.transfers, one.unpricedTransfers, Math.round((one.valueUsd ?? 0) * 100)]),
        ).toEqual(expected.slice(0, limit).map(([, sum]) => [sum.transfers, sum.unpriced, sum.cents]));
        const columns = createNeighbourColumns(5_000);
        const graph = store.graph('ETH');
        const count = graph?.neighbours(idOf('hub'), 'in', limit, columns);
        expect([...columns.ids.subarray(0, count)]).toEqual(
          expected.slice(0, limit).map(([from]) => idOf(from)),
        );
      }
      expect(store.counterpartyCount('ETH', key(1), 'in')).toBe(sums.size);
    };
    /** The first edges of a row, of which the others need not be read, are those of the whole row. */
    const expectFirstOfRow = (limit: number): void => {
      const graph = store.graph('ETH')!;
      const evidence = new Set(graph.sums(idOf('hub')).in.map(({ asset }) => asset));
      const all = {
        evidence,
        rates: null,
        least: Number.NEGATIVE_INFINITY,
        seenUntilMs: Number.POSITIVE_INFINITY,
      };
      const [first, whole] = [createNeighbourColumns(10_000), createNeighbourColumns(10_000)];
      const isWanted = (id: number): boolean => id % 3 === 0;
      const { count, heavy } = graph.row(idOf('hub'), 'in', { ...all, limit, isWhole: true }, first);
      const scan = graph.row(idOf('hub'), 'in', { ...all, limit: 10_000 }, whole);
      expect([count, heavy]).toEqual([Math.min(limit, sums.size), scan.heavy]);
      for (const name of Object.keys(whole) as (keyof typeof whole)[])
        expect(first[name].subarray(0, count)).toEqual(whole[name].subarray(0, count));
      const wanted = graph.row(idOf('hub'), 'in', { ...all, limit: 10_000, isWanted }, first);
      expect([...first.ids.subarray(0, wanted.count)]).toEqual(
        [...whole.ids.subarray(0, scan.count)].filter(isWanted),
      );
    };
    const idOf = (party: number | 'hub'): number =>
      store.graph('ETH')?.idOf(key(party === 'hub' ? 1 : party + 10)) ?? 0;

    await store.ingest(Array.from({ length: parties }, (_, from) => toHub(from, anyValue())));
    check();
    for (let batch = 0; batch < 12; batch++)
      await store.ingest(Array.from({ length: 100 }, () => toHub(next() % (parties * 2), anyValue())));
    check();
    const last = store.newest('ETH', key(10), key(1), 1)[0];
    expect(last).toMatchObject({ asset: 'ETH', amount: 10n });
    expect(store.recent('ETH', key(1), 100).length).toBe(64);
    expect(store.graph('ETH')?.edge(idOf(5), idOf('hub'))).toMatchObject([
      { transfers: sums.get(5)?.transfers },
    ]);
  });

  it('leaves out counterparties and transfers that are not wanted, which count towards the limit', async () => {
    await store.ingest([
      transfer({ txHash: hash(1), valueUsd: 30 }),
      transfer({ txHash: hash(2), to: address(3), valueUsd: 20 }),
      transfer({ txHash: hash(3), to: null, valueUsd: 10 }),
      transfer({ txHash: hash(4), from: address(4), to: address(1), valueUsd: 5 }),
    ]);
    const isThird = (other: Uint8Array | null): boolean => other !== null && other.at(-1) === 3;
    const wanted = (limit: number) =>
      store
        .counterparties('ETH', key(1), { direction: 'out', limit, isWanted: isThird })
        .map(({ address: other, valueUsd, assets }) => [other, valueUsd, assets.length]);
    expect(wanted(2)).toEqual([[parseAddress('ETH', address(3)).canonical, 20, 1]]);
    expect(wanted(1)).toEqual([]);
    const seen: unknown[] = [];
    const found = store.recent('ETH', key(1), 64, ({ valueUsd }, other) => {
      seen.push([valueUsd, other()?.at(-1) ?? null]);
      return isThird(other());
    });
    expect(seen).toHaveLength(4);
    expect(seen).toEqual(
      expect.arrayContaining([
        [30, 2],
        [20, 3],
        [10, null],
        [5, 4],
      ]),
    );
    expect(found.map(({ txHash, direction }) => [txHash, direction])).toEqual([[hash(2), 'out']]);
  });

  it('keeps a thousand assets of one edge', async () => {
    const assets = Array.from(
      { length: 1_000 },
      (_, index) => parseAddress('ETH', address(0xa000 + index)).canonical,
    );
    await store.ingest(
      assets.map((asset, index) => transfer({ position: `log:${index}`, asset, decimals: null })),
    );
    await store.ingest(
      assets.map((asset, index) => transfer({ txHash: hash(2), position: `log:${index}`, asset })),
    );
    const [found] = store.counterparties('ETH', key(1), { direction: 'out', limit: 1 });
    expect(found?.assets.length).toBe(1_000);
    expect(found?.assets.every((one) => one.transfers === 2 && one.amount === 20n)).toBe(true);
    expect(store.totals('ETH', key(1))?.out).toMatchObject({ transfers: 2_000 });
  });
});

describe('extreme figures', () => {
  it('keep every digit of the largest amounts, and every cent of the largest values', async () => {
    const amount = (1n << 256n) - 1n;
    await store.ingest(
      Array.from({ length: 300 }, (_, index) =>
        transfer({ position: `log:${index}`, amount, valueUsd: 1e9 }),
      ),
    );
    expect(store.counterparties('ETH', key(1), { direction: 'out', limit: 1 })).toMatchObject([
      { valueUsd: 3e11, assets: [{ amount: amount * 300n }] },
    ]);
    expect(store.totals('ETH', key(2))?.in.byAsset[0]?.amount).toBe(amount * 300n);
  });
});
