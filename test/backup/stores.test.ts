/** Backups of every kind of store, filled as a server fills them: verification reads every counted record and names every lost one. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { type BackupReport, backUp, verifyBackup } from '../../src/backup/backup.ts';
import { digestDatabases } from '../../src/backup/digests.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { buildClusters } from '../../src/graph/cluster/build.ts';
import { createLiveIngest } from '../../src/graph/ingest/live.ts';
import { openTransferStore } from '../../src/graph/store.ts';
import { openOutputsStore } from '../../src/graph/utxo/outputs-store.ts';
import { openFetchedStore } from '../../src/screening/fetched-store.ts';
import { type Database, openEnvironment, type RootDatabase } from '../../src/state/lmdb.ts';
import { ask, newWorld, type World } from '../e2e/program.ts';
import { bech32Address } from '../graph/cluster/addresses.ts';
import { Numbering, sourceOf } from '../graph/cluster/numbered.ts';
import { pays, transaction } from '../graph/cluster/transactions.ts';

/** More than one byte can number, and more than one page holds. */
const MANY = 700;

const addressOf = (number: number): string =>
  parseAddress('ETH', `0x${(number + 1).toString(16).padStart(40, '0')}`).canonical;

function blockOf(height: number, branch: string, transfers: number): Block {
  const timestampMs = Date.UTC(2026, 0, 1) + height * 12_000;
  const made = Array.from({ length: transfers }, (_, index): Transfer => {
    const number = height * 40 + index;
    const mark = Buffer.from(branch).toString('hex');
    return {
      chain: 'ETH',
      txHash: `0x${mark}${number.toString(16).padStart(64 - mark.length, '0')}`,
      position: 'value',
      blockNumber: height,
      timestampMs,
      from: addressOf(number % MANY),
      to: addressOf((number * 31 + 7) % MANY),
      asset: 'ETH',
      amount: BigInt(number),
      decimals: 18,
      valueUsd: number,
    };
  });
  return { chain: 'ETH', height, hash: `${branch}${height}`, parentHash: null, timestampMs, transfers: made };
}

/** Follows a chain for 60 blocks, replaces the last four, and reverts one more block at the end. */
async function followChain(store: string): Promise<void> {
  const transfers = openTransferStore({ path: join(store, 'transfers'), readOnly: false });
  const ingest = createLiveIngest({
    transfers,
    outputs: () => {
      throw new Error('this test has no UTXO chain');
    },
  });
  for (let height = 1; height <= 60; height++) await ingest.append(blockOf(height, 'a', 40));
  for (const height of [60, 59, 58, 57]) await ingest.revert('ETH', height);
  for (let height = 57; height <= 62; height++) await ingest.append(blockOf(height, 'b', 40));
  await ingest.revert('ETH', 62);
  await transfers.close();
}

async function takeOutputs(store: string): Promise<void> {
  const outputs = openOutputsStore({ path: join(store, 'outputs'), readOnly: false });
  const reward = (n: number) => ({
    ...transaction({
      inputs: [],
      outputs: [pays(bech32Address(n), 50)],
      blockNumber: n + 1,
      isCoinbase: true,
    }),
    indexInBlock: 0,
  });
  outputs.put(
    'BTC',
    Array.from({ length: MANY }, (_, n) => ({
      height: n + 1,
      hash: `h${n + 1}`,
      parentHash: `h${n}`,
      timestampMs: n * 600_000,
      transactions: [reward(n)],
    })),
  );
  await outputs.close();
}

const clusterPairs = (store: string): Promise<unknown> =>
  buildClusters(
    { chain: 'BTC', folder: join(store, 'clusters'), completeHistory: false },
    {
      clock: systemClock,
      source: sourceOf(
        Array.from({ length: MANY }, (_, n) =>
          transaction({
            inputs: [pays(bech32Address(2 * n), 7_000), pays(bech32Address(2 * n + 1), 7_000)],
            outputs: [pays(bech32Address(90_000), 9_000)],
          }),
        ),
        new Numbering(),
      ),
    },
  );

let world: World;
let store: string;
let folder: string;
let report: BackupReport;

