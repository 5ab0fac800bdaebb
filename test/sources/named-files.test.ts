/**
 * Lists of debarred, wanted and politically exposed people. The files are made by hand in the layouts that their publishers document; no row is
 * an excerpt, and no person or firm exists.
 */
import { describe, expect, it } from 'vitest';
import { companiesHouseReader } from '../../src/sources/companies-house/read.ts';
import { euParliamentReader } from '../../src/sources/eu-parliament/read.ts';
import { everyPoliticianReader } from '../../src/sources/everypolitician/read.ts';
import { fbiReader } from '../../src/sources/fbi/read.ts';
import { interpolReader } from '../../src/sources/interpol/read.ts';
import type { NamedReader, NamedRecord } from '../../src/sources/named-party.ts';
import { samReader } from '../../src/sources/sam/read.ts';
import { ukParliamentReader } from '../../src/sources/uk-parliament/read.ts';
import { usCongressReader } from '../../src/sources/us-congress/read.ts';
import { worldCheckReader } from '../../src/sources/world-check/read.ts';
import { worldBankReader } from '../../src/sources/worldbank/read.ts';
import { temporaryFiles } from '../setup/read-source.ts';

const file = temporaryFiles();

async function read(reader: NamedReader, name: string, content: string): Promise<NamedRecord[]> {
  const records: NamedRecord[] = [];
  for await (const record of reader([file(name, content)])) records.push(record);
  return records;
}

const texts = (record: NamedRecord | undefined): string[] =>
  record?.type === 'named' ? record.names.map((name) => `${name.weak ? 'weak ' : ''}${name.text}`) : [];

describe('the listing of the World Bank', () => {
  const rows = [
    {
      SUPP_ID: 101,
      SUPP_NAME: 'EXAMPLE CONSTRUCTION LTD. (A.K.A. EXAMPLE BUILDERS, FORMERLY SAMPLE WORKS)*12',
      COUNTRY_NAME: 'Kenya',
      DEBAR_FROM_DATE: '2024-03-01',
      DEBAR_TO_DATE: '2027-02-28',
      DEBAR_REASON: 'Procurement Guidelines, 1.16(a)(ii)',
    },
    { SUPP_ID: 102, SUPP_NAME: 'MR. JOHN Q. EXAMPLE', COUNTRY_NAME: 'Peru', DEBAR_TO_DATE: '2999-12-31' },
    { SUPP_ID: 103, SUPP_NAME: '' },
  ];

  it('has firms and people with all their names, their country, and the end of the debarment', async () => {
    const [firm, person, reject, header] = await read(
      worldBankReader,
      'debarred.json',
      JSON.stringify({ response: { ZPROCSUPP: rows } }),
    );
    expect(firm).toMatchObject({
      listType: 'adverse_media',
      entityId: '101',
      schema: 'Unknown',
      countries: ['KE'],
      listedAt: '2024-03-01',
      programs: ['debarred until 2027-02-28: Procurement Guidelines, 1.16(a)(ii)'],
    });
    expect(texts(firm)).toEqual(['EXAMPLE CONSTRUCTION LTD.', 'EXAMPLE BUILDERS', 'SAMPLE WORKS']);
    expect(person).toMatchObject({ schema: 'Person', programs: ['debarred'], countries: ['PE'] });
    expect(texts(person)).toEqual(['JOHN Q. EXAMPLE']);
    expect(reject).toMatchObject({ type: 'reject', reason: 'The row has no name.', provenance: { line: 3 } });
    expect(header).toMatchObject({ type: 'header', layout: 'WORLD_BANK_JSON' });
  });

  it('is nothing but this JSON', async () => {
    await expect(read(worldBankReader, 'x.json', '{"items":[]}')).rejects.toThrow(/response\.ZPROCSUPP/);
    await expect(read(worldBankReader, 'x.json', 'nothing')).rejects.toThrow(/not JSON/);
    await expect(read(worldBankReader, 'x.json', '')).rejects.toThrow(/x\.json.*is empty/);
  });
});

