/** `labels sync --all` against a local server: everything at once, one failing source, licences, interruption. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { planSync, syncAllLabels } from '../../src/labels/sync-all.ts';
import { SOURCES } from '../../src/sources/index.ts';
import type { Source } from '../../src/sources/source.ts';
import { runCommand } from '../cli/run-command.ts';
import { type ListServer, serve, startListServer, status } from '../setup/list-server.ts';
import { hasSharedData, sharedData } from '../setup/shared-data.ts';
import { makeWorld, type World } from './world.ts';

const UNI = '0x1f9840a85d5af5bf1d1762f925bdaddc4201f984';
const RANSOM = JSON.stringify({
  result: [{ address: '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2', blockchain: 'bitcoin', family: 'Netwalker' }],
});
const TOKENS = JSON.stringify({ tokens: [{ chainId: 1, address: UNI, name: 'Uniswap', symbol: 'UNI' }] });

/** Sources with one small file each, in the order of the run. */
const some: readonly Source[] = SOURCES.filter(({ id }) =>
  ['polkadot-phishing', 'ransomwhere', 'trustwallet', 'uniswap-tokens', 'mbal'].includes(id),
);

let world: World;
let server: ListServer;
beforeEach(async () => {
  world = makeWorld();
  server = await startListServer();
  server.paths.set(
    '/address.json',
    serve('{"site.example":["155dDX3rWoNsY4aiJFbsu6wLB91c2J2Ws5BgMfJKyM1eGnkS"]}'),
  );
  server.paths.set('/ransomwhere.json', serve(RANSOM));
  server.paths.set('/trustwallet-ethereum-tokenlist.json', serve(TOKENS));
  server.paths.set(
    '/trustwallet-base-tokenlist.json',
    serve(TOKENS.replace('"chainId":1', '"chainId":8453')),
  );
  server.paths.set('/uniswap.tokenlist.json', serve(TOKENS));
});
afterEach(async () => {
  await server.close();
  world.end();
});

const run = (options: { accepted?: readonly string[]; signal?: AbortSignal } = {}) =>
  syncAllLabels(
    {
      from: server.url,
      acceptedLicences: new Set(options.accepted ?? []),
      snapshotsFolder: world.snapshotsFolder,
      bounds: { retryWaitsMs: [] },
      ...(options.signal ? { signal: options.signal } : {}),
    },
    { ...world.deps, sources: some },
  );

const requested = (): string[] => server.requests.map(({ path }) => path);

describe('a complete run', () => {
  it('imports every source, all files of one in one dataset, and publishes one snapshot', async () => {
    const report = await run();
    expect(report.sources.map(({ source, ok }) => [source, ok])).toEqual([
      ['polkadot-phishing', true],
      ['ransomwhere', true],
      ['trustwallet', true],
    ]);
    expect(report.restricted).toEqual(['uniswap-tokens']);
    expect(report.accounts).toEqual([
      { source: 'mbal', account: 'a Kaggle account', command: 'assay import mbal FILE' },
    ]);
    expect(report.rebuilt).toBe(true);
    const rows = world.deps.store.catalogue().datasets;
    expect(rows.find(({ source }) => source === 'trustwallet')?.segments[0]?.labels).toBe(2);
    expect(requested()).not.toContain('/uniswap.tokenlist.json');
  });

  it('continues with the other sources if one fails, and keeps its last good state', async () => {
    await run();
    server.paths.set('/ransomwhere.json', status(500));
    const report = await run();
    expect(report.sources.filter(({ ok }) => !ok).map(({ source }) => source)).toEqual(['ransomwhere']);
    expect(report.buildError).toBeNull();
    expect(world.deps.store.catalogue().datasets.map(({ source }) => source)).toContain('ransomwhere');
  });

  it('is described by the guide, source by source', () => {
    const guide = readFileSync(join(projectRoot, 'docs', 'guides', 'data-and-lists.md'), 'utf8');
    const { wanted, restricted, accounts } = planSync(new Set());
    const all = [...wanted, ...restricted, ...accounts.map(({ source }) => source)];
    for (const id of all) expect(guide).toMatch(new RegExp(`^\\| \`${id}\` \\|.*\\|$`, 'm'));
  });

  it('names a source of which every file is missing, also if each is optional', async () => {
    for (const path of server.paths.keys()) if (path.startsWith('/trustwallet')) server.paths.delete(path);
    const report = await run();
    expect(report.sources.find(({ source }) => source === 'trustwallet')).toMatchObject({
      ok: false,
      errors: [expect.stringContaining('HTTP 404')],
    });
  });

  it('downloads a source with a restricted licence only if it is accepted', async () => {
    expect((await run({ accepted: ['uniswap-tokens'] })).sources.map(({ source }) => source)).toContain(
      'uniswap-tokens',
    );
    expect(() => planSync(new Set(['ransomwhere']))).toThrow(
      /acceptLicence: must be one of .*uniswap-tokens/,
    );
    const file = world.file('uniswap.tokenlist.json', TOKENS);
    await expect(world.import({ source: 'uniswap-tokens', files: [file] })).rejects.toThrow(
      /acceptLicence: the data of 'uniswap-tokens' is under GPL-3.0/,
    );
  });

  it('continues an interrupted run after the last source that it finished', async () => {
    const stopping = new AbortController();
    server.paths.set('/ransomwhere.json', () => stopping.abort(new Error('stopped')));
    await expect(run({ signal: stopping.signal })).rejects.toThrow('stopped');
    server.paths.set('/ransomwhere.json', serve(RANSOM));
    server.requests.length = 0;
    const report = await run();
    expect(report.resumed).toEqual(['polkadot-phishing']);
    expect(requested()).not.toContain('/address.json');
    expect(report.rebuilt).toBe(true);
    expect(new Set(world.deps.store.catalogue().datasets.map(({ source }) => source))).toEqual(
      new Set(['polkadot-phishing', 'ransomwhere', 'trustwallet']),
    );
    // A complete run leaves no state: the next one begins with the first source.
    server.requests.length = 0;
    expect((await run()).resumed).toEqual([]);
    expect(requested()).toContain('/address.json');
  });
});