beforeAll(async () => {
  world = newWorld();
  store = join(world.folder, 'store');
  const server = await world.serve();
  const key = server.firstKey;
  const ok = async (path: string, body?: unknown): Promise<void> => {
    const answer = await ask(server, key, path, body);
    expect([200, 201, 202], JSON.stringify(answer.body)).toContain(answer.status);
  };
  await ok('/api/v1/entity/0xbe0eb53f46cd790cd13851d5eff43d12404d33e8');
  for (let n = 0; n < 3; n++)
    await ok('/api/v1/monitoring/wallets', {
      walletAddress: addressOf(n),
      chain: 'ETH',
      label: `wallet ${n}`,
    });
  const job = await fetch(`${server.url}/api/v1/jobs?kind=labels&chain=ETH`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'text/csv' },
    body: Array.from({ length: 20 }, (_, n) => `${addressOf(n)}\n`).join(''),
  });
  expect(job.ok, await job.text()).toBe(true);
  await server.stop();
  const made = await world.run(['keys', 'create', '--name', 'another']);
  expect(made.code, made.err).toBe(0);
  const ledger = openLedger(
    { path: join(store, 'accounts', 'ledger.mdb') },
    { clock: systemClock, log: silentLogger, freeCredits: () => 10 },
  );
  for (let n = 0; n < MANY; n++)
    await ledger.book({ accountId: `a${n % 9}`, type: 'GRANT', amount: 5, reference: `gift ${n}` });
  await ledger.close();
  await followChain(store);
  await takeOutputs(store);
  await clusterPairs(store);
  const fetched = openFetchedStore({ path: join(store, 'fetched.lmdb') });
  await fetched.close();
  folder = join(world.folder, 'backup');
  report = await backUp({ dataDir: store, folder }, { clock: systemClock });
});
afterAll(() => world.end());

const stores = () => report.files.filter(({ kind }) => kind === 'lmdb');

/** Changes one file of a copy of the backup as another program would, and returns the result of the verification. */
async function afterChange(path: string, change: (root: RootDatabase) => void): Promise<string> {
  const spoilt = mkdtempSync(join(tmpdir(), 'assay-spoilt-'));
  try {
    cpSync(folder, spoilt, { recursive: true });
    const root = openEnvironment(join(spoilt, path), { noSubdir: true, maxDbs: 64 });
    change(root);
    await root.close();
    return await verifyBackup(spoilt).then(
      () => 'sound',
      (error: Error) => error.message,
    );
  } finally {
    rmSync(spoilt, { recursive: true });
  }
}

const bytesOf = (root: RootDatabase, name: string): Database<Buffer, number> =>
  root.openDB<Buffer, number>({ name, encoding: 'binary', keyEncoding: 'uint32' });

describe('a backup of every kind of store', () => {
  it('has integer keys of more than one byte, reverted blocks and pending deltas', () => {
    const counts = new Map(
      stores().flatMap(({ path, databases = [] }) =>
        databases.map(({ name, entries }) => [`${path}:${name}`, entries] as const),
      ),
    );
    for (const name of ['keys', 'deltas'])
      expect(counts.get(`transfers/eth.mdb:${name}`)).toBeGreaterThan(255);
    for (const name of ['addresses', 'transactions'])
      expect(counts.get(`outputs/btc-outputs.mdb:${name}`)).toBeGreaterThan(255);
    expect(counts.get('accounts/ledger.mdb:entries')).toBeGreaterThan(255);
    expect([...counts.values()]).toContain(0);
    const tops = new Set(stores().map(({ path }) => path.replace(/[/.].*/, '')));
    expect(tops).toEqual(
      new Set([
        ...[
          'accounts',
          'cases',
          'clusters',
          'fetched',
          'invoices',
          'jobs',
          'log',
          'monitoring',
          'outputs',
          'receipts',
          'screenings',
        ],
        'transfers',
      ]),
    );
  });

  it('verifies, and reads every entry that its databases count', async () => {
    const verified = await verifyBackup(folder);
    const counted = stores().flatMap(({ databases = [] }) => databases.map(({ entries }) => entries));
    expect(verified.environments).toBe(stores().length);
    expect(verified.entries).toBe(counted.reduce((sum, entries) => sum + entries, 0));
    const printed = await world.run(['backup', folder, '--verify']);
    expect(printed.code, printed.err).toBe(0);
    expect(printed.out).toContain(`${verified.entries} entries of ${verified.environments} stores`);
  });

  it('leaves no files of its own beside the data', () => {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => name.endsWith('-lock'))).toEqual([]);
  });

  it('taken by an earlier release, without digests, verifies', async () => {
    const earlier = mkdtempSync(join(tmpdir(), 'assay-earlier-'));
    cpSync(folder, earlier, { recursive: true });
    const files = report.files.map(({ databases: _, ...file }) => file);
    writeFileSync(join(earlier, 'BACKUP.json'), JSON.stringify({ ...report, files }));
    expect((await verifyBackup(earlier)).entries).toBe((await verifyBackup(folder)).entries);
    rmSync(earlier, { recursive: true });
  });

  it('that lost an entry is rejected with the store and the database', async () => {
    for (const [path, database] of [
      ['transfers/eth.mdb', 'deltas'],
      ['outputs/btc-outputs.mdb', 'addresses'],
      ['accounts/ledger.mdb', 'entries'],
    ] as const) {
      const message = await afterChange(path, (root) => {
        const rows = bytesOf(root, database);
        const [last] = [...rows.getKeys({ reverse: true, limit: 1, start: undefined as never })];
        rows.removeSync(last as number);
      });
      expect(message).toContain(path);
      expect(message).toMatch(new RegExp(`database '${database}' has \\d+ of \\d+ entries`));
    }
  });

  it('with a changed entry is rejected with the store and the database', async () => {
    const message = await afterChange('transfers/eth.mdb', (root) => {
      bytesOf(root, 'keys').putSync(300, Buffer.from('another'));
    });
    expect(message).toMatch(/transfers\/eth\.mdb .*database 'keys' has entries that were altered/);
    const jobs = await afterChange('jobs.mdb', (root) => {
      const rows = root.openDB<unknown, string>({ name: 'jobs', encoding: 'json' });
      for (const { key } of [...rows.getRange()]) rows.putSync(key, { forged: true });
    });
    expect(jobs).toMatch(/jobs\.mdb .*database 'jobs' has entries that were altered/);
  });

  it('with an added or missing database is rejected with its name', async () => {
    expect(await afterChange('jobs.mdb', (root) => root.openDB({ name: 'more' }).putSync('a', 1))).toContain(
      "database 'more' was added",
    );
    expect(await afterChange('jobs.mdb', (root) => root.openDB({ name: 'claims' }).dropSync())).toContain(
      "database 'claims' is missing",
    );
  });

  it('with a file that crashes its reader is rejected with a sentence', async () => {
    const spoilt = mkdtempSync(join(tmpdir(), 'assay-spoilt-'));
    cpSync(folder, spoilt, { recursive: true });
    const path = join(spoilt, 'transfers/eth.mdb');
    const bytes = readFileSync(path);
    // The header declares pages that the file does not have.
    writeFileSync(path, bytes.subarray(0, 3 * 4_096));
    await expect(verifyBackup(spoilt)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringContaining('transfers/eth.mdb'),
    });
    rmSync(spoilt, { recursive: true });
  });
});

