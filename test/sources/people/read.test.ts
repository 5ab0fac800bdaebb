/** A user's own list of names, and the shipped heads of state. */
import { describe, expect, it } from 'vitest';
import type { NamedParty, NamedRecord } from '../../../src/sources/named-party.ts';
import { peopleReader } from '../../../src/sources/people/read.ts';
import { pepSeedFiles, pepSeedReader } from '../../../src/sources/people/seed.ts';
import { temporaryFiles } from '../../setup/read-source.ts';

const file = temporaryFiles();

async function read(content: string): Promise<NamedRecord[]> {
  const records: NamedRecord[] = [];
  for await (const record of peopleReader([file('own.csv', content)])) records.push(record);
  return records;
}

describe('own names', () => {
  it('reads all columns of a row', async () => {
    const [party, header] = await read(
      'Name,LIST,id,schema,aliases,weak_aliases,birth_date,countries,programs,listed_at,source_url\n' +
        '"Doe, John",adverse media,c-1,Person,J. Doe;Johnny Doe,JD,1972-05;9.5.1972,Germany;FR,fraud case,2026-01-31,https://example.org/1\n',
    );
    expect(party).toEqual({
      type: 'named',
      listType: 'adverse_media',
      entityId: 'c-1',
      schema: 'Person',
      names: [
        { text: 'Doe, John', kind: 'primary', weak: false, script: null },
        { text: 'J. Doe', kind: 'alias', weak: false, script: null },
        { text: 'Johnny Doe', kind: 'alias', weak: false, script: null },
        { text: 'JD', kind: 'alias', weak: true, script: null },
      ],
      birthDates: ['1972-05', '1972-05-09'],
      countries: ['DE', 'FR'],
      programs: ['fraud case'],
      listedAt: '2026-01-31',
      sourceUrl: 'https://example.org/1',
      provenance: { file: 'own.csv', line: 2 },
    });
    expect(header).toMatchObject({ type: 'header', layout: 'PEOPLE_CSV', publishedAt: null });
  });

  it('gives the reason for every rejected row', async () => {
    const records = await read(
      'name,list,birth_date,colour\nA,pep,yesterday,\nB,friends,,\n,pep,,\nC,pep\nD,pep,1970,red\n',
    );
    expect(records.map((one) => (one.type === 'reject' ? one.reason : one.type))).toEqual([
      "Columns that mean nothing are ignored: 'colour'.",
      "birth_date: 'yesterday' is not a date such as 1972-05-09, 1972-05 or 1972.",
      "list: must be one of sanctions, pep, adverse_media (got 'friends').",
      'name: is empty.',
      'The row has 2 cells; expected 4.',
      'named',
      'header',
    ]);
  });

  it('rejects a file without its columns', async () => {
    await expect(read('name\nA\n')).rejects.toThrow(/lacks list/);
    await expect(read('name;list\nA;B\n')).rejects.toThrow(/separated by semicolons; save it with commas\.$/);
    await expect(read('name,list,list\nA,pep,pep\n')).rejects.toThrow(/list twice/);
    await expect(read('')).rejects.toThrow(/no header/);
  });
});

it('rejects any damaged file with a sentence', async () => {
  const whole = 'name,list,id,aliases,birth_date\n"Doe, ""J"" ",pep,1,A;B,1970\nRoe,adverse_media,2,,\n';
  for (let at = 0; at < whole.length; at++) {
    const signs = ['"', '\n', '\u0000', ',', '\u{1f600}'];
    const broken = [
      whole.slice(0, at),
      ...signs.map((sign) => whole.slice(0, at) + sign + whole.slice(at + 1)),
    ];
    for (const text of broken) {
      try {
        for (const record of await read(text)) {
          if (record.type === 'named') expect(record.names[0]?.text).not.toBe('');
          if (record.type === 'reject') expect(record.reason).toMatch(/\.$/);
        }
      } catch (error) {
        expect(error).toMatchObject({ name: 'AssayError', code: 'INVALID_FILE' });
      }
    }
  }
});

describe('heads of state that ship', () => {
  it('are at least 60 dated facts, each with its source and none twice', async () => {
    const parties: NamedParty[] = [];
    for await (const record of pepSeedReader(await pepSeedFiles())) {
      expect(record.type).not.toBe('reject');
      if (record.type === 'named') parties.push(record);
      if (record.type === 'header') expect(record.publishedAt).toMatch(/^\d{4}-\d\d-\d\d$/);
    }
    expect(parties.length).toBeGreaterThanOrEqual(60);
    expect(new Set(parties.map((party) => party.entityId)).size).toBe(parties.length);
    for (const party of parties) {
      expect(party.sourceUrl).toMatch(/^https?:\/\//);
      expect(party.programs[0]).toMatch(/\(as of \d{4}-\d\d-\d\d\)$/);
    }
  });
});
