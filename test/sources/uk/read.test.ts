import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ukReader } from '../../../src/sources/uk/read.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';
import { collect, withFolder } from '../collect.ts';

const CSV_HEADER = sharedData('uk', 'uk_sanctions_list_csv_header.csv');
const CONLIST_HEADER = sharedData('uk', 'uk_ofsi_conlist_2022format_header.csv');

/** Builds a row with the given cells under the columns of a genuine header line, empty elsewhere. */
function rowUnder(headerFile: string, cells: Readonly<Record<string, string>>): string {
  const header = readFileSync(headerFile, 'utf8').trim().split('\n')[1]?.split(',') ?? [];
  for (const name of Object.keys(cells)) {
    if (!header.includes(name)) throw new Error(`no column ${name}`);
  }
  const taken = new Set<string>();
  return header
    .map((name) => {
      const cell = taken.has(name) ? '' : (cells[name] ?? '');
      taken.add(name);
      return `"${cell.replaceAll('"', '""')}"`;
    })
    .join(',');
}

describeWithSharedData('the UK list as issued', () => {
  it('reads 6,346 designations and finds the wallets in their free text, and nothing else', async () => {
    const { parties, rejects } = await collect(
      ukReader,
      sharedData('uk', 'uk_sanctions_list_2026-08-22.jsonl.gz'),
    );
    expect(rejects).toEqual([]);
    expect(parties.length).toBe(6_346);
    expect(new Set(parties.map((party) => party.entityId)).size).toBe(6_346);
    const count = (schema: string): number => parties.filter((party) => party.schema === schema).length;
    expect(['Person', 'Organization', 'Vessel'].map(count)).toEqual([4_035, 1_645, 666]);
    expect(parties.every((party) => party.listedAt !== null && party.programs.length === 1)).toBe(true);
    expect(parties.find((party) => party.entityId === 'RUS3619')).toMatchObject({
      assetFreeze: true,
      measures: [
        'Asset freeze',
        'Trust Services Sanctions',
        'Director Disqualification Sanction',
        'Internet Services Sanctions: see "Other Information"',
        'Correspondent Banking Sanctions and processing payments',
      ],
    });
    expect(parties.filter((party) => typeof party.assetFreeze !== 'boolean')).toEqual([]);
    const names = parties.flatMap((party) => party.names);
    expect(names.filter((name) => name.weak).length).toBe(620);
    expect(
      parties.flatMap((party) =>
        party.addresses.map((one) => `${party.names[0]?.text}: ${one.address} ${one.currency}`),
      ),
    ).toEqual([
      'XINBI COMPANY LIMITED: TW5tokvhEfrb77z98Rc8HqbkzQJ6sxYtGX TRX',
      'XINBI COMPANY LIMITED: TBKpozurdWLrbKkxtDqkveeq1dSB8Axj3V TRX',
      'EXMO EXCHANGE LIMITED: TJqUC56SDZ373JYRurzXtMcor2HQvN9BaU null',
      'EXMO EXCHANGE LIMITED: TVa1p4aTVoHuF4EDGthn57FbKNbu4DRJkQ null',
      'EXMO EXCHANGE LIMITED: TCQqA58EmX6AnUZKPCogL2Q441B4ThbJGN null',
      'RAPIRA GROUP LLC: bc1q72ud4m6zf5g37jkhc2ty95zm5vel9ufdxquqpm null',
    ]);
  });

  it('reads the XML, with dates of unknown day and month', async () => {
    const { headers, parties } = await collect(ukReader, sharedData('uk', 'uk_sanctions_list_excerpt.xml'));
    expect(headers).toEqual([{ type: 'header', lists: ['UK'], publishedAt: '2026-09-10', layout: 'UK_XML' }]);
    expect(parties).toMatchObject([
      {
        entityId: 'BEL0107',
        schema: 'Organization',
        names: [
          { text: 'BNK (UK) Ltd', kind: 'primary', weak: false },
          { text: 'BNK UK Limited', kind: 'alias', weak: false },
          { text: 'BNK', kind: 'alias', weak: true },
        ],
        programs: ['The Republic of Belarus (Sanctions) (EU Exit) Regulations 2019'],
        countries: ['GB'],
        listedAt: '2021-06-21',
        assetFreeze: true,
        measures: ['Asset freeze', 'Director Disqualification Sanction'],
      },
      {
        entityId: 'AQD0195',
        schema: 'Person',
        names: [{ text: 'Fadhil Harun', kind: 'primary' }],
        birthDates: ['1972'],
        countries: ['KM'],
        listedAt: '2010-05-13',
      },
    ]);
  });

  it('reads the CSV under its Report Date, one party from many rows', async () => {
    const head = readFileSync(CSV_HEADER, 'utf8').trim();
    const first = {
      'Unique ID': 'CYB0001',
      'Name 6': 'EXMO',
      'Name type': 'Primary Name',
      'Designation Type': 'Entity',
      'Date Designated': '26/05/2026',
      'Regime Name': 'Russia',
      'Sanctions Imposed': 'Asset freeze|Trust Services Sanctions',
      'Address Country': 'Russia',
      'Other Information': 'Wallets:\nTJqUC56SDZ373JYRurzXtMcor2HQvN9BaU',
    };
    const rows = [
      rowUnder(CSV_HEADER, first),
      rowUnder(CSV_HEADER, {
        ...first,
        'Name type': 'Alias',
        'Name 6': 'Ex',
        'Name 1': 'Mo',
        'Alias strength': 'Low quality a.k.a',
      }),
      rowUnder(CSV_HEADER, { ...first, 'Address Country': 'United Kingdom', 'D.O.B': 'dd/mm/1972' }),
    ];
    await withFolder(async (write) => {
      const whole = `${head}\n${rows.join('\n')}\n`;
      const { headers, parties, rejects } = await collect(ukReader, write('uk.csv', whole));
      expect(headers).toEqual([
        { type: 'header', lists: ['UK'], publishedAt: '2026-06-24', layout: 'UK_CSV' },
      ]);
      expect(rejects).toEqual([]);
      expect(parties).toMatchObject([
        {
          entityId: 'CYB0001',
          names: [
            { text: 'EXMO', kind: 'primary' },
            { text: 'Mo Ex', kind: 'alias', weak: true },
          ],
          countries: ['RU', 'GB'],
          birthDates: ['1972'],
          listedAt: '2026-05-26',
          programs: ['Russia'],
          assetFreeze: true,
          measures: ['Asset freeze', 'Trust Services Sanctions'],
          addresses: [{ address: 'TJqUC56SDZ373JYRurzXtMcor2HQvN9BaU', currency: null }],
          provenance: { file: 'uk.csv', line: 3 },
        },
      ]);
      await expect(collect(ukReader, write('cut.csv', whole.slice(0, -90)))).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: expect.stringContaining('cut.csv, line'),
      });
    });
  });

  it('reads OFSI’s former list with the same ids', async () => {
    const head = readFileSync(CONLIST_HEADER, 'utf8').trim();
    const row = rowUnder(CONLIST_HEADER, {
      'Name 6': 'HAQQANI',
      'Name 1': 'Sirajuddin',
      'Name Non-Latin Script': 'سراج الدین',
      DOB: '00/00/1977',
      Nationality: '(1) Afghanistan',
      'Group Type': 'Individual',
      'Alias Type': 'Primary name',
      Regime: 'Afghanistan',
      'UK Sanctions List Date Designated': '31/12/2020',
      'Other Information': '(UK Sanctions List Ref):AFG0144. (UN Ref):TAi.144.',
      'Group ID': '7172',
    });
    await withFolder(async (write) => {
      const { headers, parties } = await collect(ukReader, write('ConList.csv', `${head}\n${row}\n`));
      expect(headers).toEqual([
        { type: 'header', lists: ['UK'], publishedAt: '2026-06-03', layout: 'OFSI_CONLIST' },
      ]);
      expect(parties).toMatchObject([
        {
          entityId: 'AFG0144',
          schema: 'Person',
          names: [
            { text: 'Sirajuddin HAQQANI', kind: 'primary' },
            { text: 'سراج الدین', kind: 'alias', script: 'non-Latin' },
          ],
          birthDates: ['1977'],
          countries: ['AF'],
          listedAt: '2020-12-31',
        },
      ]);
    });
  });
});

describe('files that are not a UK list', () => {
  it.each([
    ['page.csv', '<!DOCTYPE html><html></html>', 'an HTML page'],
    ['empty.csv', '', 'empty'],
    ['other.csv', 'a,b\n1,2\n', 'none of them'],
    ['cut.jsonl', '{"unique_id":"AFG0001","na', 'line 1: not a JSON object'],
    ['cut.xml', '<Designations><Designation><UniqueID>A</UniqueID>', 'not well-formed'],
  ])('refuses %s', async (name, content, message) => {
    await withFolder(async (write) => {
      await expect(collect(ukReader, write(name, content))).rejects.toMatchObject({
        code: 'INVALID_FILE',
        message: expect.stringContaining(message),
      });
    });
  });
});