it('copies what payments have changed in the order in which a restored server repeats it', async () => {
  const names = ['payment-watch', 'invoices', 'authorized-payments', 'accounts/payments', 'accounts/ledger'];
  for (const made of [names, names.toReversed()]) {
    const folder = mkdtempSync(join(tmpdir(), 'assay-order-'));
    const dataDir = join(folder, 'data');
    for (const name of [...made, 'wallets', 'accounts/keys']) {
      mkdirSync(dirname(join(dataDir, name)), { recursive: true });
      const root = openEnvironment(join(dataDir, `${name}.mdb`), { noSubdir: true, maxDbs: 16 });
      await root.openDB<string, string>({ name: 'one' }).put('key', 'value');
      await root.close();
    }
    const copied: string[] = [];
    const onProgress = ({ path }: { readonly path: string }): number => copied.push(path);
    await backUp({ dataDir, folder: join(folder, 'backup'), onProgress }, { clock: systemClock });
    expect(copied.slice(-names.length)).toEqual(names.map((name) => `${name}.mdb`));
    expect(copied.slice(0, -names.length).toSorted()).toEqual(['accounts/keys.mdb', 'wallets.mdb']);
    rmSync(folder, { recursive: true });
  }
});

describe('the digest of a store', () => {
  let path = '';
  beforeAll(() => {
    path = join(mkdtempSync(join(tmpdir(), 'assay-digest-')), 'one.mdb');
  });
  afterAll(() => rmSync(join(path, '..'), { recursive: true }));

  it('reads databases of every kind: integer keys, duplicates, shared structures, none at all', async () => {
    const root = openEnvironment(path, { noSubdir: true, maxDbs: 16 });
    const numbers = root.openDB<string, number>({ name: 'numbers', keyEncoding: 'uint32' });
    const duplicates = root.openDB<string, string>({
      name: 'duplicates',
      dupSort: true,
      encoding: 'ordered-binary',
    });
    const structures = root.openDB<object, string>({
      name: 'structures',
      sharedStructuresKey: Symbol.for('s'),
    });
    root.openDB({ name: 'empty' });
    root.transactionSync(() => {
      for (const number of [0, 1, 255, 256, 65_536, 2 ** 32 - 1]) numbers.putSync(number, `n${number}`);
      for (const value of ['x', 'y', 'z']) duplicates.putSync('key', value);
      for (let n = 0; n < 40; n++) structures.putSync(`k${n}`, { one: n, two: n });
    });
    await root.close();
    const found = await digestDatabases(path);
    const counts = Object.fromEntries(found.map(({ name, entries }) => [name, entries]));
    expect(counts).toMatchObject({ numbers: 6, duplicates: 3, empty: 0 });
    expect(counts.structures).toBeGreaterThanOrEqual(40);
    expect(await digestDatabases(path)).toEqual(found);
    expect(existsSync(`${path}-lock`)).toBe(false);
  });

  it('ends when it is interrupted', async () => {
    const root = openEnvironment(path, { noSubdir: true, maxDbs: 16 });
    const many = root.openDB<string, number>({ name: 'many', keyEncoding: 'uint32' });
    root.transactionSync(() => {
      for (let n = 0; n < 10_000; n++) many.putSync(n, 'x');
    });
    await root.close();
    await expect(digestDatabases(path, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });
});
