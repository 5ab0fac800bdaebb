import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ofacReader } from '../../../src/sources/ofac/read.ts';
import type { DesignatedParty } from '../../../src/sources/records.ts';
import { MARCH_4, MARCH_21, memoryOfReading, readOfacOnce } from '../../setup/ofac-records.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';
import { expectEqual } from '../../support/equal.ts';
import { type Collected, collect, withFolder } from '../collect.ts';

const LEGACY = ['sdn_2021-07.csv', 'add_2021-07.csv', 'alt_2021-07.csv', 'sdn_comments_2021-07.csv'].map(
  (name) => sharedData('ofac', name),
);

const walletsOf = (parties: readonly DesignatedParty[], currency?: string): string[] =>
  parties.flatMap((party) =>
    party.addresses
      .filter((one) => currency === undefined || one.currency === currency)
      .map((one) => one.address),
  );

const byId = (parties: readonly DesignatedParty[], id: string): DesignatedParty => {
  const party = parties.find((one) => one.entityId === id);
  if (!party) throw new Error(`no party ${id}`);
  return party;
};

describeWithSharedData('SDN_ADVANCED.XML as issued', () => {
  it('reads the list of 2025-03-04 completely', async () => {
    const { headers, parties, rejects } = await collect(readOfacOnce, MARCH_4);
    expect(headers).toEqual([
      { type: 'header', lists: ['OFAC_SDN'], publishedAt: '2025-03-04', layout: 'SDN_ADVANCED' },
    ]);
    expect(rejects).toEqual([]);
    expect(parties.length).toBe(17_635);
    expect(new Set(parties.map((party) => party.entityId)).size).toBe(17_635);
    expect(parties.reduce((sum, party) => sum + party.names.length, 0)).toBe(46_976);
    expect(walletsOf(parties).length).toBe(717);
    expect(walletsOf(parties, 'ETH').length).toBe(153);
    expect(walletsOf(parties, 'XBT').length).toBe(485);
    const count = (schema: string): number => parties.filter((party) => party.schema === schema).length;
    expect(['Organization', 'Person', 'Vessel', 'Aircraft'].map(count)).toEqual([8_710, 7_365, 1_186, 374]);
    expect(parties.every((party) => party.list === 'OFAC_SDN' && party.listedAt !== null)).toBe(true);
    expect(parties.every((party) => party.names[0]?.kind === 'primary')).toBe(true);

    // Nationalities refer to locations that only print the name of a country.
    expect(byId(parties, '6906').countries).toEqual(['IQ', 'CU']);
    expect(byId(parties, '6918').countries).toEqual(['SA']);

    const lazarus = parties.find((party) =>
      party.addresses.some((one) => one.address === '0x098B716B8Aaf21512996dC57EB0615e2383E2f96'),
    );
    expect(lazarus?.names[0]).toEqual({
      text: 'Lazarus Group',
      kind: 'primary',
      weak: false,
      script: 'Latn',
    });
    expect(lazarus?.programs).toEqual(['DPRK3']);
    expect(lazarus?.countries).toContain('KP');

    const bank = byId(parties, '306');
    expect(bank.names).toEqual([
      { text: 'BANCO NACIONAL DE CUBA', kind: 'primary', weak: false, script: 'Latn' },
      { text: 'BNC', kind: 'alias', weak: true, script: 'Latn' },
      { text: 'NATIONAL BANK OF CUBA', kind: 'alias', weak: false, script: 'Latn' },
    ]);
    expect(bank).toMatchObject({
      listedAt: '1989-03-30',
      programs: ['CUBA'],
      countries: ['CH', 'ES', 'JP', 'PA'],
    });

    expect(byId(parties, '35074')).toMatchObject({
      names: [
        { text: 'Tokareva, Galina Alekseyevna', kind: 'primary', script: 'Latn' },
        { text: 'Токарева, Галина Алексеевна', kind: 'alias', script: 'Cyrl' },
      ],
      birthDates: ['1951-09-24'],
      countries: ['RU'],
      programs: ['RUSSIA-EO14024'],
    });
  });

  it('reads the list of 2025-03-21 without the 90 ETH wallets of Tornado Cash', async () => {
    const { headers, parties } = await collect(readOfacOnce, MARCH_21);
    expect(headers[0]?.publishedAt).toBe('2025-03-21');
    expect(parties.length).toBe(17_701);
    expect(walletsOf(parties).length).toBe(627);
    expect(walletsOf(parties, 'ETH').length).toBe(63);
    expect(walletsOf(parties)).not.toContain('0x8589427373D6D84E98730D7795D8f6f8731FDA16');
  });

  it('holds the 115 MB file in no more than 300 MB', () => {
    expect(memoryOfReading(MARCH_4)).toBeLessThanOrEqual(300);
  });
});

