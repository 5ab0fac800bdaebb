/** A sanctions list that exists only in this test is added by one descriptor, and every derived place has it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addImportCommand } from '../../src/cli/import.ts';
import { listedSources } from '../../src/cli/sources.ts';
import { addSyncCommand } from '../../src/cli/sync.ts';
import { SanctionsListSchema } from '../../src/http/schemas/facts.ts';
import { attestLists, parseList } from '../../src/labels/attest.ts';
import { loadEntityParties } from '../../src/labels/entity-parties.ts';
import {
  freshnessOf,
  type ListChecks,
  openFreshness,
  readListChecks,
  staleListAdvice,
} from '../../src/labels/freshness.ts';
import { importFiles } from '../../src/labels/import.ts';
import type { ImportDeps, ListReceiver } from '../../src/labels/import-report.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import { loadRulebook } from '../../src/labels/map.ts';
import { parseRefreshSource, refreshLists } from '../../src/labels/refresh.ts';
import { buildNames, openNamesSet } from '../../src/names/build-names.ts';
import { buildNameIndex } from '../../src/names/index/build.ts';
import { openNameIndex } from '../../src/names/index/open.ts';
import { openNameStore } from '../../src/names/lists.ts';
import { coverageOf } from '../../src/names/lists-coverage.ts';
import { receiveOfficialNames } from '../../src/names/official-import.ts';
import { createNameScreening } from '../../src/names/screen-names.ts';
import { importIds, parseSource, readerOf, SOURCES, type SourceId } from '../../src/sources/index.ts';
import { LISTS, listCatalogue } from '../../src/sources/lists.ts';
import { secoReader } from '../../src/sources/seco/read.ts';
import { type Feed, source } from '../../src/sources/source.ts';
import { sourcesMarkdown } from '../../src/sources/table.ts';
import { makeWorld, NOW, type World } from '../labels/world.ts';
import { type ListServer, serve, startListServer } from '../setup/list-server.ts';

const WALLET = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const NAME = 'Ottokar Nimbusfeld';

let readings = 0;

/** Each line of a file is `id|name|wallet`. */
const listSource = (feeds: readonly Feed[]) =>
  source({
    id: 'zz',
    name: 'ZZ sanctions list',
    publisher: 'Ministry of ZZ',
    homepage: 'https://zz.example/',
    licence: 'CC0',
    files: [{ name: 'zz.txt', url: 'https://zz.example/zz.txt' }],
    lists: [
      {
        id: 'ZZ',
        group: 'ZZ',
        authority: 'Ministry',
        required: true,
        partyUrl: 'https://zz.example/{id}',
        assetFreeze: 'all',
      },
    ],
    feeds,
    read: async () =>
      async function* ([path = '']) {
        readings++;
        yield { type: 'header', lists: ['ZZ'], publishedAt: '2026-11-20', layout: 'ZZ_TXT' };
        for (const [at, line] of readFileSync(path, 'utf8').trim().split('\n').entries()) {
          const [entityId = '', text = '', address = ''] = line.split('|');
          const provenance = { file: 'zz.txt', line: at + 1 };
          yield {
            type: 'party',
            list: 'ZZ',
            entityId,
            schema: 'Person',
            names: [{ text, kind: 'primary', weak: false, script: null }],
            programs: [],
            birthDates: [],
            countries: [],
            listedAt: '2026-11-01',
            delistedAt: null,
            addresses: address === '' ? [] : [{ address, currency: 'ETH', provenance }],
            remarks: null,
            provenance,
          };
        }
      },
  });

const sources = [...SOURCES, listSource(['labels', 'names'])];
const lists = listCatalogue(sources);
const zz = 'zz' as SourceId;
const FILE = `1|${NAME}|${WALLET}\n2|Wilma Quistorp\n`;

let world: World;
let deps: ImportDeps;
let server: ListServer;
beforeEach(async () => {
  world = makeWorld();
  server = await startListServer();
  readings = 0;
  deps = {
    ...world.deps,
    sources,
    rules: loadRulebook({}, sources),
    receiveLists: (files) => receiveOfficialNames(files, nameDeps(), sources),
  };
});
afterEach(async () => {
  await server.close();
  world.end();
});

const nameDeps = () => ({
  names: openNameStore({ folder: join(world.folder, 'names') }),
  clock: world.deps.clock,
  log: world.deps.log,
});

const checks = () => readListChecks(deps.store.folder);