describe('the state of an interrupted run', () => {
  const DAY_MS = 24 * 3_600_000;
  const resumedFrom = async (state: unknown): Promise<readonly string[]> => {
    mkdirSync(world.deps.store.folder, { recursive: true });
    writeFileSync(
      join(world.deps.store.folder, 'sync-all.json'),
      typeof state === 'string' ? state : JSON.stringify(state),
    );
    return (await run()).resumed;
  };
  const stateOf = (ageMs: number) => ({
    format: 1,
    startedAt: new Date(world.now - ageMs).toISOString(),
    done: ['ransomwhere'],
  });

  it('is continued for a day', async () => {
    expect([await resumedFrom(stateOf(0)), await resumedFrom(stateOf(DAY_MS - 1))]).toEqual([
      ['ransomwhere'],
      ['ransomwhere'],
    ]);
    expect(requested()).not.toContain('/ransomwhere.json');
    for (const ageMs of [-1, DAY_MS]) expect(await resumedFrom(stateOf(ageMs)), String(ageMs)).toEqual([]);
    expect(requested()).toContain('/ransomwhere.json');
  });

  it('is ignored if it is damaged, of another format, or without its list', async () => {
    const sound = stateOf(0);
    for (const state of ['{"format":1,', { ...sound, format: 2 }, { ...sound, done: 'ransomwhere' }]) {
      expect(await resumedFrom(state)).toEqual([]);
      expect(requested()).toContain('/ransomwhere.json');
      server.requests.length = 0;
    }
  });
});

describe('the command', () => {
  it.skipIf(!hasSharedData)(
    'brings a new installation to the labels of the publishers that answer, and its exit code names the others',
    async () => {
      server.paths.set(
        '/ton-labels.tar.gz',
        serve(readFileSync(sharedData('labels', 'ton-labels_2026-04-28.tar.gz'))),
      );
      server.paths.set(
        '/ethereum-lists-tokens.tar.gz',
        serve(readFileSync(sharedData('labels', 'ethereum-lists-tokens_2026-04-07.tar.gz'))),
      );
      server.paths.set(
        '/address.json',
        serve(readFileSync(sharedData('labels', 'polkadot-js-phishing_2026-02-03.json'))),
      );
      const dataDir = join(world.folder, 'installation');
      const { code, err, out } = await runCommand(dataDir, ['labels', 'sync', '--all', '--from', server.url]);
      expect(code).toBe(1);
      expect(err).toMatch(/Not refreshed: ofac, .*The other sources were imported/);
      expect(out).toContain('ton-labels: ok');
      expect(out).toContain('mbal: needs a Kaggle account; then run `assay import mbal FILE`');
      expect(out).toMatch(/Published snapshot [0-9a-f]{16}/);
      const looked = await runCommand(dataDir, [
        'lookup',
        'TON',
        'EQD7eJM_TziChXr2XXFGXEFyhsAF_oOnO5LyWjS2MTN7HpaU',
        '--json',
      ]);
      expect(looked.out).toContain('ton-labels');
    },
  );
});
