/** From lists to a published index: when it is built, its contents, how it is swapped, and the lists that an answer names. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import {
  type BuildNamesDeps,
  buildNames,
  type NameIndexer,
  openNamesSet,
} from '../../src/names/build-names.ts';
import { openNameStore } from '../../src/names/lists.ts';
import { versionOf } from '../../src/names/lists-fingerprints.ts';
import { ensurePepSeed, importNameFiles } from '../../src/names/lists-import.ts';
import type { NameEntity, NameMatch } from '../../src/names/name.ts';
import { createNameScreening, requireName } from '../../src/names/screen-names.ts';
import { readJson } from '../../src/state/atomic-file.ts';
import { FTM_LINES } from '../sources/opensanctions/samples.ts';

const clock: Clock = { now: () => Date.parse('2026-11-21T12:00:00Z'), monotonic: () => 0 };
const log = createLogger({ level: 'silent' });

/** An index that matches names only by their own letters: the tests are about everything around it. */
const plainIndexer: NameIndexer = {
  async build(stream, folder) {
    const entities: NameEntity[] = [];
    for await (const entity of stream) entities.push(entity);
    writeFileSync(join(folder, 'plain.json'), JSON.stringify(entities));
    return metaOf(entities);
  },
  open(folder) {
    const entities = JSON.parse(readFileSync(join(folder, 'plain.json'), 'utf8')) as NameEntity[];
    return {
      meta: metaOf(entities),
      match: ({ name }) =>
        entities
          .filter((entity) => entity.names.some((one) => one.text === name))
          .map(
            (entity): NameMatch => ({
              ...entity,
              primaryName: entity.names[0]?.text ?? '',
              matchedName: name,
              weak: false,
              score: 1,
              partial: false,
              explanation: [],
            }),
          ),
      close() {},
    };
  },
};
const metaOf = (entities: readonly NameEntity[]) => ({
  formatVersion: 1,
  version: `plain-${entities.length}`,
  builtAt: '2026-11-21T12:00:00.000Z',
  entities: entities.length,
  names: entities.length,
  byListType: { sanctions: 0, pep: entities.length, adverse_media: 0 },
  byList: {},
});

let dataDir = '';
let deps: BuildNamesDeps;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'assay-names-'));
  deps = { names: openNameStore({ folder: join(dataDir, 'names') }), indexer: plainIndexer, clock, log };
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

async function own(rows: string): Promise<void> {
  const path = join(dataDir, 'own.csv');
  writeFileSync(path, `name,list,id\n${rows}`);
  await importNameFiles({ source: 'people', files: [path], force: true }, deps);
}

const screening = (set = openNamesSet(deps)) =>
  createNameScreening({ names: () => set.current, clock, listMaxAgeDays: 7 });

it('builds only if a list changed, and switches readers to the new index', async () => {
  await own('Ann Example,pep,1\n');
  expect(await buildNames(deps)).toMatchObject({ built: true, meta: { entities: 1 } });
  const set = openNamesSet(deps);
  const screen = screening(set);
  expect(screen([{ name: 'Bob Example' }]).results[0]).toMatchObject({ topMatches: [], totalMatches: 0 });
  expect(await buildNames(deps)).toEqual({ built: false, meta: null });
  expect(set.refresh()).toBe(false);
  await own('Ann Example,pep,1\nBob Example,pep,2\n');
  expect(await buildNames(deps)).toMatchObject({ built: true, meta: { entities: 2 } });
  expect(screen([{ name: 'Bob Example' }]).results[0]?.totalMatches).toBe(0);
  expect(set.refresh()).toBe(true);
  expect(screen([{ name: 'Bob Example' }]).results[0]).toMatchObject({
    totalMatches: 1,
    topMatches: [{ entityId: '2' }],
  });
});

it('keeps the current and the previous index, and removes files of a builder that died', async () => {
  const root = join(deps.names.folder, 'index');
  for (const rows of ['A,pep,1\n', 'B,pep,1\n', 'C,pep,1\n', 'D,pep,1\n']) {
    await own(rows);
    await buildNames(deps);
  }
  writeFileSync(join(root, 'building-1'), '');
  await own('E,pep,1\n');
  await buildNames(deps);
  expect(readdirSync(root).filter((name) => name !== 'CURRENT')).toHaveLength(2);
  expect(existsSync(join(root, 'building-1'))).toBe(false);
});

it('keeps answering from the old index if the new one is damaged', async () => {
  await own('Ann Example,pep,1\n');
  await buildNames(deps);
  const set = openNamesSet(deps);
  const screen = screening(set);
  screen([{ name: 'x' }]);
  writeFileSync(join(deps.names.folder, 'index', 'CURRENT'), '../elsewhere\n');
  expect(set.refresh()).toBe(false);
  expect(screen([{ name: 'Ann Example' }]).results[0]?.totalMatches).toBe(1);
});

it('rebuilds an index of an older format even if no list changed', async () => {
  await own('Ann Example,pep,1\n');
  await buildNames(deps);
  const root = join(deps.names.folder, 'index');
  const path = join(root, readFileSync(join(root, 'CURRENT'), 'utf8').trim(), 'built-from.json');
  const { format, ...rest } = readJson(path) as { format: number };
  for (const older of [{ ...rest, format: format - 1 }, rest]) {
    const current = join(root, readFileSync(join(root, 'CURRENT'), 'utf8').trim(), 'built-from.json');
    writeFileSync(current, JSON.stringify(older));
    expect(await buildNames(deps)).toMatchObject({ built: true });
    expect(await buildNames(deps)).toMatchObject({ built: false });
  }
});