describe('a list that one descriptor adds', () => {
  it('is a list for which every derived place has the facts', () => {
    expect(lists.ids).toEqual([...LISTS.ids, 'ZZ']);
    expect(lists.required).toEqual([...LISTS.required, 'ZZ']);
    expect(parseSource('ZZ', [], sources)).toBe('zz');
    expect(parseRefreshSource('zz', [], sources)).toBe('zz');
    expect(() => parseRefreshSource('own', [], sources)).toThrow(/must be one of ofac, .*, zz \(got 'own'\)/);
    expect(parseList('zz', lists)).toBe('ZZ');
    expect(() => parseList('zz')).toThrow(`must be one of ${LISTS.ids.join(', ')} (got 'zz')`);
    expect(deps.rules.sources.of('zz')).toMatchObject({
      class: 'list',
      independenceGroup: 'zz',
      lists: ['ZZ'],
    });
    expect(deps.rules.fingerprint).not.toBe(loadRulebook().fingerprint);
  });

  it('is missing from freshness until it is imported, with the commands that help', () => {
    const now = { checkedAt: new Date(NOW).toISOString(), publishedAt: '2026-11-20', records: 1 };
    const fresh = (ids: readonly string[]): ListChecks => Object.fromEntries(ids.map((list) => [list, now]));
    const all = fresh(LISTS.ids);
    expect(freshnessOf(all, NOW, 7).complete).toBe(true);
    const { complete, stale, staleLists } = freshnessOf(all, NOW, 7, lists);
    expect({ complete, stale }).toEqual({ complete: false, stale: ['ZZ'] });
    expect(staleListAdvice(staleLists, lists)).toEqual([
      expect.stringMatching(
        /The ZZ sanctions list was never loaded\. Run `assay sync zz`; .*`assay import zz FILE/,
      ),
    ]);
    expect(freshnessOf(fresh(lists.ids), NOW, 7, lists).complete).toBe(true);
  });

  it('is accepted as the list of a shipped fact and of a link', async () => {
    const fact = JSON.stringify({
      chain: 'ETH',
      address: WALLET,
      entity: 'nimbus',
      name: 'Nimbus',
      category: 'SANCTIONED_ENTITY',
      tags: [],
      confidence: 1,
      sourceUrl: 'https://zz.example/1',
      date: '2026-11-20',
      verified: true,
      sanctions: { list: 'ZZ', entityId: '1' },
    });
    const typesOf = async (known: typeof sources): Promise<unknown[]> => {
      const records: unknown[] = [];
      const read = await readerOf('seed', undefined, known);
      for await (const record of read([world.file('facts.ndjson', fact)])) records.push(record);
      return records;
    };
    expect(await typesOf(sources)).toMatchObject([{ type: 'address', sanctions: { list: 'ZZ' } }, {}]);
    expect(await typesOf([...SOURCES])).toMatchObject([
      {
        type: 'reject',
        reason: expect.stringMatching(/sanctions\.list: must be one of .*OTHER \(got 'ZZ'\)/),
      },
      {},
    ]);

    const link = { entity: 'nimbus', list: 'ZZ', entry: '1', name: NAME, sourceUrl: 'https://zz.example/1' };
    const own = world.file(
      'links.json',
      JSON.stringify({ links: [{ ...link, checkedBy: 'A', checkedAt: '2026-11-20' }] }),
    );
    expect(loadEntityParties({ own, lists: lists.ids }).ofParty('ZZ' as never, '1')?.entity).toBe('nimbus');
    expect(() => loadEntityParties({ own })).toThrow(
      `links[0].list: must be one of ${LISTS.ids.join(', ')}.`,
    );
  });

  it('is downloaded, and one reading of its file feeds wallets and names', async () => {
    server.paths.set('/zz.txt', serve(FILE));
    const options = { sources: [zz], from: server.url, snapshotsFolder: world.snapshotsFolder };
    expect(await refreshLists(options, deps)).toMatchObject({
      sources: [{ source: 'zz', ok: true }],
      rebuilt: true,
      buildError: null,
    });
    // The download is validated by one reading; labels and names share the other.
    expect(readings).toBe(2);

    const snapshots = openSnapshotSet(world.snapshotsFolder, deps);
    const [label] = world.lookup(snapshots, 'ETH', WALLET);
    snapshots.close();
    expect(label).toMatchObject({
      source: 'zz',
      sanctions: [{ list: 'ZZ', authority: 'Ministry', sourceUrl: 'https://zz.example/1', entityName: NAME }],
    });
    expect(checks()).toMatchObject({ ZZ: { checkedBy: 'DOWNLOAD', records: 2 } });
    const reader = openFreshness({ labelsFolder: deps.store.folder, lists });
    expect(reader.listFreshness(NOW, 7).groups).toMatchObject({ ZZ: { fresh: true }, CH: { fresh: false } });
  });

  it('is screened by name once it is imported, and missing from the coverage of names before', async () => {
    const names = nameDeps();
    const indexDeps = {
      ...names,
      indexer: {
        build: (entities: Parameters<typeof buildNameIndex>[0], folder: string) =>
          buildNameIndex(entities, folder, { clock: names.clock }),
        open: openNameIndex,
      },
    };
    expect(coverageOf(names.names.rows(), NOW, 7, lists).sanctions.missing).toContain('ZZ');
    await importFiles({ source: zz, files: [world.file('zz.txt', FILE)] }, deps);
    expect(readings).toBe(1);
    await buildNames(indexDeps);
    const set = openNamesSet(indexDeps);
    const screen = createNameScreening({
      names: () => set.current,
      clock: names.clock,
      listMaxAgeDays: 7,
      lists,
    });
    const { results, coverage } = screen([{ name: NAME }]);
    set.close();
    expect(results[0]?.topMatches[0]).toMatchObject({
      source: 'ZZ',
      entityId: '1',
      name: NAME,
      sourceUrl: 'https://zz.example/1',
    });
    expect(coverage.sanctions).toMatchObject({
      status: 'PARTIAL',
      missing: [...LISTS.required],
      lists: [{ list: 'ZZ', parties: 2, stale: false }],
    });
  });

  it('can be attested', async () => {
    await importFiles({ source: zz, files: [world.file('zz.txt', FILE)] }, deps);
    const { clock, store } = world.deps;
    const written: unknown[] = [];
    await attestLists([parseList('zz', lists)], '2026-11-21', {
      store,
      clock,
      audit: async (one) => void written.push(one),
      confirmNames: (list, checkedAt) => nameDeps().names.confirm(list, checkedAt),
    });
    expect(written).toEqual([{ list: 'ZZ', checkedAt: '2026-11-21' }]);
    expect(nameDeps().names.row('ZZ')?.checkedAt).toBe('2026-11-21');
  });

  it('is in the help of the commands, and in the table of sources', () => {
    const help = (add: typeof addImportCommand): string => {
      const program = new Command();
      add(program, {} as never, () => ({}) as never, sources);
      return program.commands[0]?.helpInformation() ?? '';
    };
    expect(help(addImportCommand)).toMatch(new RegExp(`\\b${SOURCES.at(-1)?.id}, zz, opensanctions\\b`));
    expect(help(addSyncCommand)).toMatch(/\bscams,[\s\S]+\bzz,\s+esma, amf,/);
    expect(listedSources(sources)).toContainEqual({
      id: 'zz',
      name: 'ZZ sanctions list',
      publisher: 'Ministry of ZZ',
      licence: 'CC0',
      feeds: ['labels', 'names'],
      lists: ['ZZ'],
      automatic: true,
    });
    expect(importIds(sources)).toContain('zz');
    expect(sourcesMarkdown(sources)).toContain(
      '| `zz` | [ZZ sanctions list](https://zz.example/) | Ministry of ZZ | `ZZ` | yes | CC0 |',
    );
  });
});

describe('a descriptor that is not complete', () => {
  it('leaves the list missing from name screening if it does not feed names', async () => {
    const labelsOnly = [...SOURCES, listSource(['labels'])];
    const receive = (files: Parameters<NonNullable<ImportDeps['receiveLists']>>[0]): ListReceiver | null =>
      receiveOfficialNames(files, nameDeps(), labelsOnly);
    await importFiles(
      { source: zz, files: [world.file('zz.txt', FILE)] },
      { ...deps, sources: labelsOnly, receiveLists: receive },
    );
    const { missing } = coverageOf(nameDeps().names.rows(), NOW, 7, listCatalogue(labelsOnly)).sanctions;
    expect(missing).toContain('ZZ');
  });

  it('is rejected if it has lists and does not feed labels, or if its list exists already', () => {
    expect(() => listSource(['names'])).toThrow(/zz has sanctions lists, so it must feed labels/);
    expect(() => listCatalogue([...sources, listSource(['labels'])])).toThrow(
      /Two sources publish the list ZZ/,
    );
  });

  it('does not compile if its reader yields a list that it does not declare', () => {
    const wrong = source({
      id: 'wrong',
      name: 'Wrong',
      publisher: 'Wrong',
      lists: [
        { id: 'WRONG', group: 'WRONG', authority: '', required: true, partyUrl: '', assetFreeze: 'all' },
      ],
      feeds: ['labels'],
      // @ts-expect-error The reader yields parties of CH.
      read: async () => secoReader,
    });
    expect(wrong.lists).toHaveLength(1);
  });
});

it('the lists of the API are those of the sources', () => {
  expect((SanctionsListSchema as unknown as { enum: unknown }).enum).toEqual([...LISTS.ids, 'OTHER']);
});