describe('the wanted persons of the FBI', () => {
  const item = {
    uid: 'a1',
    title: 'JANE EXAMPLE - TUCSON, ARIZONA',
    aliases: ['"Janey"', 'Jane Sample'],
    dates_of_birth_used: ['August 15, 1997', '1998'],
    nationality: 'American',
    possible_countries: ['MEX', 'Mexico'],
    subjects: ['Ten Most Wanted Fugitives'],
    description: 'Unlawful Flight to Avoid Prosecution',
    publication: '2017-02-06T07:27:00',
    modified: '2026-07-22T17:52:30+00:00',
    url: 'https://www.fbi.gov/wanted/topten/jane-example',
    person_classification: 'Main',
    poster_classification: 'ten',
    status: 'na',
  };

  it('are read from pages, without victims, missing and captured people', async () => {
    const page = {
      total: 4,
      page: 1,
      items: [
        item,
        { ...item, uid: 'a2', person_classification: 'Victim' },
        { ...item, uid: 'a3', poster_classification: 'missing' },
        { ...item, uid: 'a4', status: 'captured' },
      ],
    };
    const more = { total: 4, page: 2, items: [{ ...item, uid: 'a5', modified: '2026-10-01T00:00:00' }] };
    const [first, second, header] = await read(
      fbiReader,
      'fbi.json',
      `${JSON.stringify(page)}\n${JSON.stringify(more)}\n`,
    );
    expect(first).toMatchObject({
      listType: 'adverse_media',
      entityId: 'a1',
      schema: 'Person',
      birthDates: ['1997-08-15', '1998'],
      countries: ['MX'],
      programs: ['Ten Most Wanted Fugitives', 'Unlawful Flight to Avoid Prosecution'],
      listedAt: '2017-02-06',
      sourceUrl: 'https://www.fbi.gov/wanted/topten/jane-example',
    });
    expect(texts(first)).toEqual(['JANE EXAMPLE', 'Janey', 'Jane Sample']);
    expect(second).toMatchObject({ entityId: 'a5' });
    expect(header).toMatchObject({ publishedAt: '2026-10-01', passedOver: 3 });
  });
});

describe('red notices of Interpol', () => {
  const notice = {
    entity_id: '2026/12345',
    name: 'EXAMPLE',
    forename: 'JOHN ADAM',
    date_of_birth: '1980/01/15',
    nationalities: ['US', 'FR'],
    _links: { self: { href: 'https://ws-public.interpol.int/notices/v1/red/2026-12345' } },
  };

  it('are read from pages of a search, and as whole notices', async () => {
    const whole = {
      ...notice,
      entity_id: '2026/2',
      arrest_warrants: [{ charge: 'fraude', charge_translation: 'fraud', issuing_country_id: 'FR' }],
    };
    const yellow = {
      ...notice,
      _links: { self: { href: 'https://ws-public.interpol.int/notices/v1/yellow/2026-9' } },
    };
    const page = { total: 2, _embedded: { notices: [notice, yellow] } };
    const [first, second, header] = await read(
      interpolReader,
      'red.json',
      `${JSON.stringify(page)}\n${JSON.stringify(whole)}\n`,
    );
    expect(first).toMatchObject({
      entityId: '2026/12345',
      birthDates: ['1980-01-15'],
      countries: ['US', 'FR'],
      programs: ['Red notice'],
      sourceUrl: 'https://ws-public.interpol.int/notices/v1/red/2026-12345',
    });
    expect(texts(first)).toEqual(['EXAMPLE, JOHN ADAM']);
    expect(second).toMatchObject({ entityId: '2026/2', programs: ['Red notice', 'fraud'] });
    expect(header).toMatchObject({ passedOver: 1 });
    await expect(read(interpolReader, 'x.json', '{}')).rejects.toThrow(/_embedded\.notices/);
  });
});

