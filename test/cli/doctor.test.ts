/** `assay doctor`: what it finds on a machine, in a folder and at servers, and what it says to do. */

import { generateKeyPairSync, X509Certificate } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  clockFindings,
  fileLimitFinding,
  lmdbFinding,
  signerFinding,
  spaceFinding,
  tlsFinding,
} from '../../src/app/doctor/machine.ts';
import { priceFindings, pricesOfCoins } from '../../src/app/doctor/prices.ts';
import { attributionFileOf, attributionFolderOf } from '../../src/attribution/store.ts';
import { openFilesLimit } from '../../src/base/open-files.ts';
import { projectRoot } from '../../src/base/paths.ts';
import type { Finding } from '../../src/cli/doctor.ts';
import type { Config } from '../../src/config/config.ts';
import { labelsFolderOf, snapshotsFolderOf } from '../../src/labels/folders.ts';
import { type ListCheck, readListChecks, writeListChecks } from '../../src/labels/freshness.ts';
import { emptyList, type ReadList, withFile } from '../../src/labels/sanctions.ts';
import { openLabelStore } from '../../src/labels/store.ts';
import { LISTS } from '../../src/sources/lists.ts';
import { readJson, writeJsonAtomically } from '../../src/state/atomic-file.ts';
import { type InstallationRecord, RECORD_FILE } from '../../src/state/installation-record.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { newWorld } from '../e2e/program.ts';
import { startAnvil } from '../setup/anvil.ts';
import { hasRedis, startRedis } from '../setup/redis.ts';
import { runCommand } from './run-command.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-doctor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Report {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

async function examined(dataDir: string, environment: Record<string, string> = {}) {
  const { code, out, err } = await runCommand(dataDir, ['doctor', '--json'], environment);
  const report = JSON.parse(out) as Report;
  const of = (check: string): readonly Finding[] => report.findings.filter((one) => one.check === check);
  return { code, err, report, of };
}

