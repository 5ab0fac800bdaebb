/** A large row that was read with dust gives the same edges without dust as the graph, which is not read again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createNeighbourColumns, type TransferGraph } from '../../src/graph/graph.ts';
import { RowReader } from '../../src/graph/kernels/rows.ts';
import type { Weighing } from '../../src/graph/kernels/weighing.ts';
import { openTransferStore } from '../../src/graph/store.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-kept-rows-'));
afterAll(() => rmSync(folder, { recursive: true }));

const COUNTERPARTIES = 1_500;
const weighing: Weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 1e-4 };
const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const TOKEN = address(0xa1);
const next = seededUint32(11);

/** Transfers of address 1 with all others, of 0 to 3 USD. A tenth is a token, and some have no price. */
const transfers: readonly Transfer[] = Array.from({ length: 2 * COUNTERPARTIES }, (_, at) => {
  const other = address(2 + (at >> 1));
  const [from, to] = at % 2 === 0 ? [address(1), other] : [other, address(1)];
  return {
    ...{ chain: 'ETH', txHash: `0x${(at + 1).toString(16).padStart(64, '0')}`, position: 'value' },
    ...{ blockNumber: 100 + at, timestampMs: 1_700_000_000_000 + 1_000 * at },
    ...{ from, to, asset: next() % 10 === 0 ? TOKEN : 'ETH', decimals: 18 },
    amount: BigInt(1 + (next() % 300)) * 10n ** 16n,
    valueUsd: next() % 4 === 0 ? null : (next() % 300) / 100,
  };
});

it.each([100, COUNTERPARTIES, 10_000])('with at most %i edges', async (limit) => {
  const store = openTransferStore({ path: join(folder, String(limit)), readOnly: false });
  await store.ingest(transfers);
  const graph = store.graph('ETH')!;
  const node = graph.idOf(parseAddress('ETH', address(1)).key)!;
  let reads = 0;
  const counted: TransferGraph = {
    ...graph,
    row(...asked) {
      reads++;
      return graph.row(...asked);
    },
  };
  const rows = new RowReader(counted, weighing);
  const [own, kept, read] = [limit, limit, limit].map(createNeighbourColumns) as [never, never, never];
  for (const direction of ['in', 'out'] as const) {
    const basis = rows.basisOf(node, direction);
    const all = rows.readWithDust(node, direction, basis, limit, own);
    expect(all.count).toBe(Math.min(limit, COUNTERPARTIES));
    expect(all.light.edges).toBeGreaterThan(100);
    expect(all.heavy + all.light.edges).toBe(COUNTERPARTIES);
  }
  expect(reads).toBe(2);
  for (const direction of ['in', 'out'] as const) {
    const basis = rows.basisOf(node, direction);
    const scan = rows.read(node, direction, basis, limit, kept);
    expect(scan).toEqual(new RowReader(graph, weighing).read(node, direction, basis, limit, read));
    expect(kept).toEqual(read);
    expect(reads).toBe(2);
  }
  // Other edges than those that are kept.
  const basis = rows.basisOf(node, 'in');
  for (const other of [
    { ...basis, dust: 2 },
    { ...basis, rates: new Map() },
  ])
    expect(rows.read(node, 'in', other, limit, kept)).toEqual(
      new RowReader(graph, weighing).read(node, 'in', other, limit, read),
    );
  expect(reads).toBe(4);
  await store.close();
});
