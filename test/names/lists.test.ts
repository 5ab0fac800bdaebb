/** The store of listed parties: which file decides, how parties that leave a list are kept, and which files are refused. */
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/log.ts';
import { type NameStore, openNameStore } from '../../src/names/lists.ts';
import { ensurePepSeed, importNameFiles, type NameImportDeps } from '../../src/names/lists-import.ts';
import type { NameEntity } from '../../src/names/name.ts';
import {
  type OfficialFiles,
  type OfficialLists,
  receiveOfficialNames,
} from '../../src/names/official-import.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { FTM_LINES } from '../sources/opensanctions/samples.ts';

const clock: Clock = { now: () => Date.parse('2026-11-21T12:00:00Z'), monotonic: () => 0 };

let dataDir = '';
let names: NameStore;
let deps: NameImportDeps;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'assay-names-'));
  names = openNameStore({ folder: join(dataDir, 'names') });
  deps = { names, clock, log: createLogger({ level: 'silent' }) };
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const file = (name: string, content: string): string => {
  const path = join(dataDir, name);
  writeFileSync(path, content);
  return path;
};

async function partiesOf(list: string): Promise<NameEntity[]> {
  const row = names.row(list);
  if (row === null) return [];
  const parties: NameEntity[] = [];
  for await (const party of names.parties(row)) parties.push(party);
  return parties;
}

