/** USD of an asset is divided by the amount that has a price: an amount without a price dilutes nothing, however it was stored. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { Direction } from '../../src/graph/flow.ts';
import { type AssetSums, createNeighbourColumns } from '../../src/graph/graph.ts';
import { ingestFiles } from '../../src/graph/ingest/ingest-files.ts';
import { RowReader } from '../../src/graph/kernels/rows.ts';
import { createNode, flowOf, flowSums, packNode, unpackNode } from '../../src/graph/store/node-record.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';

const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const key = (index: number): Uint8Array => parseAddress('ETH', address(index)).key;
const VICTIM = 1;
/** In the form in which files and live writes store it. */
const TOKEN = parseAddress('ETH', address(0xa1)).canonical;

let folder = '';
const open: TransferStore[] = [];
const storeAt = (name: string, readOnly = false): TransferStore => {
  const store = openTransferStore({ path: join(folder, name), readOnly });
  open.push(store);
  return store;
};
const closeAll = async (): Promise<void> => {
  for (const store of open.splice(0)) await store.close();
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-priced-'));
});
afterEach(async () => {
  await closeAll();
  rmSync(folder, { recursive: true });
});

let serial = 0;
const paid = (from: number, fields: Partial<Transfer>): Transfer => ({
  chain: 'ETH',
  txHash: `0x${(++serial).toString(16).padStart(64, '0')}`,
  position: 'value',
  blockNumber: 100,
  timestampMs: 1_700_000_000_000,
  from: address(from),
  to: address(VICTIM),
  asset: 'ETH',
  amount: 10n,
  decimals: 18,
  valueUsd: null,
  ...fields,
});

const weighing = { isEvidence: () => true, dustUsd: 0, dustShare: 0 };

/** Returns each sender's share of the value that the first address received. */
function sharesIn(store: TransferStore): Map<string, number> {
  const graph = store.graph('ETH');
  const node = graph?.idOf(key(VICTIM)) ?? null;
  if (graph === null || node === null) throw new Error('nothing is stored');
  const rows = new RowReader(graph, weighing);
  const basis = rows.basisOf(node, 'in');
  const columns = createNeighbourColumns(100);
  const { count } = rows.read(node, 'in', basis, 100, columns);
  const shares = Array.from({ length: count }, (_, at): [string, number] => [
    graph.addressOf(columns.ids[at] as number),
    (columns.weight[at] as number) / basis.total,
  ]);
  return new Map(shares);
}

describe('amounts without a price', () => {
  it('do not dilute priced value: 10 ETH beside 1,000 ETH without a price keep their value', async () => {
    const store = storeAt('diluted');
    const ether = 10n ** 18n;
    await store.ingest([
      paid(2, { amount: 10n * ether, valueUsd: 29_716.4 }),
      paid(3, { amount: 1_000n * ether }),
      paid(4, { asset: address(9), amount: 5n, valueUsd: 1_000 }),
    ]);
    const graph = store.graph('ETH');
    const node = graph?.idOf(key(VICTIM)) as number;
    const { rates, total } = new RowReader(graph as NonNullable<typeof graph>, weighing).basisOf(node, 'in');
    expect((rates.get(1) as number) * 10 * 1e18).toBeCloseTo(29_716.4, 6);
    expect(total).toBeCloseTo(29_716.4 * 101 + 1_000, 4);
  });

  it('change no share, for any transfers without a price, as long as one has a price', async () => {
    const row = fc.record({
      from: fc.integer({ min: 2, max: 6 }),
      asset: fc.integer({ min: 0, max: 2 }),
      units: fc.integer({ min: 1, max: 1_000_000 }),
      isDropped: fc.boolean(),
    });
    const usdOfUnit = [3, 0.5, 20];
    const nameOf = (asset: number): string => (asset === 0 ? 'ETH' : address(0xa0 + asset));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 2, maxLength: 40 }), async (rows) => {
        const kept = new Set<number>();
        const transfers = (drops: boolean): Transfer[] => {
          kept.clear();
          return rows.map(({ from, asset, units, isDropped }) => {
            const loses = drops && isDropped && kept.has(asset);
            kept.add(asset);
            const valueUsd = loses ? null : units * (usdOfUnit[asset] as number);
            return paid(from, { asset: nameOf(asset), amount: BigInt(units), valueUsd });
          });
        };
        const whole = storeAt(`whole${++run}`);
        await whole.ingest(transfers(false));
        const part = storeAt(`part${run}`);
        await part.ingest(transfers(true));
        const expected = sharesIn(whole);
        const found = sharesIn(part);
        expect([...found.keys()].sort()).toEqual([...expected.keys()].sort());
        for (const [sender, share] of expected) expect(found.get(sender)).toBeCloseTo(share, 9);
        await closeAll();
      }),
      { numRuns: 8 },
    );
  });
});