it('reports a missing index', async () => {
  await expect(buildNames(deps)).rejects.toMatchObject({ code: 'NOT_READY' });
  expect(() => screening()([{ name: 'A' }])).toThrow(/There is no index of names/);
});

it('omits delisted entities, and the shipped heads of state once a complete list is loaded', async () => {
  await ensurePepSeed(deps);
  await own('Gone Person,adverse_media,1\nHere Person,adverse_media,2\n');
  await own('Here Person,adverse_media,2\n');
  await buildNames(deps);
  const [gone, here, head] = screening()([
    { name: 'Gone Person' },
    { name: 'Here Person' },
    { name: 'Emmanuel Macron' },
  ]).results;
  expect([gone?.totalMatches, here?.totalMatches]).toEqual([0, 1]);
  expect(head?.topMatches[0]).toMatchObject({ listType: 'pep', verified: false, countries: ['FR'] });
  const path = join(dataDir, 'peps.json');
  writeFileSync(path, FTM_LINES.join('\n'));
  await importNameFiles({ source: 'opensanctions', files: [path] }, deps);
  await buildNames(deps);
  const after = screening()([{ name: 'Emmanuel Macron' }, { name: 'Angela Merkel' }]);
  expect(after.results.map((result) => result.totalMatches)).toEqual([0, 1]);
  expect(after.coverage.pep).toMatchObject({ status: 'COMPLETE', asOf: '2026-11-20T06:00:00.000Z' });
});

it('reports missing lists, and never reports them as clean', async () => {
  await ensurePepSeed(deps);
  await buildNames(deps);
  const { coverage, reasons } = screening()([{ name: 'Nobody Atall' }]);
  expect(coverage).toMatchObject({
    sanctions: { status: 'NONE', asOf: null, missing: ['OFAC_SDN', 'OFAC_CONS', 'EU', 'UN', 'UK', 'CH'] },
    pep: { status: 'PARTIAL', lists: [{ stale: true, verified: false }] },
    adverse_media: { status: 'NONE', asOf: null },
  });
  expect(reasons.map((reason) => [reason.code, reason.listType])).toEqual([
    ['STALE_OR_MISSING_DATA', 'sanctions'],
    ['STALE_OR_MISSING_DATA', 'pep'],
    ['STALE_OR_MISSING_DATA', 'adverse_media'],
  ]);
});

it('marks a cleared match until its entity changes', async () => {
  await own('Ann Example,pep,1\n');
  await buildNames(deps);
  const first = screening()([{ name: 'Ann Example' }]).results[0]?.topMatches[0];
  expect(first).toMatchObject({ cleared: false, entityVersion: expect.stringMatching(/^[0-9a-f]{16}$/) });
  const list = 'people:own:pep';
  const cleared = [{ list, entityId: '1', entityVersion: first?.entityVersion ?? '' }];
  const again = () => screening()([{ name: 'Ann Example', cleared }]).results[0]?.topMatches[0]?.cleared;
  expect(again()).toBe(true);
  await own('Other Person,pep,9\nAnn Example,pep,1\n');
  await buildNames(deps);
  expect(again()).toBe(true);
  writeFileSync(join(dataDir, 'own.csv'), 'name,list,id,aliases\nAnn Example,pep,1,A. Example\n');
  await importNameFiles({ source: 'people', files: [join(dataDir, 'own.csv')], force: true }, deps);
  await buildNames(deps);
  expect(again()).toBe(false);
});

it('gives an entity the same version in any order of its fields', () => {
  const name = (text: string) => ({ text, kind: 'alias' as const, weak: false, script: null });
  const entity: NameEntity = {
    entityId: '1',
    list: 'EU',
    listType: 'sanctions',
    schema: 'Person',
    names: [name('A'), name('B')],
    birthDates: ['1970', '1971'],
    countries: ['DE', 'FR'],
    programs: [],
    listedAt: null,
    delistedAt: null,
    sourceUrl: null,
  };
  const turned = {
    ...entity,
    names: [name('B'), name('A')],
    birthDates: ['1971', '1970'],
    countries: ['FR', 'DE'],
  };
  expect(versionOf(turned)).toBe(versionOf(entity));
  expect(versionOf({ ...entity, birthDates: ['1970'] })).not.toBe(versionOf(entity));
});

it('rejects a name that no list could match, and names its position', () => {
  for (const [name, words] of [
    ['', 'is empty'],
    [' \u00a0 ', 'is empty'],
    ['a\u0000b', 'control character'],
    ['a\nb', 'control character'],
    ['x'.repeat(301), 'at most 300 characters'],
    ['\ud800', 'not valid Unicode'],
    ['--- !', 'a letter'],
    // Titles do not count against a match: a listed name behind them would not be read.
    [`${'Mr '.repeat(30)}Kim Jong Un`, 'at most 24 words'],
    ['中'.repeat(25), 'at most 24 words'],
  ] as const) {
    expect(() => requireName(name, 'names[3].name')).toThrow(words);
    expect(() => requireName(name, 'names[3].name')).toThrow('names[3].name');
  }
  for (const name of ['x'.repeat(300), '李', 'M.', '7', 'Kim '.repeat(24), '中'.repeat(24)])
    expect(() => requireName(name, 'n')).not.toThrow();
});