describeWithSharedData('CONSOLIDATED.XML as issued', () => {
  it.each([
    ['consolidated_2022-02-22.xml', '2022-02-22', 444, 1_515],
    ['consolidated_2022-02-24.xml', '2022-02-24', 462, 1_641],
  ])('reads %s as the consolidated list, not as the SDN list', async (name, publishedAt, count, names) => {
    const { headers, parties, rejects } = await collect(ofacReader, sharedData('ofac', name));
    expect(headers).toEqual([
      { type: 'header', lists: ['OFAC_CONS'], publishedAt, layout: 'CONSOLIDATED_XML' },
    ]);
    expect(rejects).toEqual([]);
    expect(parties.length).toBe(count);
    expect(parties.every((party) => party.list === 'OFAC_CONS')).toBe(true);
    expect(parties.reduce((sum, party) => sum + party.names.length, 0)).toBe(names);
    expect(walletsOf(parties)).toEqual([]);
    expect(byId(parties, '9639')).toMatchObject({
      schema: 'Person',
      names: [
        { text: 'HANIYA, Ismail Abdul Salah', kind: 'primary' },
        { text: 'HANIYA, Ismail', kind: 'alias' },
        { text: 'HANIYYA, Ismaeel', kind: 'alias' },
      ],
      programs: ['NS-PLC'],
      birthDates: ['1962'],
    });
  });
});