/** Random transfers among few parties, so that flows have transfers with and without a price, and amounts of any size. */
function mixedTransfers(count: number, seed: number): Transfer[] {
  const next = seededUint32(seed);
  return Array.from({ length: count }, () => {
    const isToken = next() % 3 === 0;
    // More than 10^12 USD of ETH is rejected as a fault of a file, and so is a value of 0 for an amount.
    const power = isToken && next() % 10 === 0 ? 6n : 2n;
    return paid(2 + (next() % 4), {
      to: address(1 + (next() % 5)),
      asset: isToken ? TOKEN : 'ETH',
      amount: next() % 9 === 0 ? 0n : BigInt(next()) ** power,
      valueUsd: next() % 2 === 0 ? null : (1 + (next() % 100_000)) / 100,
    });
  });
}

/** The priced amount of each address, asset and direction, added up from the transfers. */
function expectedAmounts(transfers: readonly Transfer[]): Map<string, bigint> {
  const amounts = new Map<string, bigint>();
  for (const { from, to, asset, amount, valueUsd } of transfers) {
    if (from === to) continue;
    for (const [party, direction] of [
      [from, 'out'],
      [to, 'in'],
    ] as const) {
      const name = `${parseAddress('ETH', party as string).canonical} ${direction} ${asset}`;
      amounts.set(name, (amounts.get(name) ?? 0n) + (valueUsd === null ? 0n : amount));
    }
  }
  return amounts;
}

function storedAmounts(store: TransferStore): string[] {
  const graph = store.graph('ETH');
  const amounts = new Map<string, number>();
  for (let node = 1; node <= (graph?.nodeCount ?? 0); node++) {
    const sums = graph?.sums(node) as Readonly<Record<Direction, readonly AssetSums[]>>;
    for (const direction of ['in', 'out'] as const)
      for (const { asset, pricedAmount } of sums[direction])
        amounts.set(`${graph?.addressOf(node)} ${direction} ${graph?.assetName(asset)}`, pricedAmount);
  }
  return linesOf(amounts);
}

const linesOf = (amounts: ReadonlyMap<string, number>): string[] =>
  [...amounts].map(([name, amount]) => `${name} ${amount}`).sort();

const asLines = (amounts: ReadonlyMap<string, bigint>): string[] =>
  linesOf(new Map([...amounts].map(([name, amount]) => [name, Number(amount)])));