describe('assay doctor in a new folder', () => {
  const dataDir = join(folder, 'new');

  it('names the lists to load, fails, and creates nothing', async () => {
    const { code, err, report, of } = await examined(dataDir);
    expect(code).toBe(1);
    expect(err).toMatch(/^assay: lists: The OFAC_SDN sanctions list was never loaded\.\n$/);
    expect(report.ok).toBe(false);
    expect(of('lists')).toContainEqual({
      check: 'lists',
      state: 'problem',
      text: 'The UN sanctions list was never loaded.',
      advice: expect.stringMatching(/^Run `assay sync un`; without a network run `assay import un FILE/),
    });
    expect([...new Set(report.findings.map(({ check }) => check))]).toEqual([
      ...['settings', 'server', 'disk', 'stores', 'lists', 'nodes', 'redis', 'clock', 'files', 'lmdb'],
    ]);
    for (const { state, advice } of report.findings) expect(advice === null).toBe(state === 'ok');
    expect(existsSync(dataDir)).toBe(false);
  });

  it('is readable without --json: one line for each finding, its advice below it', async () => {
    const { out } = await runCommand(dataDir, ['doctor']);
    expect(out).toMatch(/^ok {7}settings {2}All settings are valid\.$/m);
    expect(out).toMatch(
      /^PROBLEM {2}lists {5}The EU sanctions list was never loaded\.\n {19}-> Run `assay sync eu`/m,
    );
    expect(out).toMatch(/\d+ of \d+ findings need action\.\n$/);
  });

  it('names a list whose wallets are in force because of unreadable rows', async () => {
    const dataDir = join(folder, 'held-back');
    const of = (month: number, entries: ReadList['entries'], unreadable: ReadList['unreadable'] = []) => ({
      ...{
        list: 'EU' as const,
        publishedAt: `2026-0${month}-01`,
        contentHash: `file ${month}`,
        layout: 'xml',
      },
      ...{ whole: true, parties: new Set(['p1', 'p2']), entries, unreadable },
    });
    const wallet = {
      ...{ entityId: 'p1', chain: 'ETH' as const, key: '01', address: '0x01' },
      details: {
        ...{ entityName: 'Firm', program: null, jurisdiction: null, listedAt: null, delistedAt: null },
        currencies: [],
      },
    };
    const before = withFile(emptyList('EU'), of(1, [wallet]), {
      force: false,
    });
    const state = withFile(before, of(2, [], [{ entityId: 'p1', hash: 'a' }]), { force: false });
    mkdirSync(dataDir);
    await openLabelStore({ dataDir }).locked(async (writer) =>
      writer.commit({ at: '2026-02-01', lists: [state] }),
    );
    const { findings } = (await examined(dataDir)).report;
    expect(findings).toContainEqual({
      check: 'lists',
      state: 'warning',
      text: 'Wallets of EU in force that its newest file lacks: 1. The file has unreadable rows in their place.',
      advice: expect.stringContaining('--force'),
    });
  });

  it.each([
    [{ ASSAY_PORT: 'eighty' }, /^ASSAY_PORT: must be a whole number/],
    [{ ASSAY_TOKENS_FILE: '/nowhere.csv' }, /^ASSAY_TOKENS_FILE: \/nowhere\.csv is not a file/],
    [{ ASSAY_ENTITY_PARTIES: '/nowhere.json' }, /^ASSAY_ENTITY_PARTIES: nowhere\.json: cannot be read/],
    [{ ASSAY_PAYMENT_KEY_BTC: 'xprv' }, /^ASSAY_PAYMENT_KEY_BTC: /],
    [{ ASSAY_PAYMENT_ADDRESS_SOL: 'none' }, /^ASSAY_PAYMENT_ADDRESS_SOL: not a valid Solana address/],
    [{ ASSAY_X402_CHAINS: 'BASE' }, /^ASSAY_X402_CHAINS: needs ASSAY_RPC_BASE/],
    [{ ASSAY_ROLES: 'api' }, /^ASSAY_ROLES leaves out worker, listener, delivery: needs ASSAY_REDIS_URL/],
  ])('reports the setting %j', async (environment, text) => {
    const { code, of } = await examined(dataDir, environment as Record<string, string>);
    expect(code).toBe(1);
    expect(of('settings')).toMatchObject([{ state: 'problem', text: expect.stringMatching(text) }]);
  });

  it('reports a folder that cannot be written', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const { of } = await examined(join(file, 'store'));
    expect(of('disk')).toMatchObject([
      {
        state: 'problem',
        text: expect.stringContaining('ASSAY_DATA_DIR'),
        advice: expect.stringContaining('ASSAY_DATA_DIR'),
      },
    ]);
  });

  it('reports a Redis and nodes that do not answer', async () => {
    const environment = { ASSAY_REDIS_URL: 'redis://127.0.0.1:1', ASSAY_RPC_ETH: 'http://127.0.0.1:1' };
    const { of } = await examined(dataDir, environment);
    expect(of('redis')).toMatchObject([
      {
        state: 'problem',
        text: expect.stringContaining('127.0.0.1:1'),
        advice: expect.stringContaining('ASSAY_REDIS_URL'),
      },
    ]);
    expect(of('nodes')).toMatchObject([
      {
        state: 'problem',
        text: expect.stringMatching(/^ETH: /),
        advice: expect.stringContaining('ASSAY_RPC_ETH'),
      },
    ]);
  });
});

describe.runIf(hasRedis)('assay doctor with a Redis and a node', () => {
  const dataDir = join(folder, 'new');

  it('reads the clock of both, and accepts them', async () => {
    const [redis, anvil] = await Promise.all([startRedis(), startAnvil()]);
    try {
      await anvil.mine(1);
      const { of } = await examined(dataDir, { ASSAY_REDIS_URL: redis.url, ASSAY_RPC_ETH: anvil.url });
      expect(of('redis')).toMatchObject([{ state: 'ok', text: 'Redis answers and keeps its data.' }]);
      expect(of('nodes')).toMatchObject([
        { state: 'ok', text: expect.stringMatching(/^ETH: .* has block 1\.$/) },
      ]);
      expect(of('clock')).toMatchObject([
        { state: 'ok', text: expect.stringContaining('plausible by the newest block of ETH, Redis') },
      ]);
    } finally {
      await Promise.all([redis.stop(), anvil.stop()]);
    }
  });

  it('reports a Redis that may lose data, and one without its replica', async () => {
    const losing = await startRedis(['--appendonly', 'no']);
    const alone = await startRedis();
    try {
      const loss = await examined(dataDir, { ASSAY_REDIS_URL: losing.url });
      expect(loss.of('redis')).toMatchObject([
        { state: 'problem', text: expect.stringContaining('set appendonly yes') },
      ]);
      const environment = { ASSAY_REDIS_URL: alone.url, ASSAY_REDIS_REPLICAS: '1' };
      expect((await examined(dataDir, environment)).of('redis')).toMatchObject([
        {
          state: 'problem',
          text: expect.stringMatching(/^too few Redis replicas/),
          advice: expect.stringContaining('ASSAY_REDIS_REPLICAS'),
        },
      ]);
    } finally {
      await Promise.all([losing.stop(), alone.stop()]);
    }
  });
});

describe('assay doctor in a folder in use', () => {
  const world = newWorld();
  const dataDir = join(world.folder, 'store');
  afterAll(() => world.end());
  beforeAll(async () => {
    const own = join(world.folder, 'own.csv');
    writeFileSync(
      own,
      'address,chain,entity,category\n0x28C6c06298d514Db089934071355E5743bf21d60,ETH,b,EXCHANGE\n',
    );
    for (const args of [
      ['import', 'own', own],
      ['index', 'build'],
      ['keys', 'create', '--name', 'one'],
    ])
      expect(await runCommand(dataDir, args)).toMatchObject({ code: 0 });
    const now = new Date().toISOString();
    const check = {
      publishedAt: now.slice(0, 10),
      checkedAt: now,
      checkedBy: 'DOWNLOAD',
      records: 1,
    } as const;
    writeListChecks(labelsFolderOf(dataDir), Object.fromEntries(LISTS.ids.map((list) => [list, check])));
  });

  it('finds nothing to do, with a server beside it', async () => {
    const server = await world.serve();
    const { out } = await world.run(['doctor', '--json']);
    const { findings } = JSON.parse(out) as Report;
    expect(findings.filter(({ check }) => check === 'server')).toMatchObject([
      { text: expect.stringContaining(`Process ${server.pid} on host `) },
    ]);
    const wrong = findings.filter(
      ({ state, check }) => state === 'problem' && !['disk', 'files'].includes(check),
    );
    expect(wrong).toEqual([]);
    expect(findings.find(({ check }) => check === 'files')?.text).toMatch(/^The server may open/);
    expect(await server.stop()).toBe(0);
  });

  it('warns of the end of the key that signs verdicts, as the metrics of a server do', async () => {
    await runCommand(dataDir, ['oracle', 'signer', '--new', '--days', '13']);
    const { of } = await examined(dataDir);
    expect(of('signer')).toEqual([
      {
        check: 'signer',
        state: 'warning',
        text: expect.stringMatching(/^The key 0x[0-9a-fA-F]{40} signs verdicts for contracts until /),
        advice: expect.stringContaining('assay oracle signer --new'),
      },
    ]);
    const server = await world.serve();
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    const left = /^assay_verdict_key_seconds_left\{signer="0x[0-9a-fA-F]{40}"\} (\d+)/m.exec(metrics)?.[1];
    expect(Number(left) / 86_400).toBeCloseTo(13, 1);
    expect(await server.stop()).toBe(0);
  });

  it('warns of a list whose file is unusually old, as a server does, although it was checked now', async () => {
    const folder = labelsFolderOf(dataDir);
    const before = readListChecks(folder);
    writeListChecks(folder, { EU: { ...(before.EU as ListCheck), publishedAt: '2018-10-04' } });
    const { of } = await examined(dataDir);
    expect(of('lists').map(({ state }) => state)).toEqual(['ok', 'warning']);
    expect(of('lists')[1]?.text).toMatch(
      /^The EU sanctions list that is loaded was published on 2018-10-04; /,
    );
    const server = await world.serve();
    const { data } = (await (await fetch(`${server.url}/ready`)).json()) as {
      data: { lists: { list: string; publicationOld: boolean; stale: boolean }[] };
    };
    expect(data.lists.filter((list) => list.publicationOld)).toMatchObject([{ list: 'EU', stale: false }]);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain('assay_sanctions_list_publication_old{list="EU"} 1');
    expect(metrics).toContain('assay_sanctions_list_publication_old{list="UN"} 0');
    expect(await server.stop()).toBe(0);
    writeListChecks(folder, before);
  });

  it('names clusters and derived labels of another version, and the commands that build them again', async () => {
    const pointer = join(dataDir, 'clusters', 'BTC', 'current.json');
    mkdirSync(dirname(pointer), { recursive: true });
    writeFileSync(pointer, '{"format":1}');
    const attributions = attributionFolderOf(dataDir);
    mkdirSync(attributions);
    const path = attributionFileOf(attributions, 'ETH');
    const root = openEnvironment(path, { maxDbs: 8, noSubdir: true });
    await root
      .openDB({ name: 'meta', encoding: 'msgpack' })
      .put('format', { name: 'assay-attribution', version: 1 });
    await root.close();
    const { of } = await examined(dataDir);
    expect(of('derived')).toEqual([
      {
        check: 'derived',
        state: 'problem',
        text: expect.stringMatching(/^The attributions \S+eth\.mdb has format version assay-attribution 1; /),
        advice: expect.stringMatching(/^Move \S+eth\.mdb away, and run `assay attribute ETH`\. /),
      },
      {
        check: 'derived',
        state: 'problem',
        text: expect.stringMatching(/^\S+current\.json has format version 1; /),
        advice: expect.stringMatching(/^Run `assay cluster BTC`, then `assay index build`\. /),
      },
    ]);
    rmSync(dirname(pointer), { recursive: true });
    rmSync(attributions, { recursive: true });
    expect((await examined(dataDir)).of('derived')).toEqual([]);
  });

  it('finds a clock that was set back since the first start', async () => {
    const path = join(dataDir, RECORD_FILE);
    const record = readJson(path) as InstallationRecord;
    const clockSince = async (ms: number): Promise<unknown> => {
      writeJsonAtomically(path, { ...record, createdAt: new Date(Date.now() + ms).toISOString() });
      return (await examined(dataDir)).of('clock').map(({ state }) => state);
    };
    expect([await clockSince(-86_400_000), await clockSince(3_600_000)]).toEqual([['ok'], ['problem']]);
    writeJsonAtomically(path, record);
  });

  it('says how to get a label index if there is none', async () => {
    const snapshots = snapshotsFolderOf(dataDir);
    renameSync(snapshots, `${snapshots}-aside`);
    expect((await examined(dataDir)).of('stores')).toMatchObject([
      {
        state: 'problem',
        text: 'There is no label index.',
        advice: expect.stringContaining('assay index build'),
      },
    ]);
    renameSync(`${snapshots}-aside`, snapshots);
    expect((await examined(dataDir)).of('stores')).toMatchObject([{ state: 'ok' }]);
  });

  it('names a damaged and a missing store, and what to do', async () => {
    truncateSync(join(dataDir, 'accounts', 'keys.mdb'), 5_000);
    rmSync(join(dataDir, 'accounts', 'audit.mdb'), { force: true });
    const { code, of } = await examined(dataDir);
    expect(code).toBe(1);
    expect(of('stores')).toContainEqual({
      check: 'stores',
      state: 'problem',
      text: expect.stringContaining('accounts/keys.mdb is damaged'),
      advice: expect.stringContaining('assay verify'),
    });
    const missing = of('stores').find(({ text }) => text.endsWith('is missing.'));
    expect(missing?.advice).toMatch(/`assay installation accept-loss accounts\/audit\.mdb`/);
  });
});

describe('findings', () => {
  const GIB = 2 ** 30;
  const space = { freeBytes: 500 * GIB, totalBytes: 1_000 * GIB, freeFiles: 1e6, totalFiles: 1e7 };

  it.each([
    [{}, 'ok'],
    [{ freeBytes: GIB - 1 }, 'problem'],
    [{ freeBytes: 5 * GIB }, 'warning'],
    [{ freeBytes: 5 * GIB, totalBytes: 20 * GIB }, 'ok'],
    [{ freeFiles: 9_999 }, 'problem'],
    [{ freeFiles: 0, totalFiles: 0 }, 'ok'],
  ])('judge a disk with %j: %s', (change, state) => {
    expect(spaceFinding('/data', { ...space, ...change }).state).toBe(state);
  });

  it('judge the age of the newest prices', () => {
    const now = Date.UTC(2027, 0, 10);
    const priceOf = (symbol: string, days: number) => ({
      symbol,
      price: { usd: 1, atMs: now - days * 86_400_000, status: 'LAST_KNOWN', source: 'shipped' } as const,
    });
    expect(priceFindings([], now)).toEqual([]);
    expect(priceFindings([priceOf('ETH', 31)], now)).toMatchObject([{ check: 'prices', state: 'ok' }]);
    const coins = [
      priceOf('ETH', 31),
      priceOf('BTC', 40),
      priceOf('LTC', 390),
      { symbol: 'FTM', price: null },
    ];
    expect(priceFindings(coins, now)).toMatchObject([
      {
        state: 'problem',
        text: 'No price of FTM is known: new transfers of it have no value.',
        advice: expect.stringContaining('assay sync prices'),
      },
      {
        state: 'warning',
        text: 'The newest prices are old: BTC (2026-12-01), LTC (2025-12-16). New transfers have no value from 2027-01-20 on.',
      },
    ]);
  });

  it('look for the prices of coins whose chains are configured or stored, also after years', () => {
    const config = (rpc: Record<string, string>) =>
      ({
        dataDir: join(folder, 'no-installation'),
        chains: { endpoints: { rpc, history: {} }, graphStores: {} },
      }) as unknown as Config;
    const at = (year: number) => ({ now: () => Date.UTC(year, 0, 1) });
    expect(pricesOfCoins(config({}), at(2027))).toEqual([]);
    const configured = config({ ETH: 'http://127.0.0.1:1', ARBITRUM: 'http://127.0.0.1:1' });
    expect(pricesOfCoins(configured, at(2027))).toMatchObject([
      { symbol: 'ETH', price: { source: 'shipped' } },
    ]);
    expect(pricesOfCoins(configured, at(2030))).toEqual([{ symbol: 'ETH', price: null }]);
  });

  it.each([
    [15, 'ok', 'signs verdicts for contracts until 2026-12-16'],
    [13, 'warning', 'signs verdicts for contracts until 2026-12-14'],
    [0, 'problem', 'ended on 2026-12-01'],
  ])('judge a key of verdicts with %i days left: %s', (days, state, text) => {
    const now = Date.UTC(2026, 11, 1);
    const endsAt = now / 1_000 + days * 86_400;
    const finding = signerFinding({ address: '0xabc', createdAt: 0, endsAt }, now);
    expect(finding).toMatchObject({ check: 'signer', state, text: expect.stringContaining(text) });
    expect(finding.advice === null).toBe(state === 'ok');
  });

  it.each([
    [1_024, 'problem'],
    [4_096, 'warning'],
    [65_536, 'ok'],
    [Number.POSITIVE_INFINITY, 'ok'],
    [null, 'ok'],
  ])('judge a limit of %s open files: %s', (limit, state) => {
    expect(fileLimitFinding(limit, 'The server').state).toBe(state);
  });

  it('judge the certificate of a server by its key, its time and its host', () => {
    const fileOf = (name: string): string => join(projectRoot, 'test', 'http', 'tls', name);
    const files = { keyFile: fileOf('key.pem'), certFile: fileOf('cert.pem') };
    const { validFrom, validTo } = new X509Certificate(readFileSync(files.certFile));
    const [start, end] = [Date.parse(validFrom), Date.parse(validTo)];
    const day = 86_400_000;
    const judge = (nowMs: number, host: string | null = null, more: Partial<typeof files> = {}): string => {
      const { check, state, text } = tlsFinding({ ...files, ...more }, host, nowMs);
      return `${check} ${state}: ${text}`;
    };
    expect(judge(end - 15 * day, 'localhost:8443')).toMatch(/^tls ok: The certificate is valid until 2/);
    expect(judge(end - 13 * day)).toMatch(/^tls warning: The certificate is valid until 2/);
    expect(judge(end + 1)).toMatch(/^tls problem: The certificate has expired on 2/);
    expect(judge(start - 1)).toMatch(/^tls problem: The certificate is not valid before 2/);
    expect(judge(start, 'assay.example.org')).toBe(
      'tls problem: The certificate is not valid for assay.example.org.',
    );
    expect([judge(start, '127.0.0.1:8443'), judge(start, '[::1]')]).toEqual([
      expect.stringMatching(/^tls ok/),
      'tls problem: The certificate is not valid for ::1.',
    ]);
    const binary = join(folder, 'cert.der');
    writeFileSync(binary, new X509Certificate(readFileSync(files.certFile)).raw);
    expect(judge(start, null, { certFile: binary })).toMatch(/cert\.der is not a certificate/);
    expect(judge(start, null, { certFile: files.keyFile })).toMatch(/key\.pem is not a certificate/);
    expect(judge(start, null, { keyFile: files.certFile })).toMatch(/cert\.pem is not a private key/);
    const other = join(folder, 'other-key.pem');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(other, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    expect(judge(start, null, { keyFile: other })).toMatch(/does not belong to the first certificate/);
  });

  it('report binaries that lose writes of a server beside commands', () => {
    expect(lmdbFinding(null)).toMatchObject({ state: 'ok', advice: null });
    expect(lmdbFinding('A fault.')).toMatchObject({
      state: 'problem',
      text: expect.stringMatching(/^A fault\. A command beside/),
    });
  });

  it.runIf(process.platform === 'linux')('read the limit of a process', () => {
    expect(openFilesLimit('self')).toBeGreaterThan(0);
    expect(openFilesLimit(2 ** 22 + 1)).toBeNull();
  });

  it.each([
    ['same', 5_000, 'ok'],
    ['same', 5_001, 'problem'],
    ['same', -5_001, 'problem'],
    ['past', -86_400_000, 'ok'],
    ['past', 120_001, 'problem'],
  ] as const)('judge the clock by another one (%s) that is %d ms ahead: %s', (kind, ahead, state) => {
    const nowMs = Date.UTC(2026, 10, 23);
    const [found] = clockFindings(nowMs, [{ name: 'Redis', timeMs: nowMs + ahead, nowMs, kind }]);
    expect(found?.state).toBe(state);
  });
});