describeWithSharedData('legacy CSV tables as issued', () => {
  let all: Collected;
  beforeAll(async () => {
    all = await collect(ofacReader, ...LEGACY);
  });

  it('joins the tables, given in any order', async () => {
    const { headers, parties, rejects } = all;
    expect(headers).toEqual([
      { type: 'header', lists: ['OFAC_SDN'], publishedAt: null, layout: 'LEGACY_CSV' },
    ]);
    expect(rejects).toEqual([]);
    expect(parties.length).toBe(8_976);
    // 8,976 main names, the 11,910 rows of alt.csv, and the weak aliases from the remarks.
    const names = parties.flatMap((party) => party.names);
    expect(names.filter((name) => !name.weak).length).toBe(8_976 + 11_910);
    expect(names.filter((name) => name.weak).length).toBe(2_441);
    expect(walletsOf(parties).length).toBe(97);
    expectEqual(await collect(ofacReader, ...LEGACY.toReversed()), all);
  });

  it('reads a remark to its end, even if it is cut inside an address', () => {
    const { parties } = all;
    const secondEye = byId(parties, '30518');
    expect(secondEye.addresses.length).toBe(19);
    expect(walletsOf([secondEye])).toContain('1GqChmWqGtsaLrGbHfgdrV5Nkvahtjjuxr');
    expect(walletsOf([secondEye]).at(-1)).toBe('18M8bJWMzWHDBMxoLqjHHAffdRy4SrzkfB');
    expect(secondEye.programs).toEqual(['CYBER2', 'ELECTION-EO13848']);
    // Cut in the middle of the words 'Digital Currency Address'.
    expect(walletsOf([byId(parties, '29703')], 'ETH')).toEqual([
      '0x8576acc5c05d6ce88f4e49bf65bdf0c62f91353c',
    ]);
  });

  it('returns an address as printed, even one of 39 digits', () => {
    expect(walletsOf(all.parties, 'ETH')).toContain('0xa7e5d5a720f06526557c513402f2e6b5fa20b00');
  });

  it('names the missing tables, and returns no partial address', async () => {
    // Without a row in it, as if the remarks were not continued.
    const { parties, rejects } = await withFolder((write) =>
      collect(ofacReader, LEGACY[0] as string, write('sdn_comments.csv', '"0","-0-"\n')),
    );
    expect(parties.length).toBe(8_976);
    expect(rejects.map((one) => one.reason)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('alt.csv was not given'),
        expect.stringContaining('add.csv was not given'),
        expect.stringContaining('The remark is cut off'),
      ]),
    );
    const wallets = walletsOf([byId(parties, '30518')]);
    expect(wallets.at(-1)).toBe('16PhXY3hNNMTo8kpuJx2emh713KbWpkqci');
    expect(rejects.find((one) => one.text.includes('1Gq'))?.text).toBe(
      'alt. Digital Currency Address - XBT 1Gq',
    );
  });

  it('rejects a set without its main table, a repeated table, and a truncated table', async () => {
    await expect(collect(ofacReader, ...LEGACY.slice(1))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('sdn.csv'),
    });
    await expect(collect(ofacReader, ...LEGACY, LEGACY[0] as string)).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('second legacy table'),
    });
    const sdn = readFileSync(LEGACY[0] as string);
    await withFolder(async (write) => {
      const cut = write('sdn.csv', sdn.subarray(0, 1_000_000));
      await expect(collect(ofacReader, cut, ...LEGACY.slice(1))).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: expect.stringMatching(/^sdn\.csv, line \d+: /),
      });
    });
  });
});

describe('a legacy CSV table', () => {
  const table = (remark: string): string =>
    `1,"EXAMPLE","individual","CYBER2",-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,-0- ,"${remark}"\n`;

  it('is refused without sdn_comments if a remark is cut off: its wallets would be delisted', async () => {
    await withFolder(async (write) => {
      const wallet = 'Digital Currency Address - XBT 12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h';
      const cut = write('sdn.csv', table('x'.repeat(1_000)));
      await expect(collect(ofacReader, cut)).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: expect.stringContaining('add sdn_comments.csv'),
      });
      const whole = await collect(ofacReader, cut, write('sdn_comments.csv', `1,"; ${wallet}."\n`));
      expect(walletsOf(whole.parties)).toEqual(['12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h']);
      const short = await collect(ofacReader, write('sdn.csv', table(`DOB 1980; ${wallet}.`)));
      expect(walletsOf(short.parties)).toEqual(['12QtD5BFwRsdNsAZY76UVE1xyCGNTojH9h']);
    });
  });
});

