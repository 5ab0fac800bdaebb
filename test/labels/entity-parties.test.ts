import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { shippedData } from '../../src/base/paths.ts';
import { designationsOf, ownerEntriesAdder } from '../../src/labels/designations.ts';
import { loadEntityAliases } from '../../src/labels/entities.ts';
import { loadEntityParties } from '../../src/labels/entity-parties.ts';
import { proposeLinks } from '../../src/labels/entity-proposals.ts';
import { templateFromText, templateToText } from '../../src/labels/index/template-text.ts';
import type { LabelTemplate } from '../../src/labels/label.ts';
import { LABEL_LIMITS } from '../../src/labels/limits.ts';
import { delistedAt, emptyList, type ReadList, withFile } from '../../src/labels/sanctions.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';
import { euReader } from '../../src/sources/eu/read.ts';
import type { DesignatedParty, SourceReader } from '../../src/sources/records.ts';
import { ukReader } from '../../src/sources/uk/read.ts';
import { MARCH_4, MARCH_21, readOfacOnce } from '../setup/ofac-records.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { sanction } from './index/world.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-links-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ROW = {
  entity: 'case-17',
  list: 'UK',
  entry: 'RUS0001',
  name: 'EXAMPLE LLC',
  listedAt: '2026-01-02',
  sourceUrl: 'https://example.org/list',
  checkedBy: 'A. Analyst',
  checkedAt: '2026-11-22',
};