describe('the exclusions of SAM.gov', () => {
  const HEADER =
    'Classification,Name,Prefix,First,Middle,Last,Suffix,Address 1,Address 2,Address 3,Address 4,City,State / Province,Country,Zip Code,' +
    'Open Data Flag,Blank (Deprecated),Unique Entity ID,Exclusion Program,Excluding Agency,CT Code,Exclusion Type,Additional Comments,' +
    'Active Date,Termination Date,Record Status,Cross-Reference,SAM Number,CAGE,NPI,Creation_Date';
  const row = (...cells: readonly string[]): string => {
    const [classification, name, first, last, country, type, active, until, status, number] = cells;
    return `${classification},"${name}",,${first},,${last},,,,,,,,${country},,,,,Reciprocal,TREAS-OFAC,,${type},,${active},${until},${status},,${number},,,`;
  };

  it('are read from the public extract, without records that are not active', async () => {
    const [firm, person, vessel, reject, header] = await read(
      samReader,
      'SAM_Exclusions_Public_Extract_V2_26331.CSV',
      [
        HEADER,
        row(
          'Firm',
          'EXAMPLE LOGISTICS, LLC',
          '',
          '',
          'USA',
          'Prohibition/Restriction',
          '11/12/2023',
          '11/12/2027',
          'Active',
          'S4MR1',
        ),
        row(
          'Individual',
          '',
          'JOHN',
          'EXAMPLE',
          'IRN',
          'Ineligible',
          '2024-06-01',
          'Indefinite',
          '',
          'S4MR2',
        ),
        row('Vessel', 'SAMPLE STAR', '', '', '', 'Ineligible', '', '', '', 'S4MR3'),
        row('Firm', 'OLD EXAMPLE', '', '', '', 'Ineligible', '', '', 'Inactive', 'S4MR4'),
        row('Firm', 'NO NUMBER', '', '', '', 'Ineligible', '', '', '', ''),
        '',
      ].join('\r\n'),
    );
    expect(firm).toMatchObject({
      listType: 'adverse_media',
      entityId: 'S4MR1',
      schema: 'Organization',
      countries: ['US'],
      listedAt: '2023-11-12',
      programs: ['Prohibition/Restriction until 2027-11-12', 'Reciprocal', 'TREAS-OFAC'],
    });
    expect(texts(firm)).toEqual(['EXAMPLE LOGISTICS, LLC']);
    expect(person).toMatchObject({ schema: 'Person', countries: ['IR'], listedAt: '2024-06-01' });
    expect(texts(person)).toEqual(['EXAMPLE, JOHN']);
    expect(person).toMatchObject({ programs: ['Ineligible until indefinite', 'Reciprocal', 'TREAS-OFAC'] });
    expect(vessel).toMatchObject({ schema: 'Vessel', countries: [] });
    expect(reject).toMatchObject({ type: 'reject', reason: 'The row has no id.' });
    expect(header).toMatchObject({ layout: 'SAM_EXCLUSIONS_CSV', passedOver: 1 });
    await expect(read(samReader, 'x.csv', 'Name,Country\nA,B\n')).rejects.toThrow(/lacks Classification/);
    await expect(read(samReader, 'x.csv', '')).rejects.toThrow(/no header/);
  });
});

describe('politicians', () => {
  it('are read from Popolo JSON, with their offices', async () => {
    const document = {
      persons: [
        {
          id: 'p1',
          name: 'Ana Example',
          sort_name: 'Example, Ana',
          other_names: [{ name: 'Анна Пример', lang: 'ru' }],
          birth_date: '1970-05',
          links: [{ url: 'https://en.wikipedia.org/wiki/Ana_Example', note: 'Wikipedia (en)' }],
        },
        { id: 'p2', name: 'Dead Example', death_date: '2001-01-01' },
        { id: 'p3', name: 'Never Elected' },
      ],
      organizations: [{ id: 'o1', name: 'National Assembly' }],
      memberships: [
        { person_id: 'p1', organization_id: 'o1', role: 'member', start_date: '2019-03-01' },
        { person_id: 'p1', organization_id: 'o1', role: 'speaker', start_date: '2015-01-01' },
        { person_id: 'p2', organization_id: 'o1', role: 'member' },
      ],
    };
    const [person, header] = await read(everyPoliticianReader, 'ep.json', JSON.stringify(document));
    expect(person).toMatchObject({
      listType: 'pep',
      entityId: 'p1',
      schema: 'Person',
      birthDates: ['1970-05'],
      programs: ['member, National Assembly', 'speaker, National Assembly'],
      listedAt: '2015-01-01',
      sourceUrl: 'https://en.wikipedia.org/wiki/Ana_Example',
    });
    expect(texts(person)).toEqual(['Ana Example', 'Example, Ana', 'Анна Пример']);
    expect(header).toMatchObject({ passedOver: 2 });
  });

  it('are read from results of the Wikidata query', async () => {
    const value = (text: string) => ({ type: 'literal', value: text });
    const document = {
      head: { vars: ['person'] },
      results: {
        bindings: [
          {
            person: { type: 'uri', value: 'http://www.wikidata.org/entity/Q999999991' },
            personLabel: value('Ana Example'),
            aliases: value('A. Example|Анна Пример'),
            birthDate: value('1970-05-09T00:00:00Z'),
            countryCode: value('PE'),
            positions: value('minister of examples'),
            since: value('2020-01-02T00:00:00Z'),
          },
          {
            person: { type: 'uri', value: 'http://www.wikidata.org/entity/Q999999992' },
            personLabel: value('Q999999992'),
          },
        ],
      },
    };
    const [person, reject] = await read(everyPoliticianReader, 'wd.json', JSON.stringify(document));
    expect(person).toMatchObject({
      listType: 'pep',
      entityId: 'Q999999991',
      birthDates: ['1970-05-09'],
      countries: ['PE'],
      programs: ['minister of examples'],
      listedAt: '2020-01-02',
      sourceUrl: 'http://www.wikidata.org/entity/Q999999991',
    });
    expect(texts(person)).toEqual(['Ana Example', 'A. Example', 'Анна Пример']);
    expect(reject).toMatchObject({ type: 'reject', reason: 'The row has no name.' });
    await expect(read(everyPoliticianReader, 'x.json', '{"a":1}')).rejects.toThrow(/Popolo/);
  });
});

