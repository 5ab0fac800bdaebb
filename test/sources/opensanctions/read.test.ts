/** OpenSanctions' two published layouts, genuine in form: entities of the FollowTheMoney model, and the flat table of targets. */
import { expect, it } from 'vitest';
import type { NamedHeader, NamedParty, NamedRecord } from '../../../src/sources/named-party.ts';
import { openSanctionsReader } from '../../../src/sources/opensanctions/read.ts';
import { listTypeOfDataset, listTypesOf } from '../../../src/sources/opensanctions/topics.ts';
import type { Reject } from '../../../src/sources/records.ts';
import { temporaryFiles } from '../../setup/read-source.ts';
import { FTM_LINES, SIMPLE_CSV } from './samples.ts';

const file = temporaryFiles();

async function read(name: string, content: string, dataset?: string) {
  const records: NamedRecord[] = [];
  const reader = openSanctionsReader(dataset === undefined ? {} : { dataset });
  for await (const record of reader([file(name, content)])) records.push(record);
  return {
    parties: records.filter((one): one is NamedParty => one.type === 'named'),
    rejects: records.filter((one): one is Reject => one.type === 'reject'),
    headers: records.filter((one): one is NamedHeader => one.type === 'header'),
  };
}

it('reads persons by their topics, and ignores other topics', async () => {
  const { parties, rejects, headers } = await read('entities.ftm.json', FTM_LINES.join('\n'));
  expect(rejects).toEqual([]);
  expect(parties.map((party) => [party.entityId, party.listType])).toEqual([
    ['Q567', 'pep'],
    ['Q100', 'pep'],
    ['Q100', 'adverse_media'],
    ['NK-reg', 'adverse_media'],
    ['NK-rca', 'pep'],
  ]);
  expect(headers).toEqual([
    { type: 'header', publishedAt: '2026-11-20T06:00:00.000Z', layout: 'FTM_JSON', passedOver: 3 },
  ]);
  expect(parties[0]).toMatchObject({
    schema: 'Person',
    names: [
      { text: 'Angela Merkel', kind: 'primary', weak: false },
      { text: 'Ангела Меркель', kind: 'alias', weak: false },
      { text: 'Angela Dorothea Merkel', kind: 'alias', weak: false },
      { text: 'Angela Kasner', kind: 'former', weak: false },
      { text: 'Mutti', kind: 'alias', weak: true },
    ],
    birthDates: ['1954-07-17'],
    countries: ['DE'],
    programs: ['role.pep', 'Federal Chancellor of Germany'],
    listedAt: '2023-01-01',
    sourceUrl: 'https://www.opensanctions.org/entities/Q567/',
  });
  expect(parties[3]).toMatchObject({ schema: 'Organization', programs: ['reg.warn'], countries: ['GB'] });
});

it('reads the flat table by the dataset of each row', async () => {
  const { parties, rejects, headers } = await read('targets.simple.csv', SIMPLE_CSV, 'peps');
  expect(parties.map((party) => [party.entityId, party.listType, party.schema])).toEqual([
    ['Q567', 'pep', 'Person'],
    ['NK-co', 'pep', 'Organization'],
  ]);
  expect(parties[0]).toMatchObject({
    names: [{ text: 'Angela Merkel' }, { text: 'Merkel, Angela' }, { text: 'geb. Kasner' }],
    birthDates: ['1954-07-17', '1954'],
    countries: ['DE', 'EU'],
  });
  expect(rejects.map((reject) => reject.provenance.line)).toEqual([4]);
  expect(headers[0]).toMatchObject({ publishedAt: '2026-11-20T06:00:00.000Z', passedOver: 1 });
});

it('rejects rows whose dataset is unknown', async () => {
  const { parties, rejects } = await read(
    'targets.simple.csv',
    SIMPLE_CSV.replaceAll('Politically Exposed', 'Some'),
  );
  expect(parties).toEqual([]);
  expect(rejects[0]?.reason).toContain('--dataset peps');
});

it('recognises topics and names of datasets', () => {
  expect([...listTypesOf(['sanction', 'poi', 'export.control']).keys()]).toEqual([]);
  expect([...listTypesOf(['crime.fin', 'role.rca', 'reg.action']).keys()]).toEqual(['pep', 'adverse_media']);
  expect(listTypesOf(['crimea']).size).toBe(0);
  expect(listTypeOfDataset('us_cia_world_leaders')).toBe('pep');
  expect(listTypeOfDataset('crime.targets.simple.csv')).toBe('adverse_media');
  expect(listTypeOfDataset('default')).toBeNull();
});

it('a table without its columns is rejected', async () => {
  await expect(read('targets.simple.csv', 'name,address\nA,B\n')).rejects.toThrow(/lacks id, schema/);
  await expect(read('targets.simple.csv', '')).rejects.toThrow(/no header/);
});

it('rejects any damaged file with a sentence, and returns no party without a name', async () => {
  const whole = [FTM_LINES.join('\n'), SIMPLE_CSV];
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return (seed >>> 8) % below;
  };
  for (let round = 0; round < 300; round++) {
    const text = whole[round % 2] as string;
    const at = random(text.length);
    const broken =
      round % 3 === 0
        ? text.slice(0, at)
        : `${text.slice(0, at)}${['"', '\n', '\u0000', '{', ']', ';;;', '9e999', '\\u00'][random(8)]}${text.slice(at + random(3))}`;
    try {
      const { parties, rejects } = await read(`fuzz-${round}.txt`, broken, 'peps');
      for (const party of parties) {
        expect(party.names.length).toBeGreaterThan(0);
        expect(party.entityId).not.toBe('');
      }
      for (const reject of rejects) expect(reject.reason).toMatch(/\.$/);
    } catch (error) {
      expect(error).toMatchObject({ name: 'AssayError', code: 'INVALID_FILE' });
    }
  }
});