describe('own and published lists', () => {
  it('are named by their files, without the ending', async () => {
    const members = file(
      'meps.xml',
      '<meps><mep><fullName>Ana EXAMPLE</fullName><country>Malta</country><id>1</id></mep></meps>',
    );
    await importNameFiles({ source: 'eu-parliament', files: [members] }, deps);
    expect(names.row('eu-parliament:meps:pep')).toMatchObject({ parties: 1, listType: 'pep' });
    expect(await partiesOf('eu-parliament:meps:pep')).toMatchObject([{ entityId: '1', countries: ['MT'] }]);
  });

  const own = (rows: string): string => file('watch list.csv', `name,list,id\n${rows}`);

  it('rejects a date in the future, which would be fresh until then', async () => {
    const request = { source: 'people', files: [own('A,pep,1\n')], published: '2031-01-01' } as const;
    await expect(importNameFiles(request, deps)).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      field: 'published',
    });
    expect(names.rows()).toEqual([]);
  });

  it('dates a file that was imported before without its date', async () => {
    const files = [own('A,pep,1\n')];
    await importNameFiles({ source: 'people', files }, deps);
    const published = '2026-10-01';
    expect(await importNameFiles({ source: 'people', files, published }, deps)).toMatchObject([
      { status: 'older' },
    ]);
    expect(await importNameFiles({ source: 'people', files, published, force: true }, deps)).toMatchObject([
      { status: 'imported', publishedAt: published },
    ]);
    expect(names.row('people:watch-list:pep')).toMatchObject({
      publishedAt: published,
      checkedAt: published,
      parties: 1,
    });
    expect(await importNameFiles({ source: 'people', files, published }, deps)).toMatchObject([
      { status: 'unchanged' },
    ]);
  });

  it('keeps a delisted entry as history, delisted on the date of the newer file', async () => {
    await importNameFiles({ source: 'people', files: [own('A,pep,1\nB,pep,2\nC,adverse_media,3\n')] }, deps);
    const [report] = await importNameFiles(
      { source: 'people', files: [own('A,pep,1\nD,pep,4\n')], published: '2026-11-20' },
      // A user may date a file of their own back, so an import of an older date must be forced.
      deps,
    );
    expect(report).toMatchObject({ status: 'older' });
    const [forced] = await importNameFiles(
      { source: 'people', files: [own('A,pep,1\nD,pep,4\n')], published: '2026-11-20', force: true },
      deps,
    );
    expect(forced).toMatchObject({
      status: 'imported',
      lists: [{ list: 'people:watch-list:pep', listType: 'pep', parties: 2 }],
    });
    expect(
      (await partiesOf('people:watch-list:pep')).map((party) => [party.entityId, party.delistedAt]),
    ).toEqual([
      ['1', null],
      ['4', null],
      ['2', '2026-11-20'],
    ]);
    expect(names.row('people:watch-list:pep')).toMatchObject({ parties: 2, delisted: 1, verified: true });
    expect(names.row('people:watch-list:adverse_media')).toBeNull();
    // An entry keeps the date on which it left, however many files follow, until it is listed again.
    const later = async (rows: string, published: string) => {
      await importNameFiles({ source: 'people', files: [own(rows)], published }, deps);
      return (await partiesOf('people:watch-list:pep')).map((party) => [party.entityId, party.delistedAt]);
    };
    expect(await later('D,pep,4\n', '2026-11-21')).toEqual([
      ['4', null],
      ['1', '2026-11-21'],
      ['2', '2026-11-20'],
    ]);
    expect(await later('B,pep,2\n', '2026-11-21')).toEqual([
      ['2', null],
      ['4', '2026-11-21'],
      ['1', '2026-11-21'],
    ]);
  });

  it('ignores the same content under any file name', async () => {
    await importNameFiles({ source: 'people', files: [own('A,pep,1\n')], dataset: 'mine' }, deps);
    const before = names.revision();
    const copy = file('other.csv', 'name,list,id\nA,pep,1\n');
    const [report] = await importNameFiles({ source: 'people', files: [copy], dataset: 'mine' }, deps);
    expect(report).toMatchObject({ status: 'unchanged', dataset: 'mine' });
    expect(names.revision()).toBe(before);
  });

  it('rejects a file without parties, and a published list that lost more than half of its entries', async () => {
    await expect(importNameFiles({ source: 'people', files: [own('')] }, deps)).rejects.toThrow(/no person/);
    const many = FTM_LINES[0] as string;
    const lines = Array.from({ length: 10 }, (_, at) => many.replace('"Q567"', `"Q${at}"`));
    await importNameFiles({ source: 'opensanctions', files: [file('peps.json', lines.join('\n'))] }, deps);
    const fewer = file('peps.json', `${lines.slice(0, 4).join('\n')}`);
    await expect(importNameFiles({ source: 'opensanctions', files: [fewer] }, deps)).rejects.toMatchObject({
      code: 'IMPLAUSIBLE_LIST',
    });
    expect(names.row('opensanctions:peps:pep')).toMatchObject({ parties: 10 });
    await importNameFiles({ source: 'opensanctions', files: [fewer], force: true }, deps);
    expect(names.row('opensanctions:peps:pep')).toMatchObject({ parties: 4, delisted: 6 });
  });

  it('rejects files of one call that would be the same list, of which only the last would stay', async () => {
    const files = ['a.csv', 'a.txt'].map((name, at) => file(name, `name,list,id\nA,sanctions,${at}\n`));
    await expect(importNameFiles({ source: 'people', files }, deps)).rejects.toThrow(
      /a\.csv and .*a\.txt would both be the dataset 'a'.* No file of this call was imported\.$/,
    );
    await expect(importNameFiles({ source: 'people', files, dataset: 'b' }, deps)).rejects.toThrow(
      "would both be the dataset 'b'",
    );
    expect(names.rows()).toEqual([]);
  });

  it('leaves no unreferenced file behind', async () => {
    await importNameFiles({ source: 'people', files: [own('A,pep,1\n')] }, deps);
    writeFileSync(join(names.folder, 'lists', 'dead.123.partial'), 'x');
    await importNameFiles({ source: 'people', files: [own('A,pep,1\nB,pep,2\n')] }, deps);
    await expect(importNameFiles({ source: 'people', files: [own('')] }, deps)).rejects.toThrow();
    expect(readdirSync(join(names.folder, 'lists'))).toEqual(names.rows().map((row) => row.file));
  });

  it('imports the heads of state once', async () => {
    await ensurePepSeed(deps);
    const row = names.row('seed:heads-of-state:pep');
    expect(row).toMatchObject({ listType: 'pep', verified: false, rejected: 0 });
    const before = readFileSync(join(names.folder, 'catalogue.json'), 'utf8');
    await ensurePepSeed(deps);
    expect(readFileSync(join(names.folder, 'catalogue.json'), 'utf8')).toBe(before);
  });

  it('reports a changed or missing party by the checksum of its list', async () => {
    await importNameFiles({ source: 'people', files: [own('Ann Able,pep,1\nBob Baker,pep,2\n')] }, deps);
    const path = join(names.folder, 'lists', names.row('people:watch-list:pep')?.file ?? '');
    const written = readFileSync(path, 'utf8');
    expect(await partiesOf('people:watch-list:pep')).toHaveLength(2);
    const lines = written.trimEnd().split('\n');
    for (const damaged of [
      written.replace('Ann Able', 'Ann Abel'),
      `${lines[0]}\n`,
      `${[...lines].reverse().join('\n')}\n`,
      `${written}${lines[0]}\n`,
    ]) {
      writeFileSync(path, damaged);
      await expect(partiesOf('people:watch-list:pep')).rejects.toMatchObject({
        code: 'STORE_CORRUPT',
        message: expect.stringContaining('does not match its checksum'),
      });
    }
    writeFileSync(path, written);
    expect(await partiesOf('people:watch-list:pep')).toHaveLength(2);
  });

  it.each([
    ['lost', (path: string) => rmSync(path)],
    ['damaged', (path: string) => appendFileSync(path, '{')],
  ])(
    'replace a %s file by the same content only with force, because their history is lost',
    async (_, harm) => {
      const list = 'people:watch-list:pep';
      await importNameFiles({ source: 'people', files: [own('A,pep,1\nB,pep,2\n')] }, deps);
      const files = [own('A,pep,1\n')];
      await importNameFiles({ source: 'people', files }, deps);
      expect(names.row(list)).toMatchObject({ parties: 1, delisted: 1 });
      harm(join(names.folder, 'lists', names.row(list)?.file ?? ''));
      await expect(partiesOf(list)).rejects.toThrow(/import the list again with --force/);
      await expect(importNameFiles({ source: 'people', files }, deps)).rejects.toThrow(
        /import the list again with --force/,
      );
      await importNameFiles({ source: 'people', files, force: true }, deps);
      expect(await partiesOf(list)).toHaveLength(1);
      expect(names.row(list)).toMatchObject({ parties: 1, delisted: 0 });
    },
  );

  it('write a damaged list of a publisher again if its unchanged file is imported with force', async () => {
    const files = [
      file(
        'sdn.xml',
        `<?xml version="1.0"?><sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML"><publshInformation><Publish_Date>03/04/2026</Publish_Date><Record_Count>1</Record_Count></publshInformation><sdnEntry><uid>1</uid><lastName>Quaternion Works</lastName><sdnType>Entity</sdnType><programList><program>CYBER2</program></programList></sdnEntry></sdnList>`,
      ),
    ];
    const read = { source: 'ofac', files, contentHash: 'a', checkedAt: null } as const;
    const lists = [{ list: 'OFAC_SDN', publishedAt: '2026-03-04' }] as const;
    const receive = async (force: boolean): Promise<void> => {
      const receiver = receiveOfficialNames({ ...read, force }, deps);
      await receiver?.finish({ lists, checkedAt: null });
      await receiver?.abort();
    };
    await receive(false);
    rmSync(join(names.folder, 'lists', names.row('OFAC_SDN')?.file ?? ''));
    await receive(false);
    await expect(partiesOf('OFAC_SDN')).rejects.toThrow(/is missing/);
    await receive(true);
    expect(await partiesOf('OFAC_SDN')).toHaveLength(1);
  });

  it('keep a party in force whose row cannot be read in a newer file', async () => {
    const sdn = (day: string, name: string): string =>
      file(
        `sdn-${day}.xml`,
        `<?xml version="1.0"?><sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML"><publshInformation><Publish_Date>03/${day}/2026</Publish_Date><Record_Count>1</Record_Count></publshInformation><sdnEntry><uid>1</uid><lastName>${name}</lastName><sdnType>Entity</sdnType><programList><program>CYBER2</program></programList></sdnEntry></sdnList>`,
      );
    const receive = async (day: string, name: string, force: boolean): Promise<void> => {
      const read = { source: 'ofac', files: [sdn(day, name)], contentHash: day, force } as const;
      const receiver = receiveOfficialNames(read, deps);
      const lists = [{ list: 'OFAC_SDN', publishedAt: `2026-03-${day}` }] as const;
      await receiver?.finish({ lists, checkedAt: null });
      await receiver?.abort();
    };
    await receive('04', 'Quaternion Works', false);
    await receive('05', '', false);
    expect(names.row('OFAC_SDN')).toMatchObject({ parties: 1, delisted: 0, rejected: 1 });
    expect(await partiesOf('OFAC_SDN')).toMatchObject([{ entityId: '1', delistedAt: null }]);
    await receive('06', '', true);
    expect(await partiesOf('OFAC_SDN')).toMatchObject([{ entityId: '1', delistedAt: '2026-03-06' }]);
  });

  it('do not change if an older file is imported', async () => {
    const receive = async (day: string, uid: string): Promise<void> => {
      const sdn = file(
        `sdn-${day}.xml`,
        `<?xml version="1.0"?><sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML"><publshInformation><Publish_Date>03/${day}/2026</Publish_Date><Record_Count>1</Record_Count></publshInformation><sdnEntry><uid>${uid}</uid><lastName>Quaternion Works</lastName><sdnType>Entity</sdnType><programList><program>CYBER2</program></programList></sdnEntry></sdnList>`,
      );
      const receiver = receiveOfficialNames({ source: 'ofac', files: [sdn], contentHash: day }, deps);
      const lists = [{ list: 'OFAC_SDN', publishedAt: `2026-03-${day}` }] as const;
      await receiver?.finish({ lists, checkedAt: null });
      await receiver?.abort();
    };
    await receive('05', '2');
    const row = names.row('OFAC_SDN');
    await receive('04', '1');
    expect(names.row('OFAC_SDN')).toEqual(row);
    expect(await partiesOf('OFAC_SDN')).toMatchObject([{ entityId: '2', delistedAt: null }]);
  });

  it.each([
    ['keep', 'imported without the time of its download', null, null],
    ['keep', 'downloaded before the known one', '2026-03-05T08:00:00.000Z', null],
    ['delist', 'downloaded after the known one', '2026-03-06T08:00:00.000Z', '2026-03-05'],
  ] as const)(
    '%s a party that another file of the same date lacks, if that was %s',
    async (_, __, checkedAt, delistedAt) => {
      const receive = async (name: string, uids: readonly string[], at: string | null): Promise<void> => {
        const rows = uids.map(
          (uid) =>
            `<sdnEntry><uid>${uid}</uid><lastName>Works ${uid}</lastName><sdnType>Entity</sdnType><programList><program>CYBER2</program></programList></sdnEntry>`,
        );
        const sdn = file(
          name,
          `<?xml version="1.0"?><sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML"><publshInformation><Publish_Date>03/05/2026</Publish_Date><Record_Count>1</Record_Count></publshInformation>${rows.join('')}</sdnList>`,
        );
        const receiver = receiveOfficialNames({ source: 'ofac', files: [sdn], contentHash: name }, deps);
        const lists = [{ list: 'OFAC_SDN', publishedAt: '2026-03-05' }] as const;
        await receiver?.finish({ lists, checkedAt: at });
        await receiver?.abort();
      };
      await receive('a.xml', ['1', '2'], '2026-03-05T18:00:00.000Z');
      await receive('b.xml', ['1'], checkedAt);
      const parties = (await partiesOf('OFAC_SDN')) as readonly NameEntity[];
      expect(parties.find(({ entityId }) => entityId === '2')).toMatchObject({ delistedAt });
      expect(names.row('OFAC_SDN')).toMatchObject({
        checkedAt: delistedAt === null ? '2026-03-05T18:00:00.000Z' : checkedAt,
      });
    },
  );

  it('keep parties in force that a newer file lacks, if a row of it shows no party', async () => {
    let day = 3;
    const receive = async (entries: readonly (readonly [uid: string, name: string])[], force = false) => {
      const of = String(++day).padStart(2, '0');
      const rows = entries.map(
        ([uid, name]) =>
          `<sdnEntry><uid>${uid}</uid><lastName>${name}</lastName><sdnType>Entity</sdnType><programList><program>CYBER2</program></programList></sdnEntry>`,
      );
      const sdn = file(
        `sdn-${of}.xml`,
        `<?xml version="1.0"?><sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML"><publshInformation><Publish_Date>03/${of}/2026</Publish_Date><Record_Count>1</Record_Count></publshInformation>${rows.join('')}</sdnList>`,
      );
      const receiver = receiveOfficialNames({ source: 'ofac', files: [sdn], contentHash: of, force }, deps);
      await receiver?.finish({
        lists: [{ list: 'OFAC_SDN', publishedAt: `2026-03-${of}` }],
        checkedAt: null,
      });
      await receiver?.abort();
      const parties = (await partiesOf('OFAC_SDN')) as readonly NameEntity[];
      return parties
        .filter(({ delistedAt }) => delistedAt === null)
        .map(({ entityId }) => entityId)
        .sort();
    };
    const [one, two, three] = [
      ['1', 'One'],
      ['2', 'Two'],
      ['3', 'Three'],
    ] as const;
    const misprint = ['', 'One'] as const;
    expect(await receive([one, two, three])).toEqual(['1', '2', '3']);
    // The row of the first party lost its id, and the same in the next file.
    expect(await receive([misprint, two, three])).toEqual(['1', '2', '3']);
    expect(await receive([misprint, two, three])).toEqual(['1', '2', '3']);
    expect(await receive([two, three])).toEqual(['2', '3']);
    // A misprint that the former file has too hides nothing.
    expect(await receive([['', 'Other'], two, three])).toEqual(['2', '3']);
    expect(await receive([['', 'Other'], two])).toEqual(['2']);
    expect(await receive([misprint])).toEqual(['2']);
    expect(await receive([misprint, three], true)).toEqual(['3']);
  });

  it('rejects files of another format version, and names the position of a defect', async () => {
    await importNameFiles({ source: 'people', files: [own('A,pep,1\n')] }, deps);
    const row = names.row('people:watch-list:pep');
    appendFileSync(join(names.folder, 'lists', row?.file ?? ''), '{"entityId":');
    await expect(partiesOf('people:watch-list:pep')).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    writeFileSync(join(names.folder, 'catalogue.json'), '{"format":99,"lists":[]}');
    expect(() => names.rows()).toThrow(/format version 99/);
  });
});

