import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { Logger } from '../../src/base/log.ts';
import { openFreshness, readListChecks } from '../../src/labels/freshness.ts';
import {
  noListSentence,
  type RefreshReport,
  refreshLists,
  startRefreshing,
} from '../../src/labels/refresh.ts';
import type { FileDownload } from '../../src/sources/download.ts';
import type { SourceId } from '../../src/sources/index.ts';
import { type ListServer, serve, startListServer } from '../setup/list-server.ts';
import { sleep, until } from '../support/wait.ts';
import { makeWorld, NOW, type World } from './world.ts';

const WALLET = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';

const list = (date: string, program: string, uids: readonly string[], wallet: string): string =>
  `<?xml version="1.0" encoding="utf-8"?>
<sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>${date}</Publish_Date><Record_Count>${uids.length}</Record_Count></publshInformation>
  ${uids
    .map(
      (uid) => `<sdnEntry><uid>${uid}</uid><lastName>PARTY ${uid}</lastName><sdnType>Entity</sdnType>
    <programList><program>${program}</program></programList>
    <idList><id><uid>9${uid}</uid><idType>Digital Currency Address - ETH</idType><idNumber>${wallet}</idNumber></id></idList>
  </sdnEntry>`,
    )
    .join('\n')}
</sdnList>`;

const SDN = list('03/04/2025', 'CYBER2', ['101', '102', '103'], WALLET);
const CONS = list('03/04/2025', 'NS-PLC', ['201'], '0xa0e1c89ef1a489c9c7de96311ed5ce5d32c20e4b');

let world: World;
let server: ListServer;
beforeEach(async () => {
  world = makeWorld();
  server = await startListServer();
  server.paths.set('/SDN_ADVANCED.ZIP', serve(SDN));
  server.paths.set('/CONS_ADVANCED.ZIP', serve(CONS));
});
afterEach(async () => {
  await server.close();
  world.end();
});

const refresh = (sources: readonly SourceId[], force = false): Promise<RefreshReport> =>
  refreshLists(
    {
      sources,
      from: server.url,
      force,
      snapshotsFolder: world.snapshotsFolder,
      bounds: { retryWaitsMs: [] },
    },
    world.deps,
  );

const checkedAt = (): (string | undefined)[] => {
  const checks = readListChecks(world.deps.store.folder);
  return [checks.OFAC_SDN?.checkedAt, checks.OFAC_CONS?.checkedAt];
};

describe('a refresh', () => {
  it('downloads, imports, builds and makes the lists fresh; a failed source does not stop the others', async () => {
    const report = await refresh(['eu', 'ofac']);
    expect(report.sources.map((one) => [one.source, one.ok])).toEqual([
      ['eu', false],
      ['ofac', true],
    ]);
    expect(report.sources[0]!.errors[0]).toMatch(/404/);
    expect(report).toMatchObject({ rebuilt: true, buildError: null });
    const [label] = world.lookup(await world.build(), 'ETH', WALLET);
    expect(label!.sanctions[0]).toMatchObject({ list: 'OFAC_SDN', delistedAt: null });
    const state = openFreshness({ labelsFolder: world.deps.store.folder }).listFreshness(NOW, 7);
    expect(state.groups.US).toMatchObject({
      loaded: true,
      fresh: true,
      publishedAt: '2025-03-04',
      records: 4,
    });
    expect(state).toMatchObject({ complete: false, stale: ['EU', 'UN', 'UK', 'CH'] });
  });

  it('builds nothing if the publisher reports no change, and records the check', async () => {
    await refresh(['ofac']);
    const first = checkedAt();
    world.now += 3_600_000;
    const report = await refresh(['ofac']);
    expect(report.sources[0]!.downloads.map((file) => file.status)).toEqual(['unchanged', 'unchanged']);
    expect(report.rebuilt).toBe(false);
    expect(checkedAt()).not.toEqual(first);
    expect(checkedAt()).toEqual([world.now, world.now].map((time) => new Date(time).toISOString()));
  });

  it('does not record a check if the publisher is unreachable', async () => {
    await refresh(['ofac']);
    const first = checkedAt();
    world.now += 3_600_000;
    server.paths.set('/SDN_ADVANCED.ZIP', (_, response) => response.destroy());
    const report = await refresh(['ofac']);
    expect(report.sources[0]!.ok).toBe(false);
    expect(checkedAt()[0]).toBe(first[0]);
    expect(checkedAt()[1]).not.toBe(first[1]);
  });

  it('rejects a list that would delist most of its parties, and keeps the old one in force', async () => {
    await refresh(['ofac']);
    const first = checkedAt();
    world.now += 3_600_000;
    // Long enough to pass the check of sizes; only the parties are missing.
    const padded = list(
      '03/21/2025',
      'CYBER2',
      ['103', '901', '902', '903'],
      '0xa0e1c89ef1a489c9c7de96311ed5ce5d32c20e4b',
    );
    server.paths.set('/SDN_ADVANCED.ZIP', serve(padded));
    const report = await refresh(['ofac']);
    expect(report.sources[0]!.errors[0]).toMatch(/delist 2 of the 3 parties/);
    expect(checkedAt()[0]).toBe(first[0]);
    expect(world.deps.store.listState('OFAC_SDN').newestAt).toBe('2025-03-04');
    expect((await refresh(['ofac'], true)).sources[0]!.ok).toBe(true);
    expect(world.deps.store.listState('OFAC_SDN').newestAt).toBe('2025-03-21');
  });
});

