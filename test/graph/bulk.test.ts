/** A bulk load of a large file ends in the same state as storing the same transfers one by one, whatever was stored before. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Initiation, Transfer } from '../../src/chains/transfer.ts';
import type { Direction } from '../../src/graph/flow.ts';
import { createNeighbourColumns } from '../../src/graph/graph.ts';
import { type IngestReport, ingestFiles } from '../../src/graph/ingest/ingest-files.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { expectEqual } from '../support/equal.ts';

let folder = '';
const open: TransferStore[] = [];
const storeAt = (name: string): TransferStore => {
  const store = openTransferStore({ path: join(folder, name), readOnly: false });
  open.push(store);
  return store;
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-bulk-'));
});
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  rmSync(folder, { recursive: true });
});

const address = (index: number): string => `0x${(index * 7919).toString(16).padStart(40, '0')}`;
const hash = (index: number): string => `0x${(index * 104_729).toString(16).padStart(64, '0')}`;
const token = (index: number): string => parseAddress('ETH', address(index)).canonical;
const ADDRESSES = 150;
/** `npm run test:long` kills more often. */
const KILLS = process.env.ASSAY_TEST_LONG === '1' ? 6 : 4;

/** The initiation of a transaction as a source may give it: none, only the sender, or the call as well. */
function initiationOf(
  from: string | null,
  to: string | null,
  asset: string,
  next: () => number,
): Initiation | null {
  const sender = [from, to, address(3_000)][next() % 3] as string;
  const kind = next() % 5;
  if (kind === 0) return null;
  if (kind === 1 || asset === 'ETH') return { sender, callsAsset: null, decodes: null };
  if (kind === 2) return { sender, callsAsset: false, decodes: false };
  return { sender, callsAsset: true, decodes: [true, false, null][next() % 3] as boolean | null };
}

/** Address 1 is a hub; amounts, prices and times of every kind; transactions of several transfers; transfers to oneself. */
function randomTransfers(count: number, seed: number): Transfer[] {
  const next = seededUint32(seed);
  const party = (): string | null => {
    const draw = next() % 20;
    if (draw === 0) return null;
    return address(draw < 8 ? 1 : 1 + (next() % ADDRESSES));
  };
  const amounts = [0n, 5n, 10n ** 18n, 2n ** 64n + 3n, 2n ** 95n + 1n, 2n ** 96n, 2n ** 255n + 12_345n];
  return Array.from({ length: count }, (_, index) => {
    const from = party();
    const to = party() ?? (from === null ? address(2) : null);
    const asset = ['ETH', token(1000), token(1001)][next() % 3] as string;
    const drawn = amounts[next() % amounts.length] as bigint;
    // More than 10^12 USD of ETH is rejected as a fault of the row.
    const amount = asset === 'ETH' && drawn > 2n ** 88n ? 2n ** 87n + 1n : drawn;
    const positions = [`log:${index}`, `out:${index}`, `trace:0_${index}`, `in:${index}`, `odd ${index}`];
    return {
      chain: 'ETH',
      txHash: hash(Math.floor(index / 3)),
      position: (index % 3 === 1 ? 'value' : positions[next() % 5]) as string,
      blockNumber: 100 + Math.floor(index / 50),
      timestampMs: 1_600_000_000_000 + (next() % 7 === 0 ? next() % 1e9 : Math.floor(index / 50) * 12_000),
      from,
      to,
      asset,
      amount: amount + BigInt(next() % 1000),
      decimals: asset === 'ETH' ? 18 : null,
      valueUsd: next() % 3 === 0 ? null : (next() % 100_000) / 100,
      initiation: initiationOf(from ?? to, to ?? from, asset, next),
    };
  });
}

const HEADER = 'txHash,position,blockNumber,timestamp,from,to,asset,amount,valueUsd,sender,called,decodes';
/** Senders may differ from the parties in letter case, and so may calls of the token. */
function initiationCells({ initiation, asset }: Transfer): string[] {
  if (!initiation) return ['', '', ''];
  const { sender, callsAsset, decodes } = initiation;
  const called = callsAsset === null ? '' : callsAsset ? asset.toLowerCase() : address(3_001);
  return [parseAddress('ETH', sender).canonical, called, decodes === null ? '' : String(decodes)];
}

