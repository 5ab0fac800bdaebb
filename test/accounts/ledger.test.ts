import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type EmbeddedLedger, openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { chargeOf, ledgerConformance } from '../conformance/ledger.ts';
import { spawnSync } from '../support/child-process.ts';
import { sleep } from '../support/wait.ts';
import { tempFolder } from './temp-folder.ts';

interface World {
  now: number;
  freeCredits: number;
}

const openAt = (path: string, world: World): EmbeddedLedger =>
  openLedger(
    { path },
    {
      clock: { now: () => world.now, monotonic: () => 0 },
      log: silentLogger,
      freeCredits: () => world.freeCredits,
    },
  );

const CHARGER = join(projectRoot, 'dist', 'test', 'accounts', 'ledger-charger.js');

interface Charging {
  readonly path: string;
  readonly now: number;
  readonly charges: number;
  /** Milliseconds between two charges. */
  readonly gapMs?: number;
  /** Milliseconds for which the process is busy after each transaction, so that commits are reported late. */
  readonly busyMs?: number;
}

const chargerArgs = ({ path, now, charges, gapMs = 0, busyMs = 0 }: Charging): string[] =>
  [CHARGER, path, now, 'a', charges, gapMs, busyMs].map(String);

/** Charges account `a` in another process, blocks until it ends, and returns the number of charges that succeeded. */
function chargeInOtherProcess(charging: Charging): number {
  const { stdout, stderr } = spawnSync(process.execPath, chargerArgs(charging), {
    input: 'go',
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return Number(stdout.replace('ready', ''));
}

/** Does the same in several processes that start to charge at once. */
async function chargeInOtherProcesses(processes: number, charging: Charging): Promise<number> {
  const chargers = Array.from({ length: processes }, () => {
    const child = spawn(process.execPath, chargerArgs(charging), { stdio: ['pipe', 'pipe', 'inherit'] });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    return { child, ready: once(child.stdout, 'data'), closed: once(child, 'close'), out: () => out };
  });
  await Promise.all(chargers.map(({ ready }) => ready));
  for (const { child } of chargers) child.stdin.end('go');
  await Promise.all(chargers.map(({ closed }) => closed));
  return chargers.reduce((sum, { out }) => sum + Number(out().replace('ready', '')), 0);
}

/**
 * Commits a charge to account `a`, and runs `work` when the charge is on the disk, or waits for it there, but is not reported yet: the
 * report comes in a later phase of the event loop.
 */
async function chargeAnd(ledger: EmbeddedLedger, amount: number, work: () => void): Promise<void> {
  let isReported = false;
  let commit: Promise<unknown> = Promise.resolve();
  const worked = new Promise<void>((resolve, reject) => {
    const workInTime = () => {
      try {
        expect(isReported).toBe(false);
        work();
        resolve();
      } catch (error) {
        reject(error);
      }
    };
    const answer = (): Buffer => {
      setImmediate(workInTime);
      return Buffer.alloc(0);
    };
    commit = ledger.commit(ledger.reserve('a', amount), chargeOf(amount, { answer })).then(() => {
      isReported = true;
    });
  });
  await Promise.all([worked, commit]);
}

ledgerConformance('LMDB', async () => {
  const folder = tempFolder();
  const world = {
    now: 0,
    freeCredits: 10,
    open: () => openAt(join(folder.path, 'ledger.mdb'), world),
    dispose: async () => folder.remove(),
  };
  return world;
});

describe('the ledger on LMDB', () => {
  const newWorld = () => {
    const folder = tempFolder();
    const world = { now: Date.UTC(2026, 10, 21), freeCredits: 10 };
    const path = join(folder.path, 'ledger.mdb');
    return { folder, world, path, open: () => openAt(path, world) };
  };

  it('never spends a credit twice if one file is opened twice', async () => {
    const { folder, open } = newWorld();
    const [one, two] = [open(), open()];
    await one.book({ accountId: 'a', type: 'GRANT', amount: 90, reference: null });
    await new Promise((resolve) => setImmediate(resolve));
    expect(two.balance('a').balance).toBe(100);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, async (_, position) => {
        await sleep(position % 7);
        const ledger = position % 2 === 0 ? one : two;
        return ledger.commit(ledger.reserve('a', 1), chargeOf(1));
      }),
    );
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(100);
    await new Promise((resolve) => setImmediate(resolve));
    expect([one.balance('a'), two.balance('a')]).toMatchObject([{ balance: 0 }, { balance: 0 }]);
    expect((await one.verify()).faults).toEqual([]);
    await Promise.all([one.close(), two.close()]);
    folder.remove();
  });

  it('never spends a credit twice in two processes', async () => {
    const { folder, world, path, open } = newWorld();
    const ledger = open();
    await ledger.book({ accountId: 'a', type: 'GRANT', amount: 90, reference: null });
    const charging = { path, now: world.now, charges: 150, gapMs: 1, busyMs: 2 };
    expect(await chargeInOtherProcesses(2, charging)).toBe(100);
    expect(ledger.balance('a').balance).toBe(0);
    expect((await ledger.verify()).faults).toEqual([]);
    await ledger.close();
    folder.remove();
  });

  it('keeps charges of another process made before a commit resolves', async () => {
    const { folder, world, path, open } = newWorld();
    const ledger = open();
    await ledger.book({ accountId: 'a', type: 'GRANT', amount: 90, reference: null });
    await chargeAnd(ledger, 1, () => {
      expect(chargeInOtherProcess({ path, now: world.now, charges: 98 })).toBe(98);
      expect(ledger.balance('a').balance).toBe(1);
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(ledger.balance('a').balance).toBe(1);
    expect((await ledger.commit(ledger.reserve('a', 1), chargeOf(1))).remaining).toBe(0);
    expect(() => ledger.reserve('a', 1)).toThrow('has 0 available');
    expect((await ledger.verify()).faults).toEqual([]);
    await ledger.close();
    folder.remove();
  });

  it('does not count spent credits as held before their commit resolves', async () => {
    const { folder, world, path, open } = newWorld();
    const ledger = open();
    await ledger.book({ accountId: 'a', type: 'GRANT', amount: 90, reference: null });
    await chargeAnd(ledger, 60, () => {
      // The charge of the other process comes after ours, so ours is on the disk.
      expect(chargeInOtherProcess({ path, now: world.now, charges: 1 })).toBe(1);
      expect(ledger.balance('a')).toMatchObject({ balance: 39, held: 0 });
      ledger.release(ledger.reserve('a', 39));
      expect(() => ledger.reserve('a', 40)).toThrow('has 39 available');
    });
    expect(ledger.balance('a')).toMatchObject({ balance: 39, held: 0 });
    await ledger.close();
    folder.remove();
  });

  it('finds every account after a crash with an index that lags', async () => {
    const { folder, open } = newWorld();
    const ledger = open();
    const accounts = 3_000;
    const rounds = Math.ceil((ACCOUNT_LIMITS.ledgerIndexLagMax * 1.2) / accounts);
    for (let round = 0; round < rounds; round++) {
      await Promise.all(
        Array.from({ length: accounts }, (_, account) =>
          ledger.book({ accountId: `a${account}`, type: 'GRANT', amount: round + 1, reference: null }),
        ),
      );
    }
    // A second instance reads the state that a process which dies now would leave.
    const after = open();
    const expected = 10 + (rounds * (rounds + 1)) / 2;
    for (const account of [0, 1, 1_234, accounts - 1])
      expect(after.balance(`a${account}`).balance).toBe(expected);
    expect((await after.verify()).faults).toEqual([]);
    await after.close();
    await ledger.close();
    const again = open();
    expect(again.balance('a77').balance).toBe(expected);
    expect(await again.verify()).toMatchObject({ accounts, faults: [] });
    await again.close();
    folder.remove();
  });

  it('finds the accounts of the transaction that began to write the index, after a crash', async () => {
    const { folder, open } = newWorld();
    const ledger = open();
    // Each has two entries: its free credits, and those of the booking.
    const accounts = ACCOUNT_LIMITS.ledgerIndexLagMax / 2 + ACCOUNT_LIMITS.ledgerBatchMax;
    await Promise.all(
      Array.from({ length: accounts }, (_, account) =>
        ledger.book({ accountId: `a${account}`, type: 'GRANT', amount: 90, reference: null }),
      ),
    );
    // Each is a transaction without an entry that writes a slice, until the index is whole.
    for (let at = 0; at < accounts / ACCOUNT_LIMITS.ledgerIndexSliceMax; at++)
      await expect(ledger.refund('a0', 'unknown')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const after = open();
    const balances = Array.from({ length: accounts }, (_, account) => after.balance(`a${account}`).balance);
    expect(new Set(balances)).toEqual(new Set([100]));
    await after.close();
    await ledger.close();
    folder.remove();
  });

  it('evicts no account from a full memory before it is indexed', async () => {
    const { folder, open } = newWorld();
    const ledger = open();
    // More than two slices of the index.
    const accounts = ACCOUNT_LIMITS.ledgerIndexSliceMax * 3;
    await Promise.all(
      Array.from({ length: accounts }, (_, account) =>
        ledger.book({ accountId: `a${account}`, type: 'GRANT', amount: 90, reference: null }),
      ),
    );
    for (let account = 0; account <= ACCOUNT_LIMITS.ledgerHeadsMax; account++)
      ledger.balance(`read${account}`);
    // Each is a transaction without an entry that writes a slice.
    for (let slice = 0; slice < 4; slice++)
      await expect(ledger.refund('a0', 'unknown')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const balances = Array.from({ length: accounts }, (_, account) => ledger.balance(`a${account}`).balance);
    expect(new Set(balances)).toEqual(new Set([100]));
    expect((await ledger.verify()).faults).toEqual([]);
    await ledger.close();
    folder.remove();
  });

  it('settles an event for the account that it belongs to only', async () => {
    const { folder, open } = newWorld();
    const ledger = open();
    const settle = (accountId: string) =>
      ledger.settle({ accountId, type: 'SCREENING', once: 'job:1', total: 3, reference: null });
    await settle('a');
    await expect(settle('b')).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(ledger.balance('b').balance).toBe(10);
    await ledger.close();
    folder.remove();
  });

  it('names a changed and a missing entry in verify', async () => {
    const { folder, open, path } = newWorld();
    const ledger = open();
    for (let position = 0; position < 5; position++) await ledger.commit(ledger.reserve('a', 1), chargeOf(1));
    await ledger.close();
    const root = openEnvironment(path, { maxDbs: 8, noSubdir: true });
    const entries = root.openDB<Buffer, number>({
      name: 'entries',
      encoding: 'binary',
      keyEncoding: 'uint32',
    });
    const changed = Buffer.from(entries.get(3) as Buffer);
    changed.writeDoubleLE(-2, 24);
    await entries.put(3, changed);
    await entries.remove(5);
    await root.close();
    const after = open();
    const { faults } = await after.verify();
    expect(faults[0]).toContain("Entry 000000000003 of 'a' has balance");
    expect(faults.join()).toContain('Entry 000000000005 is missing or damaged.');
    await after.close();
    folder.remove();
  });

  it('rejects a store of another format, and does not change it', async () => {
    const { folder, open, path } = newWorld();
    await open().close();
    const root = openEnvironment(path, { maxDbs: 8, noSubdir: true });
    await root.openDB<number, string>({ name: 'meta', encoding: 'json' }).put('formatVersion', 99);
    await root.close();
    expect(open).toThrow('format version 99');
    folder.remove();
  });

  it('reports a folder that cannot be created', () => {
    expect(() => openAt('/dev/null/ledger.mdb', { now: 0, freeCredits: 0 })).toThrow();
  });
});