const ADVANCED = (
  listId: string,
  wallet = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96',
): string => `<?xml version="1.0"?>
<o:Sanctions xmlns:o="http://www.un.org/sanctions/1.0">
  <o:DateOfIssue><o:Year>2019</o:Year><o:Month>7</o:Month><o:Day>9</o:Day></o:DateOfIssue>
  <o:ReferenceValueSets>
    <o:AliasTypeValues><o:AliasType ID="1">Name</o:AliasType><o:AliasType ID="2">F.K.A.</o:AliasType></o:AliasTypeValues>
    <o:FeatureTypeValues><o:FeatureType ID="77">Digital Currency Address - ETH</o:FeatureType><o:FeatureType ID="78">Nationality Country</o:FeatureType></o:FeatureTypeValues>
    <o:ListValues><o:List ID="10">SDN List</o:List><o:List ID="20">Consolidated List</o:List></o:ListValues>
    <o:LocPartTypeValues><o:LocPartType ID="1">Unknown</o:LocPartType><o:LocPartType ID="2">CITY</o:LocPartType></o:LocPartTypeValues>
  </o:ReferenceValueSets>
  <o:Locations>
    <o:Location ID="31"><o:LocationPart LocPartTypeID="2"><o:LocationPartValue><o:Value>Georgia</o:Value></o:LocationPartValue></o:LocationPart></o:Location>
    <o:Location ID="32"><o:LocationPart LocPartTypeID="1"><o:LocationPartValue><o:Value>Egypt</o:Value></o:LocationPartValue></o:LocationPart></o:Location>
  </o:Locations>
  <o:DistinctParties>
    <o:DistinctParty FixedRef="5"><o:Profile ID="5" PartySubTypeID="4"><o:Identity ID="1">
      <o:Alias AliasTypeID="1" Primary="true" LowQuality="false"><o:DocumentedName><o:DocumentedNamePart><o:NamePartValue>NEW NAME</o:NamePartValue></o:DocumentedNamePart></o:DocumentedName></o:Alias>
      <o:Alias AliasTypeID="2" Primary="false" LowQuality="true"><o:DocumentedName><o:DocumentedNamePart><o:NamePartValue>OLD NAME</o:NamePartValue></o:DocumentedNamePart></o:DocumentedName></o:Alias>
    </o:Identity>
    <o:Feature FeatureTypeID="77"><o:FeatureVersion><o:VersionDetail>${wallet}</o:VersionDetail></o:FeatureVersion></o:Feature>
    <o:Feature FeatureTypeID="78"><o:FeatureVersion><o:VersionLocation LocationID="31"/></o:FeatureVersion></o:Feature>
    <o:Feature FeatureTypeID="78"><o:FeatureVersion><o:VersionLocation LocationID="32"/></o:FeatureVersion></o:Feature>
    </o:Profile></o:DistinctParty>
    <o:DistinctParty FixedRef="6"><o:Profile ID="6"><o:Identity><o:Alias Primary="true"><o:DocumentedName><o:DocumentedNamePart><o:NamePartValue>NOT ENTERED</o:NamePartValue></o:DocumentedNamePart></o:DocumentedName></o:Alias></o:Identity></o:Profile></o:DistinctParty>
  </o:DistinctParties>
  <o:SanctionsEntries>
    <o:SanctionsEntry ProfileID="5" ListID="${listId}"><o:EntryEvent><o:Date><o:Year>2018</o:Year><o:Month>11</o:Month><o:Day>28</o:Day></o:Date></o:EntryEvent>
    <o:SanctionsMeasure><o:Comment>CYBER2</o:Comment></o:SanctionsMeasure></o:SanctionsEntry>
  </o:SanctionsEntries>
</o:Sanctions>`;

const SDN_XML = `<sdnList xmlns="http://tempuri.org/sdnList.xsd">
  <publshInformation><Publish_Date>07/09/2021</Publish_Date><Record_Count>1</Record_Count></publshInformation>
  <sdnEntry><uid>30518</uid><lastName>SECONDEYE SOLUTION</lastName><sdnType>Entity</sdnType>
    <programList><program>CYBER2</program></programList>
    <idList><id><uid>1</uid><idType>Digital Currency Address - XBT</idType><idNumber>1NE2NiGhhbkFPSEyNWwj7hKGhGDedBtSrQ</idNumber></id>
    <id><uid>2</uid><idType>Passport</idType><idNumber>4005504207</idNumber></id></idList>
    <akaList><aka><uid>3</uid><type>f.k.a.</type><category>weak</category><lastName>FORWARDERZ</lastName></aka></akaList>
    <addressList><address><uid>4</uid><country>Pakistan</country></address></addressList>
  </sdnEntry>
</sdnList>`;