describe('the World-Check data file', () => {
  const COLUMNS =
    'UID|LAST NAME|FIRST NAME|ALIASES|LOW QUALITY ALIASES|ALTERNATIVE SPELLING|CATEGORY|TITLE|SUB-CATEGORY|POSITION|AGE|DOB|PLACE OF BIRTH|DECEASED|PASSPORTS|SSN|LOCATIONS|COUNTRIES|COMPANIES|E/I|LINKED TO|FURTHER INFORMATION|KEYWORDS|EXTERNAL SOURCES|UPDATE CATEGORY|ENTERED|UPDATED|EDITOR|AGE DATE (AS OF DATE)';
  const row = (cells: Readonly<Record<string, string>>): string =>
    COLUMNS.split('|')
      .map((column) => cells[column] ?? '')
      .join('\t');

  it('has adverse media and politically exposed people, with passports', async () => {
    const [person, firm, politician, header] = await read(
      worldCheckReader,
      'world-check.txt',
      [
        COLUMNS.replaceAll('|', '\t'),
        row({
          UID: '1',
          'LAST NAME': 'EXAMPLE',
          'FIRST NAME': 'John',
          ALIASES: 'SAMPLE,John;EXAMPLE,Johnny',
          'LOW QUALITY ALIASES': 'JE',
          CATEGORY: 'CRIME - FINANCIAL',
          DOB: '1963/00/00',
          PASSPORTS: 'AB1234567 (IRAN)',
          COUNTRIES: 'IRAN;UNITED KINGDOM',
          'E/I': 'M',
          'EXTERNAL SOURCES': 'http://www.example.org/1 http://www.example.org/2',
          ENTERED: '2019/04/05',
          UPDATED: '2026/09/30',
        }),
        row({ UID: '2', 'LAST NAME': 'EXAMPLE TRADING CO', CATEGORY: 'CORPORATE', 'E/I': 'E' }),
        row({
          UID: '3',
          'LAST NAME': 'SAMPLE',
          'FIRST NAME': 'Ana',
          CATEGORY: 'INDIVIDUAL',
          'SUB-CATEGORY': 'PEP N-R',
          POSITION: 'Minister',
          'E/I': 'F',
        }),
        '',
      ].join('\n'),
    );
    expect(person).toMatchObject({
      listType: 'adverse_media',
      entityId: '1',
      schema: 'Person',
      birthDates: ['1963'],
      countries: ['IR', 'GB'],
      programs: ['CRIME - FINANCIAL'],
      listedAt: '2019-04-05',
      sourceUrl: 'http://www.example.org/1',
      identifiers: [{ kind: 'passport', value: 'AB1234567' }],
    });
    expect(texts(person)).toEqual(['EXAMPLE, John', 'SAMPLE,John', 'EXAMPLE,Johnny', 'weak JE']);
    expect(firm).toMatchObject({ schema: 'Organization', listType: 'adverse_media' });
    expect(politician).toMatchObject({ listType: 'pep', programs: ['INDIVIDUAL', 'PEP N-R', 'Minister'] });
    expect(header).toMatchObject({ publishedAt: '2026-09-30', layout: 'WORLD_CHECK_TSV' });
  });
});