describe('the priced amount', () => {
  it('is stored by live writes, with a delta and merged', async () => {
    const transfers = mixedTransfers(1_500, 5);
    const store = storeAt('live');
    for (let at = 0; at < transfers.length; at += 100) {
      await store.ingest(transfers.slice(at, at + 100));
      expect(storedAmounts(store)).toEqual(asLines(expectedAmounts(transfers.slice(0, at + 100))));
    }
  });

  it('is stored by a bulk load over stored data', async () => {
    const transfers = mixedTransfers(1_500, 6);
    const store = storeAt('bulk');
    await store.ingest(transfers.slice(0, 200));
    const header = 'txHash,position,blockNumber,timestamp,from,to,asset,amount,valueUsd';
    for (const [at, part] of [transfers.slice(100, 700), transfers.slice(600)].entries()) {
      const path = join(folder, `${at}.csv`);
      const rows = part.map((one) =>
        [
          one.txHash,
          one.position,
          one.blockNumber,
          one.timestampMs,
          one.from,
          one.to,
          one.asset,
          one.amount,
          one.valueUsd ?? '',
        ].join(),
      );
      writeFileSync(path, [header, ...rows].join('\n'));
      const bulk = { fromBytes: 0, runTransfers: 250 };
      await ingestFiles({ format: 'ndjson', files: [path], chain: 'ETH', bulk }, { store });
    }
    expect(storedAmounts(store)).toEqual(asLines(expectedAmounts(transfers)));
  });

  it('is restored if a block is reverted', async () => {
    const store = storeAt('reorg');
    const [before, block] = [mixedTransfers(60, 7), mixedTransfers(300, 8)];
    await store.ingest(before);
    const amounts = storedAmounts(store);
    await store.appendBlock({
      chain: 'ETH',
      height: 200,
      hash: 'a',
      parentHash: null,
      timestampMs: 1_800_000_000_000,
      transfers: block.map((transfer) => ({ ...transfer, blockNumber: 200 })),
      transactions: [],
    });
    expect(storedAmounts(store)).toEqual(asLines(expectedAmounts([...before, ...block])));
    await store.revertBlock('ETH', 200);
    expect(storedAmounts(store)).toEqual(amounts);
  });

  it('takes space in a flow only if some of its transfers have a price and some do not', () => {
    const sizeOf = (transfers: number, unpriced: number): number => {
      const node = { ...createNode(), firstSeenMs: 1_000, lastSeenMs: 2_000 };
      const amount = 2n ** 70n;
      const pricedAmount = unpriced === 0 ? amount : unpriced === transfers ? 0n : 2n ** 60n;
      Object.assign(flowOf(node, 3, 0), { transfers, unpriced, cents: 9, amount, pricedAmount });
      const bytes = packNode(node);
      expect(unpackNode(bytes, () => 0).flows[0]).toEqual(node.flows[0]);
      expect(flowSums(bytes)[0][0]?.pricedAmount).toBe(Number(pricedAmount));
      return bytes.length;
    };
    expect(sizeOf(4, 4)).toBe(sizeOf(4, 0));
    expect(sizeOf(4, 2) - sizeOf(4, 0)).toBe(9);
  });
});

describe('a store of the previous format', () => {
  /** A flow as the former program wrote it: nothing follows the amount. */
  const former = (transfers: number, unpriced: number, amount: bigint): Buffer => {
    const node = { ...createNode(), firstSeenMs: 1_000, lastSeenMs: 2_000 };
    Object.assign(flowOf(node, 1, 0), { transfers, unpriced, cents: 500, amount, pricedAmount: null });
    return packNode(node);
  };

  it('is read as before: without the figure, all of a flow counts as priced', () => {
    expect(flowSums(former(4, 2, 100n))[0][0]).toMatchObject({ amount: 100, pricedAmount: 100 });
    expect(unpackNode(former(4, 2, 100n), () => 0).flows[0]).toMatchObject({
      amount: 100n,
      pricedAmount: null,
    });
    expect(flowSums(former(4, 0, 100n))[0][0]).toMatchObject({ pricedAmount: 100 });
    expect(flowSums(former(4, 4, 100n))[0][0]).toMatchObject({ pricedAmount: 0 });
  });

  it('is opened for reading unchanged, and written in the current format', async () => {
    const path = join(folder, 'old');
    await storeAt('old').ingest([paid(2, { valueUsd: 5 })]);
    await closeAll();
    const formatOf = async (put?: number): Promise<unknown> => {
      const root = openEnvironment(join(path, 'eth.mdb'), { maxDbs: 12, noSubdir: true });
      const meta = root.openDB<unknown, string>({ name: 'meta', encoding: 'msgpack' });
      if (put !== undefined) meta.putSync('format', { name: 'assay-transfers', version: put });
      const found = meta.get('format');
      await root.close();
      return found;
    };
    await formatOf(2);
    expect(storeAt('old', true).coverage('ETH').transfers).toBe(1);
    await closeAll();
    expect(await formatOf()).toMatchObject({ version: 2 });
    await storeAt('old').ingest([paid(3, {})]);
    await closeAll();
    expect(await formatOf()).toMatchObject({ version: 6 });
    expect(storeAt('old', true).coverage('ETH').transfers).toBe(2);
  });
});