let files = 0;
function fileOf(content: unknown): string {
  const path = join(folder, `links-${files++}.json`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}
const own = (...rows: unknown[]) => loadEntityParties({ own: fileOf({ links: rows }) });

describe('links between entities and listed parties', () => {
  it('merge an own file over the shipped one', () => {
    const shipped = loadEntityParties();
    const { name: _, ...htx } = { ...ROW, entity: 'htx', entry: 'RUS3619' };
    const merged = own(ROW, { ...htx, name: 'Another name' });
    expect(merged.links).toHaveLength(shipped.links.length + 1);
    expect(merged.ofParty('UK', 'RUS0001')).toMatchObject({ entity: 'case-17', from: 'own', verified: true });
    expect(merged.ofParty('UK', 'RUS3619')).toMatchObject({
      entity: 'htx',
      name: 'Another name',
      from: 'own',
    });
    expect(merged.fingerprint).not.toBe(shipped.fingerprint);
  });

  it('remove a shipped link by an own row', () => {
    const merged = own({ ...ROW, entity: 'htx', entry: 'RUS3619', linked: false });
    expect(merged.ofParty('UK', 'RUS3619')).toBeNull();
    expect(merged.ofParty('UK', 'RUS3602')).toMatchObject({ entity: 'exmo', from: 'shipped' });
  });

  it.each([
    [{ list: 'GB' }, 'links[0].list: must be one of OFAC_SDN'],
    [{ list: 'OTHER' }, 'links[0].list: must be one of'],
    [{ entity: 'Not A Slug' }, 'links[0].entity: must be the id of an entity'],
    [{ entry: '' }, 'links[0].entry: must be a text of 1 to 500 characters.'],
    [{ checkedBy: '' }, 'links[0].checkedBy: must be a text'],
    [
      { checkedAt: '22.11.2026' },
      "links[0].checkedAt: must be a date such as 2026-05-26 (got '22.11.2026').",
    ],
    [{ listedAt: '2026-02-31' }, 'links[0].listedAt: must be a date'],
    [{ sourceUrl: 'javascript:alert(1)' }, 'links[0].sourceUrl: must be a URL that begins with http.'],
    [{ assetFreeze: 'yes' }, 'links[0].assetFreeze: must be true or false.'],
    [{ measures: 'Asset freeze' }, 'links[0].measures: must be at most 20 texts.'],
    [{ measures: Array(21).fill('Asset freeze') }, 'links[0].measures: must be at most 20 texts.'],
    [{ measures: ['x'.repeat(501)] }, 'links[0].measures: must be at most 20 texts.'],
    [{ measures: [''] }, 'links[0].measures: must be at most 20 texts.'],
    [{ measures: [5] }, 'links[0].measures: must be at most 20 texts.'],
    [{ lists: 'UK' }, 'links[0].lists: is not a field of a link; remove it.'],
  ])('reject %j and name the field', (change, message) => {
    expect(() => own({ ...ROW, ...change })).toThrow(expect.objectContaining({ code: 'INVALID_FILE' }));
    expect(() => own({ ...ROW, ...change })).toThrow(message);
  });

  it('have up to 20 measures of up to 500 characters', () => {
    const measures = Array(20).fill('x'.repeat(500));
    expect(own({ ...ROW, measures }).ofParty('UK', 'RUS0001')?.measures).toEqual(measures);
    expect(own(ROW).ofParty('UK', 'RUS0001')?.measures).toEqual([]);
  });

  it('reject files of another format, and a party that two entities claim', () => {
    expect(() => loadEntityParties({ own: fileOf('{') })).toThrow('cannot be read as JSON');
    expect(() => loadEntityParties({ own: fileOf([ROW]) })).toThrow('links must be an array');
    expect(() => loadEntityParties({ own: join(folder, 'missing.json') })).toThrow('missing.json');
    expect(() => own(ROW, { ...ROW, entity: 'case-18' })).toThrow("'case-17' and to 'case-18'");
  });

  it('takes as many links as the limit says, and rejects one more', () => {
    const rows = Array.from({ length: LABEL_LIMITS.entityPartiesMax + 1 }, (_, at) => ({
      ...ROW,
      entry: `E${at}`,
    }));
    expect(own(...rows.slice(1)).ofParty('UK', `E${LABEL_LIMITS.entityPartiesMax}`)).not.toBeNull();
    expect(() => own(...rows)).toThrow(`links must have at most ${LABEL_LIMITS.entityPartiesMax} rows`);
  });

  it('ship with entities that the aliases contain, each with its source and date', () => {
    const aliases = loadEntityAliases();
    for (const link of loadEntityParties().links) {
      expect(aliases.byId(link.entity), link.entity).not.toBeNull();
      expect(link.checkedAgainst, link.entry).not.toBeNull();
    }
    const text = JSON.parse(readFileSync(shippedData('entity-aliases.json'), 'utf8')) as {
      entities: object[];
    };
    expect(text.entities.filter((row) => 'parties' in row)).toEqual([]);
  });
});

describe('list entries that a build adds to the labels of a designated entity', () => {
  const designations = designationsOf(loadEntityParties(), [], loadSourceTable());
  const added = (change: Partial<LabelTemplate>) =>
    templateFromText(
      ownerEntriesAdder(
        designations,
        '2026-01-02',
      )(
        templateToText({
          entity: { id: 'htx', name: 'HTX', category: 'EXCHANGE', jurisdiction: null, url: null },
          scope: 'EVM',
          category: 'EXCHANGE',
          threatLevel: 'SAFE',
          source: 'exchanges',
          sourceUrl: null,
          tags: [],
          confidence: 0.95,
          sanctions: [],
          verified: true,
          synthetic: false,
          ...change,
        }),
      ),
    ).sanctions.map(({ matchType, entityId, attribution }) => [matchType, entityId, attribution?.confidence]);

  it('are OWNER of one publisher, with at most the confidence of its group', () => {
    expect(added({})).toEqual([['OWNER', 'RUS3619', 0.95]]);
    const sourceUrl = 'https://cryptoscamdb.org/scams';
    expect(loadSourceTable().groupOf('graphsense', sourceUrl)).toBe('crowd');
    expect(added({ source: 'graphsense', sourceUrl })).toEqual([['OWNER', 'RUS3619', 0.7]]);
  });

  it('are added beside other entries, but not beside the same entry of the same list', () => {
    const entry = (list: 'UK' | 'EU', entityId: string) => ({
      ...sanction,
      list,
      entityId,
      matchType: 'DIRECT' as const,
    });
    const direct = (entityId: string) => ['DIRECT', entityId, undefined];
    const owner = ['OWNER', 'RUS3619', 0.95];
    expect(added({ sanctions: [entry('UK', 'RUS3619')] })).toEqual([direct('RUS3619')]);
    expect(added({ sanctions: [entry('UK', 'RUS1')] })).toEqual([direct('RUS1'), owner]);
    expect(added({ sanctions: [entry('EU', 'RUS3619')] })).toEqual([direct('RUS3619'), owner]);
  });

  it('are CLUSTER of derived labels, and are not added to synthetic labels and other entities', () => {
    expect(added({ source: 'cluster' })).toEqual([['CLUSTER', 'RUS3619', 0.95]]);
    expect(added({ synthetic: true })).toEqual([]);
    const other = { id: 'huobi-korea', name: 'Huobi Korea', jurisdiction: 'KR', url: null } as const;
    expect(added({ entity: { ...other, category: 'EXCHANGE' } })).toEqual([]);
  });
});

describe('suggested links', () => {
  const parties = loadEntityParties({ shipped: fileOf({ links: [] }) });
  const organisation = {
    list: 'UK',
    entry: 'RUS3619',
    reference: null,
    names: ['HUOBI GLOBAL S.A.', 'HTX Exchange'],
    program: null,
    listedAt: '2026-05-26',
    assetFreeze: true,
    measures: ['Asset freeze'],
    sourceUrl: 'https://example.org/uk',
  } as const;
  const fold = (name: string): string[] => [name.toLowerCase().replace(/[^a-z0-9]/g, '')];
  const propose = (entities: { entity: string; name: string; labels: number }[], names = [organisation]) =>
    proposeLinks({ entities, otherNames: [], organisations: names, parties, fold, today: '2026-11-22' });

  it('are rows of equal names that load after a review', () => {
    const [row, ...rest] = propose([
      { entity: 'htx', name: 'Huobi Global SA', labels: 7 },
      { entity: 'htx-token', name: 'HTX', labels: 9 },
    ]);
    expect(rest).toEqual([]);
    expect(row).toMatchObject({
      entity: 'htx',
      list: 'UK',
      entry: 'RUS3619',
      checkedBy: '',
      verified: false,
    });
    expect(row?.note).toContain('7 labels');
    expect(() => own(row)).toThrow('links[0].checkedBy');
    expect(own({ ...row, checkedBy: 'A. Analyst' }).ofParty('UK', 'RUS3619')).toMatchObject({
      entity: 'htx',
    });
  });

  it('omit linked parties, frauds under the name, and names that are too short', () => {
    expect(propose([{ entity: 'phishing:huobi', name: 'Huobi Global SA', labels: 7 }])).toEqual([]);
    expect(
      propose([{ entity: 'ab', name: 'AB', labels: 7 }], [{ ...organisation, names: ['AB'] } as never]),
    ).toEqual([]);
    const linked = proposeLinks({
      entities: [{ entity: 'htx', name: 'Huobi Global SA', labels: 7 }],
      otherNames: [],
      organisations: [organisation],
      parties: loadEntityParties(),
      fold,
      today: '2026-11-22',
    });
    expect(linked).toEqual([]);
  });
});

describe('the state of a list', () => {
  const details = (entityId: string, assetFreeze: boolean | null = true) => ({
    entityId,
    details: {
      entityName: `name of ${entityId}`,
      schema: 'Organization',
      program: null,
      reference: null,
      listedAt: '2026-05-26',
      delistedAt: null,
      assetFreeze,
      measures: [],
    } as const,
  });
  const file = (publishedAt: string, ids: readonly string[], more: Partial<ReadList> = {}): ReadList => ({
    list: 'UK',
    publishedAt,
    contentHash: publishedAt,
    layout: 'UK_JSON_LINES',
    whole: true,
    parties: new Set(ids),
    entries: [],
    details: ids.map((id) => details(id)),
    ...more,
  });
  const files = [
    file('2026-06-01', ['RUS3619', '1', '2', '3']),
    file('2026-08-22', ['RUS3619', '1', '2', '3'], {
      details: [details('RUS3619', false), ...['1', '2', '3'].map((id) => details(id))],
    }),
    file('2026-10-01', ['1', '2', '3']),
  ];
  const read = (order: readonly number[]) =>
    order.reduce((state, at) => withFile(state, files[at] as ReadList, { force: false }), emptyList('UK'));

  it('contains every party, in any order of its files', () => {
    const state = read([0, 1, 2]);
    for (const order of [
      [0, 2, 1],
      [2, 1, 0],
      [1, 0, 2],
    ])
      expect(read(order)).toEqual(state);
    const party = state.details.find(({ entityId }) => entityId === 'RUS3619');
    expect(party).toMatchObject({
      firstAt: '2026-06-01',
      lastAt: '2026-08-22',
      details: { assetFreeze: false },
    });
    expect(party && delistedAt(state, party)).toBe('2026-10-01');
  });

  it('is built again from a file that was imported before parties were stored', () => {
    const [first] = files as [ReadList];
    const { details: _, ...without } = first;
    const old = withFile(emptyList('UK'), without, { force: false });
    const before = {
      ...old,
      files: old.files.map(({ detailed: __, ...known }) => known),
    };
    const links = loadEntityParties();
    const known = designationsOf(links, [before], loadSourceTable()).get('htx');
    expect(known, 'the link counts until then').toMatchObject([{ basis: 'link', delistedAt: null }]);
    const again = withFile(before, first, { force: false });
    expect(again.files).toHaveLength(1);
    expect(again.details.map(({ entityId }) => entityId)).toContain('RUS3619');
    expect(withFile(again, first, { force: false })).toBe(again);
  });

  it('freezes assets as its list does, or as its entry states', () => {
    const parties = loadEntityParties();
    const [link] = parties.links.filter(({ entity }) => entity === 'htx');
    const freezes = (list: string, assetFreeze: boolean | null) =>
      designationsOf(
        { ...parties, links: [{ ...link, list, assetFreeze }] } as never,
        [],
        loadSourceTable(),
      ).get('htx')?.[0]?.assetFreeze;
    const of = (list: string) => [true, false, null].map((stated) => freezes(list, stated));
    expect([of('OFAC_CONS'), of('OFAC_SDN'), of('UK')]).toEqual([
      [false, false, false],
      [true, false, true],
      [true, false, null],
    ]);
  });

  it('overrides the link of an imported party, and leaves only its past', () => {
    const parties = loadEntityParties();
    const sources = loadSourceTable();
    const of = (states: Parameters<typeof designationsOf>[1], entity: string) =>
      designationsOf(parties, states, sources).get(entity);
    expect(of([], 'htx')).toMatchObject([{ basis: 'link', delistedAt: null, assetFreeze: true }]);
    expect(of([read([0])], 'htx')).toMatchObject([{ basis: 'list', delistedAt: null }]);
    expect(of([read([0])], 'exmo')).toBeUndefined();
    expect(of([read([0, 2])], 'htx')).toMatchObject([{ basis: 'list', delistedAt: '2026-10-01' }]);
    const ofac = withFile(
      emptyList('OFAC_SDN'),
      { ...file('2026-01-01', ['1']), list: 'OFAC_SDN' },
      { force: false },
    );
    expect(of([ofac], 'tornado-cash')).toMatchObject([{ basis: 'link', delistedAt: '2025-03-21' }]);
    expect(of([ofac], 'suex')).toBeUndefined();
  });
});

async function partiesOf(reader: SourceReader, file: string): Promise<Map<string, DesignatedParty>> {
  const found = new Map<string, DesignatedParty>();
  for await (const record of reader([file])) if (record.type === 'party') found.set(record.entityId, record);
  return found;
}

describeWithSharedData('shipped links that call themselves verified', () => {
  const normal = (text: string): string => text.replace(/\s+/g, ' ').trim().toLowerCase();

  it('are entries of the real lists, with that name, date, program and asset freeze', async () => {
    const uk = await partiesOf(ukReader, sharedData('uk', 'uk_sanctions_list_2026-08-22.jsonl.gz'));
    const eu = await partiesOf(euReader, sharedData('eu', 'eu_fsf_names_2026-05-01.jsonl.gz'));
    const before = await partiesOf(readOfacOnce, MARCH_4);
    const after = await partiesOf(readOfacOnce, MARCH_21);
    const links = loadEntityParties().links.filter(({ verified }) => verified);
    expect(links.length).toBeGreaterThanOrEqual(20);
    for (const link of links) {
      const lists = { UK: uk, EU: eu, OFAC_SDN: link.delistedAt === null ? after : before };
      const party = lists[link.list as keyof typeof lists].get(link.entry);
      const place = `${link.entity} ${link.list} ${link.entry}`;
      expect(party, place).toBeDefined();
      expect(
        party?.names.map(({ text }) => normal(text)),
        place,
      ).toContain(normal(link.name));
      if (link.list !== 'EU') {
        expect(link.listedAt, place).toBe(party?.listedAt);
        expect(link.program, place).toBe(party?.programs.join(', '));
      }
      if (link.list === 'UK') {
        expect(party?.assetFreeze, place).toBe(true);
        expect(link.measures, place).toEqual(party?.measures);
      }
      if (link.delistedAt !== null) expect(after.has(link.entry), place).toBe(false);
    }
  }, 120_000);
});