const csvOf = (transfers: readonly Transfer[]): string =>
  [
    HEADER,
    ...transfers.map((one) =>
      [
        one.txHash,
        one.position,
        one.blockNumber,
        one.timestampMs,
        one.from ?? '',
        one.to ?? '',
        one.asset,
        one.amount,
        one.valueUsd ?? '',
        ...initiationCells(one),
      ].join(','),
    ),
  ].join('\n');

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const BULK = { fromBytes: 0, runTransfers: 700 };
const load = (store: TransferStore, path: string, signal?: AbortSignal): Promise<IngestReport> =>
  ingestFiles(
    { format: 'ndjson', files: [path], chain: 'ETH', bulk: BULK, ...(signal ? { signal } : {}) },
    { store },
  );

/** The stored transfers of a transaction, with the addresses of both sides, in the order of their positions. */
function transaction(store: TransferStore, txHash: string): unknown {
  const graph = store.graph('ETH');
  const addressOf = (node: number): string | null => (node === 0 ? null : (graph?.addressOf(node) ?? null));
  const found = store.transaction('ETH', [txHash], 100);
  const transfers = (found?.transfers ?? []).map((one) => ({
    ...one,
    from: addressOf(one.from),
    to: addressOf(one.to),
  }));
  return { ...found, transfers: transfers.sort((a, b) => (a.position < b.position ? -1 : 1)) };
}

/** Reads all that a store has about the addresses of these tests, and about every fourth of the first 400 transactions. */
function everything(store: TransferStore): unknown {
  const transactions = Array.from({ length: 100 }, (_, index) => transaction(store, hash(4 * index)));
  return { transactions, addresses: everyAddress(store) };
}

function everyAddress(store: TransferStore): unknown {
  const columns = createNeighbourColumns(1000);
  const graph = store.graph('ETH');
  return Array.from({ length: ADDRESSES + 2 }, (_, index) => {
    const { key } = parseAddress('ETH', address(index));
    const id = graph?.idOf(key) ?? null;
    const side = (direction: Direction) => {
      const parties = store.counterparties('ETH', key, { direction, limit: 1000 });
      const count = id === null || !graph ? 0 : graph.neighbours(id, direction, 7, columns);
      return {
        parties,
        count: store.counterpartyCount('ETH', key, direction),
        degree: id === null ? 0 : graph?.degree(id, direction),
        neighbours: Array.from({ length: count }, (_, at) => [
          columns.valueUsd[at],
          columns.unpriced[at],
          columns.transfers[at],
          columns.firstSeenMs[at],
          columns.lastSeenMs[at],
        ]),
        newest: parties
          .slice(0, 5)
          .map((one) => store.newest('ETH', key, one.key, 9).map(({ timestampMs }) => timestampMs)),
      };
    };
    const sums = (direction: Direction) =>
      (id === null || !graph ? [] : graph.sums(id)[direction]).map(({ asset, ...rest }) => [
        graph?.assetName(asset),
        rest,
      ]);
    return {
      totals: store.totals('ETH', key),
      sums: [new Map(sums('in') as []), new Map(sums('out') as [])],
      in: side('in'),
      out: side('out'),
      recent: store.recent('ETH', key, 64).map((one) => [one.timestampMs, one.direction, one.initiation]),
    };
  });
}