describe('layouts of OFAC, recognised by content', () => {
  it('takes type ids and namespace from the file, and the list from its entries', async () => {
    await withFolder(async (write) => {
      const sdn = await collect(ofacReader, write('a.csv', ADVANCED('10')));
      expect(sdn.headers).toEqual([
        { type: 'header', lists: ['OFAC_SDN'], publishedAt: '2019-07-09', layout: 'SDN_ADVANCED' },
      ]);
      expect(sdn.parties).toMatchObject([
        {
          entityId: '5',
          list: 'OFAC_SDN',
          listedAt: '2018-11-28',
          programs: ['CYBER2'],
          names: [
            { text: 'NEW NAME', kind: 'primary', weak: false },
            { text: 'OLD NAME', kind: 'former', weak: true },
          ],
          // The name of a country that a nationality refers to is a part of unknown type; a city of that name is no country.
          countries: ['EG'],
          addresses: [{ address: '0x098B716B8Aaf21512996dC57EB0615e2383E2f96', currency: 'ETH' }],
        },
      ]);
      expect(sdn.rejects.map((one) => one.text)).toEqual(['6 NOT ENTERED']);
      const consolidated = await collect(ofacReader, write('b.xml', gzipSync(ADVANCED('20'))));
      expect(consolidated.headers[0]).toMatchObject({ lists: ['OFAC_CONS'], layout: 'CONS_ADVANCED' });
      expect(consolidated.parties[0]?.list).toBe('OFAC_CONS');
    });
  });

  it('reads SDN.XML by direct children: nested uids are not the party’s', async () => {
    await withFolder(async (write) => {
      const { headers, parties } = await collect(ofacReader, write('x', SDN_XML));
      expect(headers[0]).toMatchObject({ lists: ['OFAC_SDN'], publishedAt: '2021-07-09', layout: 'SDN_XML' });
      expect(parties).toMatchObject([
        {
          entityId: '30518',
          names: [
            { text: 'SECONDEYE SOLUTION', kind: 'primary' },
            { text: 'FORWARDERZ', kind: 'former', weak: true },
          ],
          countries: ['PK'],
          addresses: [{ address: '1NE2NiGhhbkFPSEyNWwj7hKGhGDedBtSrQ', currency: 'XBT' }],
          remarks: 'Passport: 4005504207',
        },
      ]);
    });
  });

  it('reads several files in one pass, each with its header', async () => {
    await withFolder(async (write) => {
      const { headers, parties } = await collect(
        ofacReader,
        write('sdn', ADVANCED('10')),
        write('cons', ADVANCED('20')),
      );
      expect(headers.map((one) => one.layout)).toEqual(['SDN_ADVANCED', 'CONS_ADVANCED']);
      expect(parties.map((party) => party.list)).toEqual(['OFAC_SDN', 'OFAC_CONS']);
    });
  });

  it('returns no party of a file that is truncated, corrupted or not a list', async () => {
    const whole = ADVANCED('10');
    const hostile: Record<string, string | Uint8Array> = {
      'cut.xml': whole.slice(0, whole.indexOf('<o:SanctionsEntries>')),
      'cut-at-the-end.xml': whole.slice(0, -3),
      'cut.gz': gzipSync(whole).subarray(0, 300),
      'page.xml': '<!DOCTYPE html><html><body>Service unavailable</body></html>',
      'empty.xml': '',
      'json.xml': '{"error":"busy"}',
      'laughs.xml': whole.replace('<o:Sanctions ', '<!DOCTYPE x [<!ENTITY a "ha">]><o:Sanctions '),
      'latin1.xml': Buffer.from(ADVANCED('10', 'é'), 'latin1'),
    };
    await withFolder(async (write) => {
      for (const [name, content] of Object.entries(hostile)) {
        const seen: string[] = [];
        const read = async (): Promise<void> => {
          for await (const record of ofacReader([write(name, content)])) seen.push(record.type);
        };
        await expect(read(), name).rejects.toMatchObject({
          code: 'INVALID_FILE',
          message: expect.stringContaining(name),
        });
        expect(seen, name).toEqual([]);
      }
    });
  });
});