describe('background refresh', () => {
  const lines: { level: string; fields: unknown; text: string }[] = [];
  const logger = (): Logger => {
    lines.length = 0;
    const level = (name: string) => (fields: unknown, text?: unknown) =>
      void lines.push({ level: name, fields, text: String(text) });
    return {
      debug: level('debug'),
      info: level('info'),
      warn: level('warn'),
      error: level('error'),
    } as Logger;
  };
  const loud = (): typeof lines => lines.filter((line) => line.level !== 'debug');
  const deps = (log: Logger) => ({
    clock: world.deps.clock,
    random: { bytes: (count: number) => new Uint8Array(count) },
    log,
  });
  const printing = (report: RefreshReport): readonly [string, ...string[]] => [
    process.execPath,
    '-e',
    `process.stderr.write('chatter\\n'); process.stdout.write(${JSON.stringify(JSON.stringify(report))})`,
  ];
  const source = { source: 'un', ok: true, hosts: [], downloads: [], imports: [], errors: [] } as const;

  it('runs at once, again after the interval, and reports each new snapshot', async () => {
    const published: (string | null)[] = [];
    const report: RefreshReport = { sources: [source], rebuilt: true, dataVersion: 'v1', buildError: null };
    const refreshing = startRefreshing(
      { command: printing(report), intervalMs: 10, onPublished: (version) => published.push(version) },
      deps(logger()),
    );
    await until(() => published.length >= 2);
    await refreshing.stop();
    const after = published.length;
    await sleep(100);
    expect(published).toHaveLength(after);
    expect(loud()[0]).toMatchObject({ level: 'info', text: 'lists refreshed' });
  });

  it('runs soon if the machine was suspended for longer than the interval', async () => {
    const report: RefreshReport = { sources: [source], rebuilt: true, dataVersion: 'v1', buildError: null };
    let runs = 0;
    let suspendedMs = 0;
    const clock = { ...systemClock, now: () => Date.now() + suspendedMs };
    const refreshing = startRefreshing(
      { command: printing(report), intervalMs: 6 * 3_600_000, lookMs: 10, onPublished: () => runs++ },
      { ...deps(logger()), clock },
    );
    await until(() => runs === 1);
    suspendedMs = 3 * 3_600_000;
    await sleep(50);
    expect(runs).toBe(1);
    suspendedMs = 24 * 3_600_000;
    await until(() => runs === 2);
    await sleep(50);
    expect(runs).toBe(2);
    await refreshing.stop();
  });

  it('logs one line without a network', async () => {
    const failed = { ...source, ok: false, errors: ['consolidated.xml: getaddrinfo ENOTFOUND'] };
    const report: RefreshReport = { sources: [failed], rebuilt: false, dataVersion: null, buildError: null };
    const refreshing = startRefreshing({ command: printing(report), intervalMs: 3_600_000 }, deps(logger()));
    await until(() => loud().length > 0);
    await refreshing.stop();
    expect(loud()).toHaveLength(1);
    expect(loud()[0]).toMatchObject({ level: 'warn' });
    expect(JSON.stringify(loud()[0]!.fields)).toContain('ENOTFOUND');
  });

  it('explains in one sentence that no list could be downloaded, from which hosts, and the two remedies', async () => {
    await server.close();
    const report = await refresh(['ofac']);
    expect(report.sources[0]).toMatchObject({ ok: false, hosts: [new URL(server.url).host] });
    const refreshing = startRefreshing({ command: printing(report), intervalMs: 3_600_000 }, deps(logger()));
    await until(() => loud().length > 0);
    await refreshing.stop();
    expect(loud()).toHaveLength(1);
    expect(loud()[0]?.text).toMatch(
      /^no sanctions list could be downloaded from 127\.0\.0\.1:\d+ \(.+\): either allow .* ASSAY_SYNC_FROM, or import .* `assay import SOURCE FILE --checked DATE`/,
    );
    server = await startListServer();
  });

  it('names the hosts of all publishers, and is silent if one list could be downloaded', () => {
    const failed = {
      name: 'x',
      status: 'failed',
      reason: 'getaddrinfo ENOTFOUND',
      path: null,
    } as FileDownload;
    const un = { source: 'un', hosts: ['scsanctions.un.org'], downloads: [failed] } as const;
    const uk = { source: 'uk', hosts: ['sanctionslist.fcdo.gov.uk'], downloads: [failed] } as const;
    const pools = { source: 'pools', hosts: ['github.com'], downloads: [failed] } as const;
    expect(noListSentence([un, uk, pools])).toContain(
      'from scsanctions.un.org, sanctionslist.fcdo.gov.uk (getaddrinfo ENOTFOUND)',
    );
    expect(noListSentence([un, { ...uk, downloads: [{ ...failed, status: 'unchanged' }] }])).toBeNull();
    expect(noListSentence([pools])).toBeNull();
  });

  it('survives a command that fails, and logs its last output', async () => {
    const command = [
      process.execPath,
      '-e',
      "console.error('first'); console.error('the store is busy'); process.exit(1)",
    ] as const;
    const refreshing = startRefreshing({ command, intervalMs: 3_600_000 }, deps(logger()));
    await until(() => loud().length > 0);
    await refreshing.stop();
    expect(loud()[0]!.fields).toMatchObject({ reason: 'the store is busy' });
  });

  it('ends its child process when it stops', async () => {
    const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)'] as const;
    const refreshing = startRefreshing({ command, intervalMs: 3_600_000 }, deps(logger()));
    await sleep(200);
    await refreshing.stop();
    expect(loud()).toEqual([]);
  });
});
