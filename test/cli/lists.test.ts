/** `assay lists` and attested checks, as an operator without a network uses them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newWorld } from '../e2e/program.ts';
import { prepareFolder } from '../setup/prepared-folder.ts';

const DAY_MS = 86_400_000;
const dayFromNow = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

const UN_LIST = `<?xml version="1.0" encoding="UTF-8"?>
<CONSOLIDATED_LIST dateGenerated="${dayFromNow(-30)}T00:00:00.000Z"><INDIVIDUALS><INDIVIDUAL><DATAID>1</DATAID>
<FIRST_NAME>Ann</FIRST_NAME><SECOND_NAME>Example</SECOND_NAME><UN_LIST_TYPE>Test</UN_LIST_TYPE><REFERENCE_NUMBER>TEi.1</REFERENCE_NUMBER>
<LISTED_ON>2020-01-01</LISTED_ON></INDIVIDUAL></INDIVIDUALS><ENTITIES></ENTITIES></CONSOLIDATED_LIST>`;

const yesterday = dayFromNow(-1);
const tomorrow = dayFromNow(1);

interface Shown {
  readonly lists: readonly {
    list: string;
    checkedAt: string | null;
    checkedBy: string | null;
    stale: boolean;
  }[];
}

describe('list commands without a network', () => {
  const world = newWorld();
  beforeAll(() => prepareFolder(join(world.folder, 'store')));
  afterAll(() => world.end());

  const un = async () => {
    const { out } = await world.here(['lists', '--json']);
    return (JSON.parse(out) as Shown).lists.find(({ list }) => list === 'UN');
  };

  it('import a list with the date of its check as fresh', async () => {
    const file = join(world.folder, 'consolidated.xml');
    writeFileSync(file, UN_LIST);
    expect((await world.here(['import', 'un', file])).code).toBe(0);
    expect(await un()).toMatchObject({ checkedBy: 'IMPORT', stale: true });
    const again = await world.here(['import', 'un', file, '--checked', yesterday, '--by', 'Ann']);
    expect(again).toMatchObject({ code: 0, err: '' });
    expect(await un()).toMatchObject({ checkedAt: yesterday, checkedBy: 'ATTESTATION', stale: false });
  });

  it('attest a later check, which the audit log records', async () => {
    const today = dayFromNow(0);
    const attested = await world.here(['lists', 'attest', 'UN', '--checked', today, '--by', 'Ben', '--json']);
    expect(attested).toMatchObject({ code: 0, err: '' });
    expect((JSON.parse(attested.out) as Shown).lists).toContainEqual(
      expect.objectContaining({ list: 'UN', checkedAt: today, checkedBy: 'ATTESTATION', stale: false }),
    );
    const log = JSON.parse((await world.here(['audit', 'show', '--json'])).out) as Record<string, unknown>[];
    expect(log).toMatchObject([
      { action: 'lists.attest', who: 'operator', subject: 'UN', detail: `checked ${today} by Ben` },
      { action: 'lists.attest', who: 'operator', subject: 'UN', detail: `checked ${yesterday} by Ann` },
    ]);
  });

  it('show the state of every list, and the commands that update it', async () => {
    const { out } = await world.here(['lists']);
    expect(out).toMatch(/^UN +fresh .* attestation +1$/m);
    expect(out).toMatch(/^OFAC_CONS +never loaded/m);
    expect(out).toContain('`assay sync ofac`');
    const own = join(world.folder, 'own.csv');
    writeFileSync(
      own,
      'address,chain,entity,category\n1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu,BTC,Somebody,INDIVIDUAL\n',
    );
    expect((await world.here(['import', 'own', own])).code).toBe(0);
    expect((await world.here(['index', 'build'])).code).toBe(0);
    const screened = await world.here(['lookup', 'BTC', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu']);
    expect(screened.out).toContain('OFAC_CONS (never loaded)');
    expect(screened.out).toContain('`assay sync ofac eu uk ch`');
  });

  it.each([
    [['lists', 'attest', 'UN', '--checked', tomorrow], 'is in the future'],
    [['lists', 'attest', 'US', '--checked', yesterday], 'must be one of OFAC_SDN'],
    [['lists', 'attest', 'EU', '--checked', yesterday], 'EU was never loaded'],
    [['lists', 'attest', 'UN'], '--checked'],
    [['lists', 'attest', 'UN', '--checked', yesterday, '--by', 'a\u001b[31m'], '--by'],
    [['import', 'pools', 'x.json', '--checked', yesterday], 'has no sanctions list'],
    [['import', 'un', 'x.xml', '--checked', tomorrow], 'is in the future'],
    [['import', 'un', 'x.xml', '--by', 'Ann'], '--checked'],
  ])('%j is refused as a wrong command line, with the reason', async (args, message) => {
    const outcome = await world.here(args);
    expect(outcome).toMatchObject({ code: 2, out: '' });
    expect(outcome.err).toContain(message);
  });
});
