import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import type { Transfer } from '../../../src/chains/transfer.ts';
import { openTransferStore, type TransferStore } from '../../../src/graph/store.ts';

let folder: string;
let store: TransferStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-accounts-'));
  store = openTransferStore({ path: folder, readOnly: false });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const ACCOUNTS = 90;
const address = (number: number): string => `0x${(number + 1).toString(16).padStart(40, '0')}`;

/** Transfers between few accounts: some to the sender itself, some without a sender, amounts up to 2^200, times out of order. */
function* transfers(count: number, seed: number, from = 0): Generator<Transfer> {
  const next = seededUint32(seed);
  for (let number = from; number < from + count; number++) {
    // The first accounts have many transfers, more than are kept and merged.
    const party = (): number => Math.min(next() % ACCOUNTS, next() % ACCOUNTS, next() % ACCOUNTS);
    const sender = party();
    yield {
      ...{ chain: 'ETH', txHash: `0x${number.toString(16).padStart(64, '0')}`, position: 'value' },
      blockNumber: 1_000 + number,
      timestampMs: 1_700_000_000_000 + (number - (next() % 30)) * 1_000,
      from: next() % 50 === 0 ? null : address(sender),
      to: address(next() % 20 === 0 ? sender : party()),
      asset: next() % 3 === 0 ? 'ETH' : address(500 + (next() % 3)),
      amount: BigInt(next()) << BigInt(next() % 168),
      decimals: 18,
      valueUsd: next() % 4 === 0 ? 12.5 : null,
    } as Transfer;
  }
}

/** What the log says about each account, which the scan must agree with. */
function expected(): Map<number, { newest: number[]; receivers: Set<number> }> {
  const end = store.logPosition('ETH')?.ordinal ?? 0;
  const rows = Array.from({ length: end }, (_, ordinal) => ({
    ordinal,
    logged: store.loggedAt('ETH', ordinal),
  }));
  const accounts = new Map<number, { newest: number[]; receivers: Set<number> }>();
  const graph = store.graph('ETH');
  for (let node = 1; node <= (graph?.nodeCount ?? 0); node++) {
    const own = rows.filter(({ logged }) => logged !== null && (logged.from === node || logged.to === node));
    own.sort((a, b) => (a.logged?.timestampMs ?? 0) - (b.logged?.timestampMs ?? 0) || a.ordinal - b.ordinal);
    accounts.set(node, {
      newest: own
        .slice(-64)
        .filter(({ logged }) => logged?.from !== logged?.to)
        .map(({ ordinal }) => ordinal),
      receivers: new Set(
        own.flatMap(({ logged }) => (logged?.from === node && logged.to !== node ? [logged.to] : [])),
      ),
    });
  }
  return accounts;
}

function check(): void {
  const scan = store.accounts('ETH');
  if (scan === null) throw new Error('No transfer is stored.');
  let full = 0;
  for (const [node, { newest, receivers }] of expected()) {
    const columns = scan.newest(node);
    expect([...columns.ordinal.subarray(0, columns.count)]).toEqual(newest);
    for (const [row, ordinal] of newest.entries()) {
      const logged = store.loggedAt('ETH', ordinal);
      expect([columns.from[row], columns.to[row], columns.asset[row]]).toEqual([
        logged?.from,
        logged?.to,
        logged?.asset,
      ]);
      expect([columns.amount[row], columns.timestampMs[row], columns.initiation[row]]).toEqual([
        Number(logged?.amount),
        logged?.timestampMs,
        logged?.initiation,
      ]);
    }
    if (newest.length > 50) full++;
    expect(new Set(scan.receivers(node, 1_000))).toEqual(receivers);
    expect(scan.receivers(node, receivers.size)?.length).toBe(receivers.size);
    if (receivers.size > 0) expect(scan.receivers(node, receivers.size - 1)).toBeNull();
  }
  expect(full).toBeGreaterThan(10);
}

it('reads the newest transfers and all receivers of each account as the log has them', async () => {
  await store.ingest(transfers(3_000, 1));
  check();
  // Some accounts are merged, and some transfers wait to be.
  await store.ingest(transfers(400, 2, 3_000));
  check();
});

it('follows blocks and their reverts', async () => {
  await store.ingest(transfers(2_000, 3));
  const block = async (height: number, from: number): Promise<void> => {
    const own = [...transfers(60, height, from)].map((one) => ({ ...one, blockNumber: height }));
    await store.appendBlock({
      ...{ chain: 'ETH', height, hash: `0x${height}`, parentHash: null },
      ...{ timestampMs: own[0]?.timestampMs ?? 0, transfers: own },
    });
  };
  for (let at = 0; at < 6; at++) await block(50_000 + at, 10_000 + at * 100);
  check();
  const end = store.logPosition('ETH')?.ordinal ?? 0;
  expect(store.isLogged('ETH', end - 1)).toBe(true);
  for (let at = 5; at >= 3; at--) await store.revertBlock('ETH', 50_000 + at);
  expect([store.isLogged('ETH', end - 1), store.isLogged('ETH', 0), store.isLogged('ETH', end)]).toEqual([
    false,
    true,
    false,
  ]);
  check();
});

it('knows no account of a chain without transfers', () => {
  expect(store.accounts('ETH')?.newest(1).count ?? 0).toBe(0);
  expect(store.accounts('ETH')?.receivers(1, 5) ?? []).toEqual([]);
});