describeWithSharedData('the official lists', () => {
  /** The label store has the files already, so the name store reads them itself. */
  async function importOfficialNames(read: OfficialFiles & OfficialLists): Promise<void> {
    const receiver = receiveOfficialNames(read, deps);
    await receiver?.finish(read);
    await receiver?.abort();
  }

  const official = (
    source: string,
    list: OfficialLists['lists'][number]['list'],
    publishedAt: string,
    checkedAt: string | null,
    ...path: string[]
  ): OfficialFiles & OfficialLists => ({
    source,
    files: [sharedData(...path)],
    contentHash: `${path.join('/')}`,
    lists: [{ list, publishedAt }],
    checkedAt,
  });

  it('contain every party with all its names, and ignore an older file', async () => {
    const newer = official('ofac', 'OFAC_CONS', '2022-02-24', null, 'ofac', 'consolidated_2022-02-24.xml');
    const older = official('ofac', 'OFAC_CONS', '2022-02-22', null, 'ofac', 'consolidated_2022-02-22.xml');
    await importOfficialNames(older);
    const first = names.row('OFAC_CONS');
    await importOfficialNames(newer);
    const second = names.row('OFAC_CONS');
    expect(second?.parties).toBeGreaterThan(first?.parties ?? Number.POSITIVE_INFINITY);
    await importOfficialNames(older);
    expect(names.row('OFAC_CONS')).toEqual(second);
    await importOfficialNames({ ...newer, checkedAt: '2026-11-20T00:00:00.000Z' });
    expect(names.row('OFAC_CONS')).toEqual({ ...second, checkedAt: '2026-11-20T00:00:00.000Z' });
  });

  it('contain original scripts, weak aliases and birth dates of the UN list', async () => {
    await importOfficialNames(
      official('un', 'UN', '2026-02-27', null, 'un', 'un_consolidated_2026-02-27.xml'),
    );
    const parties = await partiesOf('UN');
    expect(parties.length).toBe(730 + 273);
    const texts = parties.flatMap((party) => party.names);
    expect(texts.some((name) => /\p{Script=Arabic}/u.test(name.text))).toBe(true);
    expect(texts.some((name) => name.weak)).toBe(true);
    expect(parties.filter((party) => party.birthDates.length > 0).length).toBeGreaterThan(500);
    expect(parties.every((party) => party.sourceUrl?.startsWith('https://'))).toBe(true);
  });
});
