/** Screening by numbers of registers and documents: the same number is a match, whatever the names are. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readParties } from '../../bench/name-lists.ts';
import { nameQuery } from '../../src/http/operations/support/names.ts';
import { buildNameIndex } from '../../src/names/index/build.ts';
import { openNameIndex } from '../../src/names/index/open.ts';
import { versionOf } from '../../src/names/lists-fingerprints.ts';
import type { NameEntity, NameIndex } from '../../src/names/name.ts';
import type { PartyIdentifier } from '../../src/sources/records.ts';
import { MARCH_21, readOfacOnce } from '../setup/ofac-records.ts';
import { describeWithSharedData } from '../setup/shared-data.ts';

const clock = { now: () => Date.parse('2026-11-27T12:00:00Z'), monotonic: () => 0 };
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-identifiers-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function indexOf(name: string, entities: readonly NameEntity[]): Promise<NameIndex> {
  const path = join(folder, name);
  mkdirSync(path);
  await buildNameIndex(entities, path, { clock });
  return openNameIndex(path);
}

const entity = (entityId: string, text: string, identifiers: readonly PartyIdentifier[]): NameEntity => ({
  entityId,
  list: 'EU',
  listType: 'sanctions',
  schema: 'Unknown',
  names: [{ text, kind: 'primary', weak: false, script: null }],
  birthDates: [],
  countries: [],
  programs: [],
  listedAt: null,
  delistedAt: null,
  sourceUrl: null,
  ...(identifiers.length === 0 ? {} : { identifiers }),
});

const PARTIES = [
  entity('ship', 'Blue Example', [{ kind: 'imo', value: '9187629' }]),
  entity('plane', 'EP-MNA', [{ kind: 'tailNumber', value: 'EPMNA' }]),
  entity('person', 'Ivan Exampleev', [
    { kind: 'passport', value: 'A1234567' },
    { kind: 'nationalId', value: '1234567' },
  ]),
  entity('other', 'Maria Someone', [{ kind: 'passport', value: 'A1234567' }]),
  entity('none', 'Peter Nobody', []),
];

describe('a query with an identifier', () => {
  it('matches the party with the number, in any form and under any name, with the reason', async () => {
    const index = await indexOf('parties', PARTIES);
    const [match, ...more] = index.match({ name: 'Red Unknown', identifiers: { imo: 'IMO 9187629' } });
    expect(more).toEqual([]);
    expect(match).toMatchObject({ entityId: 'ship', score: 1, partial: false, matchedName: 'Blue Example' });
    expect(match?.explanation).toEqual([
      {
        kind: 'identifier',
        asked: '9187629',
        listed: '9187629',
        similarity: 1,
        message: 'The IMO number 9187629 is that of the listed party.',
      },
    ]);
    expect(match).not.toHaveProperty('identifiers');
    // A number of another kind is another number.
    expect(index.match({ name: 'Red Unknown', identifiers: { registrationNumber: '9187629' } })).toEqual([]);
    expect(index.match({ name: 'Red Unknown', identifiers: { imo: '9074729' } })).toEqual([]);
    index.close();
  });

  it('ranks it before equal names, and keeps the reasons of the names', async () => {
    const index = await indexOf('ranks', [...PARTIES, entity('same', 'Ivan Exampleev', [])]);
    const found = index.match({ name: 'Ivan Exampleev', identifiers: { passport: 'a 1234567' } });
    expect(found.map((match) => [match.entityId, match.score])).toEqual([
      ['other', 1],
      ['person', 1],
      ['same', 1],
    ]);
    expect(found[1]?.explanation.map((reason) => reason.kind)).toEqual(['identifier', 'exact', 'exact']);
    const both = index.match({ name: 'X', identifiers: { passport: 'A1234567', nationalId: '123-4567' } });
    expect(both.find((match) => match.entityId === 'person')?.explanation).toHaveLength(2);
    index.close();
  });

  it('does not change whether a cleared match holds', () => {
    const [ship] = PARTIES;
    expect(versionOf(ship as NameEntity)).toBe(versionOf({ ...(ship as NameEntity), identifiers: [] }));
  });

  it('is validated: the error names the field and the rule, and does not repeat the number', () => {
    expect(nameQuery({ name: 'A', identifiers: { imo: 'IMO 9187629' } }, '')).toEqual({
      name: 'A',
      identifiers: { imo: '9187629' },
    });
    for (const [identifiers, words] of [
      [{ imo: '9187628' }, 'names[3].identifiers.imo: must be an IMO number of seven digits'],
      [{ lei: '529900T8BM49AURSDO54' }, 'names[3].identifiers.lei: must be a Legal Entity Identifier'],
      [{ passport: 'secret' }, 'names[3].identifiers.passport: must be a passport number'],
    ] as const) {
      const ask = () => nameQuery({ name: 'A', identifiers }, 'names[3].');
      expect(ask).toThrow(words);
      expect(ask).not.toThrow(Object.values(identifiers)[0]);
    }
  });
});

describeWithSharedData('identifiers of the real list of OFAC', () => {
  it('are read for vessels, aircraft, companies and people, and find their party', async () => {
    const entities = await readParties(readOfacOnce, MARCH_21);
    const counts: Record<string, number> = {};
    for (const one of entities)
      for (const { kind } of one.identifiers ?? []) counts[kind] = (counts[kind] ?? 0) + 1;
    expect(counts.imo).toBeGreaterThan(1_000);
    expect(counts.registrationNumber).toBeGreaterThan(5_000);
    expect(counts.passport).toBeGreaterThan(2_000);
    expect(counts.nationalId).toBeGreaterThan(2_000);
    expect(counts.tailNumber).toBeGreaterThan(100);
    // Every fifth party: an index of all of them takes four seconds.
    const withNumber = entities
      .filter((one) => one.identifiers !== undefined)
      .filter((_, at) => at % 5 === 0);
    const index = await indexOf('ofac', withNumber);
    for (let at = 0; at < withNumber.length; at += 8) {
      const one = withNumber[at] as NameEntity;
      const [{ kind, value }] = one.identifiers as readonly [PartyIdentifier];
      const found = index.match({ name: 'Qqq', identifiers: { [kind]: value } }, { limit: 200 });
      expect(found.some((match) => match.entityId === one.entityId && match.score === 1)).toBe(true);
    }
    index.close();
  }, 120_000);
});