describe('a bulk load', () => {
  it('gives the same state as single transfers', async () => {
    const transfers = randomTransfers(4_000, 1);
    const slow = storeAt('slow');
    await slow.ingest(transfers);
    const fast = storeAt('fast');
    const report = await load(fast, fileOf('all.csv', csvOf(transfers)));
    expect(report).toMatchObject({ rows: 4_000, stored: 4_000, duplicates: 0, rejected: 0 });
    expect(fast.coverage('ETH')).toEqual(slow.coverage('ETH'));
    expectEqual(everything(fast), everything(slow));
  });

  it('gives the same state over stored data, live or bulk, with duplicates', async () => {
    const transfers = randomTransfers(4_000, 2);
    const slow = storeAt('slow');
    await slow.ingest(transfers);
    const mixed = storeAt('mixed');
    await mixed.ingest(transfers.slice(0, 900));
    await load(mixed, fileOf('first.csv', csvOf(transfers.slice(500, 2_500))));
    await mixed.ingest(transfers.slice(2_400, 2_900));
    const last = [...transfers.slice(2_000), ...transfers.slice(3_000, 3_500)];
    const report = await load(mixed, fileOf('last.csv', csvOf(last)));
    expect(report).toMatchObject({ rows: 2_500, stored: 1_100, duplicates: 1_400 });
    expect(mixed.coverage('ETH')).toEqual(slow.coverage('ETH'));
    const before = everything(mixed);
    expectEqual(before, everything(slow));
    expect(await load(mixed, fileOf('all.csv', csvOf(transfers)))).toMatchObject({
      stored: 0,
      duplicates: 4_000,
    });
    expectEqual(everything(mixed), before);
  });

  it('counts transfers of nothing alike beside amounts of less and of more than 96 bits', async () => {
    const [one] = randomTransfers(1, 4) as [Transfer];
    const amounts = [0n, 2n ** 96n, 0n, 5n, 2n ** 96n - 1n, 0n];
    const transfers = amounts.map((amount, index) => ({
      ...one,
      ...{ txHash: hash(index + 1), from: address(5), to: address(6 + (index % 2)) },
      ...{ asset: token(1000), amount, decimals: null, valueUsd: null, initiation: null },
    }));
    const slow = storeAt('slow');
    await slow.ingest(transfers);
    const fast = storeAt('fast');
    await load(fast, fileOf('zero.csv', csvOf(transfers)));
    expect(fast.totals('ETH', parseAddress('ETH', address(5)).key)?.out).toMatchObject({
      ...{ transfers: 6, unpricedTransfers: 3 },
      byAsset: [{ amount: 2n ** 97n + 4n }],
    });
    expectEqual(everything(fast), everything(slow));
  });

  it('knows the decimals of listed tokens, and of others from the first row that has them', async () => {
    const listed = '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599';
    const [one] = randomTransfers(1, 4) as [Transfer];
    const rows = [listed, token(1000)].map((asset, index) => ({
      ...{ ...one, txHash: hash(index + 1), from: address(5), to: address(6) },
      ...{ asset, amount: 7n, decimals: null, valueUsd: 1, initiation: null },
    }));
    const withDecimals = csvOf([{ ...(rows[1] as Transfer), txHash: hash(3) }])
      .trimEnd()
      .split('\n');
    const text = csvOf(rows).trimEnd().split('\n');
    const lines = [`${text[0]},decimals`, `${text[1]},`, `${text[2]},`, `${withDecimals[1]},4`];
    const store = storeAt('decimals');
    await load(store, fileOf('decimals.csv', `${lines.join('\n')}\n`));
    const assets = store.totals('ETH', parseAddress('ETH', address(5)).key)?.out.byAsset ?? [];
    expect(new Map(assets.map(({ asset, decimals }) => [asset, decimals]))).toEqual(
      new Map([
        [listed, 8],
        [token(1000), 4],
      ]),
    );
  });

  it('reports invalid rows like the reader of small files', async () => {
    const [one] = randomTransfers(1, 3) as [Transfer];
    const good = csvOf([{ ...one, initiation: null }]).split('\n')[1] as string;
    const value = /,[^,]*(,,,)$/;
    const start = /,,,$/;
    const rows = [
      good,
      good.replace(one.txHash, '0x12'),
      good.replace(one.txHash, hash(77)).replace(value, ',-1$1'),
      `${good},`,
      good.replace(one.txHash, `"${hash(78)}"`),
      good.replace(one.txHash, hash(79)).replace(value, ',1.005$1'),
      good.replace(one.txHash, hash(80)).replace(start, ',0x12,,'),
      good.replace(one.txHash, hash(81)).replace(start, `,,${address(5)},`),
      good.replace(one.txHash, hash(82)).replace(start, `,${address(5)},0x12,true`),
      good.replace(one.txHash, hash(83)).replace(start, `,${address(5)},,perhaps`),
      good.replace(one.txHash, hash(84)).replace(start, `,${address(5)},${address(6)},TRUE`),
      '',
      'nonsense',
    ];
    const text = [HEADER, ...rows].join('\r\n');
    const fast = await load(storeAt('fast'), fileOf('odd.csv', text));
    const slow = await ingestFiles(
      { format: 'ndjson', files: [fileOf('odd2.csv', text)], chain: 'ETH' },
      { store: storeAt('slow') },
    );
    const shown = (report: IngestReport): unknown => ({
      ...report,
      rejects: report.rejects.map(({ reason, provenance }) => [provenance.line, reason]),
    });
    expect(shown(fast)).toEqual(shown(slow));
    expect(fast.stored).toBe(4);
  });

  it('knows the addresses of rejected rows, however many there are', async () => {
    const [one] = randomTransfers(1, 3) as [Transfer];
    const of = (index: number, valueUsd: number): Transfer => ({
      ...{ ...one, txHash: hash(index), valueUsd, initiation: null },
      ...{ from: address(5_000 + index), to: address(9_000 + index) },
    });
    // More than two for each transfer that a run can have.
    const rejected = Array.from({ length: 2_500 }, (_, index) => of(index, -1));
    const store = storeAt('rejected');
    const report = await load(store, fileOf('rejected.csv', csvOf([...rejected, of(2_500, 1)])));
    expect(report).toMatchObject({ stored: 1, rejected: 2_500 });
    await store.ingest(rejected.map((transfer) => ({ ...transfer, valueUsd: 1 })));
    const keys = [...store.addresses('ETH')].map((key) => Buffer.from(key).toString('hex'));
    expect(keys).toHaveLength(2 * 2_501);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('values an amount by the price tables if the row has 0, and rejects an impossible amount', async () => {
    const [one] = randomTransfers(1, 3) as [Transfer];
    const fields = { ...one, initiation: null, from: address(5), to: address(6) };
    const of = (index: number, amount: bigint, valueUsd: number, asset = 'ETH'): Transfer => ({
      ...fields,
      txHash: hash(index),
      asset,
      amount,
      valueUsd,
    });
    const usdt = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
    const link = parseAddress('ETH', '0x514910771af9ca656af840dff83e8264ecf986ca').canonical;
    const transfers = [
      of(1, 10n ** 18n, 0),
      of(2, 1n, 0),
      of(3, 7_000_000n, 0, usdt),
      of(4, 5n, 0, link),
      of(5, 0n, 0),
      of(6, 10n ** 28n, 5),
      of(7, 2n ** 256n - 1n, 5),
      of(8, 10n ** 20n, 5, usdt),
    ];
    const store = storeAt('zero');
    const path = fileOf('zero.csv', csvOf(transfers));
    const report = await ingestFiles(
      { format: 'ndjson', files: [path], chain: 'ETH', bulk: BULK, pricesFolder: join(folder, 'prices') },
      { store },
    );
    expect(report).toMatchObject({ rows: 8, stored: 5, rejected: 3 });
    for (const { reason } of report.rejects) expect(reason).toMatch(/^amount is \d+, and no transfer of/);
    const flows = store.totals('ETH', parseAddress('ETH', address(5)).key)?.out.byAsset;
    const found = new Map(
      flows?.map(({ asset, valueUsd, unpricedTransfers }) => [asset, [valueUsd, unpricedTransfers]]),
    );
    expect(found.get('ETH')).toEqual([expect.any(Number), 0]);
    expect(found.get('ETH')?.[0]).toBeGreaterThan(100);
    expect(found.get(usdt)).toEqual([7, 0]);
    expect(found.get(link)).toEqual([null, 1]);
    const silent = storeAt('silent');
    await ingestFiles({ format: 'ndjson', files: [path], chain: 'ETH', bulk: BULK }, { store: silent });
    expect(silent.totals('ETH', parseAddress('ETH', address(5)).key)?.out).toMatchObject({
      unpricedTransfers: 4,
      valueUsd: null,
    });
  });

  it('replaces and reports values that contradict the price tables, like the reader of small files', async () => {
    const [one] = randomTransfers(1, 3) as [Transfer];
    const usdt = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
    const link = parseAddress('ETH', '0x514910771af9ca656af840dff83e8264ecf986ca').canonical;
    const at = Date.parse('2025-06-01T12:00:00Z');
    const of = (index: number, amount: bigint, valueUsd: number, asset = 'ETH'): Transfer => ({
      ...one,
      initiation: null,
      from: address(5),
      to: address(100 + index),
      txHash: hash(index),
      position: 'value',
      timestampMs: at,
      asset,
      amount,
      valueUsd,
    });
    const ether = 10n ** 18n;
    const transfers = [
      of(1, 10n ** 12n, 0.0001, usdt),
      of(2, 10n ** 12n, 0.01, usdt),
      of(3, 10n ** 12n, 900_000, usdt),
      of(4, 100n * ether, 0.5),
      of(5, ether, 1e9),
      of(6, ether, 2_400.5),
      of(7, 5n * ether, 70, link),
      of(8, 0n, 70),
      of(9, 1n, 0.01),
    ];
    const text = csvOf(transfers);
    const pricesFolder = join(folder, 'prices');
    const read = async (name: string, options: { bulk?: typeof BULK }, rows = text) => {
      const store = storeAt(name);
      const files = [fileOf(`${name}.csv`, rows)];
      const report = await ingestFiles(
        { format: 'ndjson', files, chain: 'ETH', pricesFolder, ...options },
        { store },
      );
      const values = transfers.map(({ to }) => {
        const flow = store.totals('ETH', parseAddress('ETH', to as string).key)?.in;
        return flow?.valueUsd ?? null;
      });
      return { values, report, replaced: report.replaced.map(({ file: _, ...value }) => value) };
    };
    const fast = await read('fast', { bulk: BULK });
    const slow = await read('slow', {});
    // With quotes, each row goes to the reader of unusual rows.
    const odd = await read('odd', { bulk: BULK }, text.replaceAll(/^(0x[0-9a-f]+)/gm, '"$1"'));
    expect(fast.report).toMatchObject({ rows: 9, stored: 9, rejected: 0, valuesReplaced: 5 });
    const ethUsd = fast.values[4] as number;
    expect(ethUsd).toBeGreaterThan(1_000);
    expect(ethUsd).toBeLessThan(10_000);
    expect(fast.values.map((value) => value && Math.round(value * 100) / 100)).toEqual([
      1e6,
      1e6,
      900_000,
      Math.round(ethUsd * 10_000) / 100,
      ethUsd,
      2_400.5,
      70,
      0,
      0.01,
    ]);
    expect(slow.values).toEqual(fast.values);
    expect(odd.values).toEqual(fast.values);
    expect(fast.replaced[0]).toEqual({ line: 2, asset: usdt, given: 0.0001, stored: 1e6 });
    expect(fast.replaced.map(({ line }) => line)).toEqual([2, 3, 5, 6, 9]);
    expect(slow.replaced).toEqual(odd.replaced);
    expect(slow.report.valuesReplaced).toBe(5);
    // Without tables, the file decides.
    const silent = storeAt('silent');
    const believed = await ingestFiles(
      { format: 'ndjson', files: [fileOf('silent.csv', text)], chain: 'ETH', bulk: BULK },
      { store: silent },
    );
    expect(believed.valuesReplaced).toBe(0);
    expect(silent.totals('ETH', parseAddress('ETH', address(105)).key)?.in.valueUsd).toBe(1e9);
  });

  it('resumes after an interruption in any pass', async () => {
    const transfers = randomTransfers(2_000, 4);
    const path = fileOf('all.csv', csvOf(transfers));
    const whole = storeAt('whole');
    await load(whole, path);
    const expected = everything(whole);
    for (const pass of ['read', 'transactions', 'log', 'addresses'] as const) {
      const store = storeAt(pass);
      const controller = new AbortController();
      const run = ingestFiles(
        {
          format: 'ndjson',
          files: [path],
          chain: 'ETH',
          bulk: BULK,
          signal: controller.signal,
          onProgress: (progress) => {
            if (progress.pass === (pass === 'read' ? undefined : pass)) controller.abort(new Error(pass));
          },
        },
        { store },
      );
      await expect(run).rejects.toThrow(pass);
      const report = await load(store, path);
      expect(report).toMatchObject({ rows: 2_000, stored: 2_000, duplicates: 0 });
      expectEqual(everything(store), expected);
    }
  });

  it('merges its data if another process stored the same addresses in the meantime', async () => {
    // Without amounts of 2^96 and more, which are never packed in advance.
    const transfers = randomTransfers(3_000, 7).map((one) => ({ ...one, amount: one.amount % 2n ** 90n }));
    const whole = storeAt('whole');
    await whole.ingest(transfers);
    const store = storeAt('store');
    // Enough for the hub to be merged, and thus known.
    let live: Promise<unknown> | null = null;
    const report = await ingestFiles(
      {
        format: 'ndjson',
        files: [fileOf('all.csv', csvOf(transfers.slice(0, 2_000)))],
        chain: 'ETH',
        bulk: BULK,
        onProgress: ({ pass, done }) => {
          if (pass === 'log' && done === 1)
            setTimeout(() => {
              live = store.ingest(transfers.slice(2_000));
            }, 2);
        },
      },
      { store },
    );
    await live;
    expect(report.stored).toBe(2_000);
    expectEqual(everything(store), everything(whole));
  });

  it('has its transfers counted once if they arrive live before it has logged them', async () => {
    const transfers = randomTransfers(2_000, 8);
    const path = fileOf('all.csv', csvOf(transfers));
    const store = storeAt('store');
    const controller = new AbortController();
    const run = ingestFiles(
      {
        format: 'ndjson',
        files: [path],
        chain: 'ETH',
        bulk: BULK,
        signal: controller.signal,
        onProgress: ({ pass }) => pass === 'transactions' && controller.abort(new Error('stop')),
      },
      { store },
    );
    await expect(run).rejects.toThrow('stop');
    // The second position of a known transaction is new.
    const other = { ...(transfers[0] as Transfer), position: 'log:77' };
    expect(await store.ingest([...transfers, other])).toEqual({ stored: 1, duplicates: 2_000 });
    expect(await load(store, path)).toMatchObject({ stored: 2_000, duplicates: 0 });
    const whole = storeAt('whole');
    await whole.ingest([...transfers, other]);
    expectEqual(everything(store), everything(whole));
  });

  it('of another file completes an interrupted one first', async () => {
    const transfers = randomTransfers(2_000, 5);
    const first = fileOf('first.csv', csvOf(transfers.slice(0, 1_000)));
    const store = storeAt('store');
    const controller = new AbortController();
    const run = ingestFiles(
      {
        format: 'ndjson',
        files: [first],
        chain: 'ETH',
        bulk: BULK,
        signal: controller.signal,
        onProgress: ({ pass }) => pass === 'log' && controller.abort(new Error('stop')),
      },
      { store },
    );
    await expect(run).rejects.toThrow('stop');
    await load(store, fileOf('second.csv', csvOf(transfers.slice(1_000))));
    expect(store.coverage('ETH').transfers).toBe(2_000);
    const whole = storeAt('whole');
    await whole.ingest(transfers);
    expectEqual(everything(store), everything(whole));
  });

  it('resumes after a kill at any time, and gives the same state as without one', async () => {
    const transfers = randomTransfers(12_000, 6);
    const path = fileOf('all.csv', csvOf(transfers));
    const url = (name: string): string =>
      JSON.stringify(pathToFileURL(join(projectRoot, 'dist/src/graph', name)).href);
    const script = `
      import { openTransferStore } from ${url('store.js')};
      import { ingestFiles } from ${url('ingest/ingest-files.js')};
      const store = openTransferStore({ path: ${JSON.stringify(join(folder, 'killed'))}, readOnly: false });
      await ingestFiles({ format: 'ndjson', files: [${JSON.stringify(path)}], chain: 'ETH',
        bulk: { fromBytes: 0, runTransfers: 700 }, onProgress: ({ pass, rows }) => console.log(pass ?? 'read', rows) }, { store });
      await store.close();
      console.log('finished');
    `;
    let kills = 0;
    for (let run = 0; run < 20; run++) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(child, 'exit');
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        // A little later each time, so that each of the four passes is killed once.
        if (run < KILLS) setTimeout(() => child.kill('SIGKILL'), run * (60 / KILLS));
      });
      await exited;
      if (output.includes('finished')) break;
      kills++;
    }
    expect(kills).toBeGreaterThan(0);
    const store = storeAt('killed');
    expect(store.coverage('ETH').transfers).toBe(12_000);
    const whole = storeAt('whole');
    await load(whole, path);
    expectEqual(everything(store), everything(whole));
  });
});