describe('the disqualified officers of Companies House', () => {
  const natural = {
    date_of_birth: '1968-06-04',
    disqualifications: [
      {
        case_identifier: 'INV0000001',
        company_names: ['EXAMPLE BUILDERS LIMITED'],
        court_name: 'Example County Court',
        disqualification_type: 'court-order',
        disqualified_from: '2024-02-01',
        disqualified_until: '2031-01-31',
        reason: { act: 'company-directors-disqualification-act-1986', section: '6' },
      },
    ],
    forename: 'Ana',
    kind: 'natural-disqualification',
    links: { self: '/disqualified-officers/natural/exampleId-1' },
    nationality: 'British',
    other_forenames: 'Maria',
    surname: 'Example',
  };
  const corporate = {
    company_number: '01234567',
    country_of_registration: 'United Kingdom',
    disqualifications: [{ disqualified_from: '2020-05-01', reason: { act: 'x-act', article: '9' } }],
    kind: 'corporate-disqualification',
    links: { self: '/disqualified-officers/corporate/exampleId-2' },
    name: 'EXAMPLE NOMINEES LIMITED',
  };

  it('are read as resources of the API, with the period, the reason and the company', async () => {
    const [person, company, header] = await read(
      companiesHouseReader,
      'disqualified.ndjson',
      `${JSON.stringify(natural)}\n${JSON.stringify(corporate)}\n`,
    );
    expect(person).toMatchObject({
      listType: 'adverse_media',
      entityId: 'exampleId-1',
      schema: 'Person',
      birthDates: ['1968-06-04'],
      programs: [
        'disqualified until 2031-01-31: company directors disqualification act 1986, section 6',
        'as an officer of EXAMPLE BUILDERS LIMITED',
      ],
      listedAt: '2024-02-01',
      sourceUrl:
        'https://find-and-update.company-information.service.gov.uk/disqualified-officers/natural/exampleId-1',
    });
    expect(texts(person)).toEqual(['Example, Ana Maria']);
    expect(company).toMatchObject({
      entityId: 'exampleId-2',
      schema: 'Organization',
      countries: ['GB'],
      programs: ['disqualified: x act, article 9'],
      identifiers: [{ kind: 'registrationNumber', value: '01234567' }],
    });
    expect(texts(company)).toEqual(['EXAMPLE NOMINEES LIMITED']);
    expect(header).toMatchObject({ layout: 'COMPANIES_HOUSE_JSON', publishedAt: null });
  });

  it('are read as events of the stream, without those that were deleted', async () => {
    const event = (id: string, type: string, at: string) => ({
      resource_kind: 'disqualified-officer-natural',
      resource_uri: `/disqualified-officers/natural/${id}`,
      resource_id: id,
      data: { ...natural, links: { self: `/disqualified-officers/natural/${id}` } },
      event: { timepoint: 1, published_at: at, type },
    });
    const [person, header] = await read(
      companiesHouseReader,
      'stream.ndjson',
      [
        event('a1', 'changed', '2026-11-18T10:00:00'),
        event('a3', 'changed', '2026-11-19T10:00:00'),
        event('a1', 'changed', '2026-11-20T10:00:00'),
        event('a2', 'deleted', '2026-11-21T10:00:00'),
        event('a3', 'deleted', '2026-11-21T11:00:00'),
      ]
        .map((one) => JSON.stringify(one))
        .join('\n'),
    );
    expect(person).toMatchObject({ entityId: 'a1', schema: 'Person', provenance: { line: 3 } });
    expect(header).toMatchObject({ publishedAt: '2026-11-21', passedOver: 4 });
    await expect(read(companiesHouseReader, 'x.json', '{"items":[]}')).rejects.toThrow(/disqualifications/);
  });
});

