import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openTransferStore } from '../../src/graph/store.ts';
import { LEAST_KEY, openAsBytes, openEnvironment } from '../../src/state/lmdb.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-lookups-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

/** Transfers with repeated transactions and positions, ids of every form, and without one of the parties. */
function someTransfers(seed: number, count: number): Transfer[] {
  const next = seededUint32(seed);
  const ids = [
    (at: number) => `0x${at.toString(16).padStart(64, '0')}`,
    (at: number) => at.toString(16).padStart(64, '0'),
    (at: number) => `0x${at.toString(16).padStart(64, 'A')}`,
    (at: number) => `t${at}`,
    (at: number) => `${at % 10}`,
  ] as const;
  return Array.from({ length: count }, (_, at): Transfer => {
    const party = next() % 40;
    const made = ids[next() % ids.length] as (at: number) => string;
    return {
      chain: 'ETH',
      txHash: made(next() % 3 === 0 ? next() % (at + 1) : at),
      position: next() % 4 === 0 ? 'other' : `log:${next() % 3}`,
      blockNumber: 100 + (next() % 5),
      timestampMs: 1_700_000_000_000 + (next() % 5000),
      from: party === 0 ? null : address(1 + (next() % 700)),
      to: party === 1 ? null : address(1 + (next() % 700)),
      asset: 'ETH',
      amount: BigInt(next()),
      decimals: 18,
      valueUsd: null,
    };
  });
}

/** Returns the databases that do not depend on how many transfers are written at a time. */
async function written(name: string, batches: readonly Transfer[][]): Promise<Record<string, string[]>> {
  const path = join(folder, name);
  const store = openTransferStore({ path, readOnly: false });
  const counts: string[] = [];
  let [stored, duplicates] = [0, 0];
  for (const batch of batches) {
    const more = await store.ingest(batch);
    stored += more.stored;
    duplicates += more.duplicates;
  }
  counts.push(`${stored} ${duplicates}`);
  const graph = store.graph('ETH');
  for (let node = 1; node <= (graph?.nodeCount ?? 0); node++)
    expect(graph?.idOf(Buffer.from(graph.keyOf(node)))).toBe(node);
  await store.close();
  const root = openEnvironment(join(path, 'eth.mdb'), { maxDbs: 16, readOnly: true });
  const entries = (database: string): string[] =>
    [...openAsBytes(root, database).getRange({ start: LEAST_KEY })].map(
      ({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`,
    );
  const found = { counts, keys: entries('keys'), log: entries('log') };
  await root.close();
  return found;
}

/** Large batches are looked up in the order of keys, small ones transfer by transfer. */
describe('a large batch', () => {
  it('stores the same as small ones', async () => {
    const transfers = someTransfers(7, 9_000);
    const small = Array.from({ length: 18 }, (_, at) => transfers.slice(at * 500, at * 500 + 500));
    const large = [transfers.slice(0, 2_500), transfers.slice(2_500)];
    const expected = await written('small', small);
    expect(expected.keys?.length).toBeGreaterThan(600);
    expect(await written('large', large)).toEqual(expected);
  });

  it('is refused whole for an address that is not valid', async () => {
    const store = openTransferStore({ path: folder, readOnly: false });
    const transfers = someTransfers(8, 3_000);
    const invalid = transfers.map((one, at) => (at === 2_900 ? { ...one, to: '0x12' } : one));
    await expect(store.ingest(invalid)).rejects.toThrow('not a valid Ethereum address');
    expect(store.coverage('ETH').transfers).toBe(0);
    const { stored, duplicates } = await store.ingest(transfers);
    expect(stored + duplicates).toBe(3_000);
    expect(await store.ingest(transfers)).toEqual({ stored: 0, duplicates: 3_000 });
    await store.close();
  });
});