describe('members of parliaments', () => {
  it('are read from pages of the UK Parliament, without former members', async () => {
    const member = (id: number, seat: object) => ({
      value: {
        id,
        nameListAs: 'Example, Ms Ana',
        nameDisplayAs: 'Ms Ana Example',
        nameFullTitle: 'Rt Hon Ana Example MP',
        latestParty: { id: 1, name: 'Example Party' },
        latestHouseMembership: { membershipFrom: 'Sample North', house: 1, ...seat },
      },
      links: [],
    });
    const page = {
      items: [
        member(1, {
          membershipStartDate: '2019-12-12T00:00:00',
          membershipEndDate: null,
          membershipStatus: { statusIsActive: true },
        }),
        member(2, { membershipEndDate: '2024-05-30T00:00:00', membershipStatus: null }),
      ],
      totalResults: 2,
    };
    const [person, header] = await read(ukParliamentReader, 'members.json', JSON.stringify(page));
    expect(person).toMatchObject({
      listType: 'pep',
      entityId: '1',
      schema: 'Person',
      countries: ['GB'],
      programs: ['Member, House of Commons, Sample North', 'Example Party'],
      listedAt: '2019-12-12',
      sourceUrl: 'https://members.parliament.uk/member/1',
    });
    expect(texts(person)).toEqual(['Ms Ana Example', 'Example, Ms Ana']);
    expect(header).toMatchObject({ passedOver: 1, layout: 'UK_PARLIAMENT_JSON' });
    await expect(read(ukParliamentReader, 'x.json', '{"items":[{"id":1}]}')).rejects.toThrow(/Members API/);
  });

  it('are read from the XML of the European Parliament', async () => {
    const [person, reject, header] = await read(
      euParliamentReader,
      'meps.xml',
      '<?xml version="1.0" encoding="UTF-8"?><meps><mep><fullName>Ana María EXAMPLE</fullName><country>Finland</country>' +
        '<politicalGroup>Group of Examples</politicalGroup><id>999001</id><nationalPoliticalGroup>Sample Party</nationalPoliticalGroup></mep>' +
        '<mep><fullName></fullName><country>Malta</country><id>999002</id></mep></meps>',
    );
    expect(person).toMatchObject({
      listType: 'pep',
      entityId: '999001',
      countries: ['FI'],
      programs: ['Member of the European Parliament', 'Group of Examples', 'Sample Party'],
      sourceUrl: 'https://www.europarl.europa.eu/meps/en/999001',
    });
    expect(texts(person)).toEqual(['Ana María EXAMPLE']);
    expect(reject).toMatchObject({ type: 'reject', reason: 'The row has no name.' });
    expect(header).toMatchObject({ layout: 'EU_PARLIAMENT_XML' });
    await expect(read(euParliamentReader, 'x.xml', '<other></other>')).rejects.toThrow(/x\.xml/);
    await expect(read(euParliamentReader, 'x.xml', '<meps><mep>')).rejects.toThrow(/x\.xml/);
  });

  it('are read from the array of the members of Congress, with nicknames and earlier names', async () => {
    const members = [
      {
        id: { bioguide: 'E000001', govtrack: 1 },
        name: {
          first: 'Ana',
          middle: 'M.',
          last: 'Example',
          nickname: 'Annie',
          official_full: 'Ana M. Example',
        },
        other_names: [{ end: '2010-01-01', last: 'Sample' }],
        bio: { birthday: '1960-02-03', gender: 'F' },
        terms: [
          {
            type: 'rep',
            start: '2009-01-06',
            end: '2011-01-03',
            state: 'WA',
            district: 1,
            party: 'Democrat',
          },
          { type: 'sen', start: '2021-01-03', end: '2027-01-03', state: 'WA', class: 1, party: 'Democrat' },
        ],
      },
    ];
    const [person, header] = await read(
      usCongressReader,
      'legislators-current.json',
      JSON.stringify(members),
    );
    expect(person).toMatchObject({
      listType: 'pep',
      entityId: 'E000001',
      birthDates: ['1960-02-03'],
      countries: ['US'],
      programs: ['Senator, WA', 'Democrat'],
      listedAt: '2009-01-06',
      sourceUrl: 'https://bioguide.congress.gov/search/bio/E000001',
    });
    expect(texts(person)).toEqual(['Ana M. Example', 'Example, Ana M.', 'Annie Example', 'Sample, Ana']);
    expect(header).toMatchObject({ layout: 'CONGRESS_LEGISLATORS_JSON' });
    await expect(read(usCongressReader, 'x.json', '[{"name":"Ana"}]')).rejects.toThrow(/terms/);
  });
});
