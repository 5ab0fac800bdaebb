/** The publishers' real lists, from import to the answers over HTTP: names that match, names that do not, and cleared matches. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NameResult, NamesAnswer, TopMatch } from '../../src/names/screen-names.ts';
import { excerptOf21 } from '../setup/ofac-records.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { newWorld, type RunningServer, type World } from './program.ts';

/** What the parties of OFAC that the tests look for have in its list: the vessel with the number 9187629, Putin, and parts of names. */
const ASKED = ['<Identity ID="6780"', 'FixedRef="35096"', 'JSC Argument<', 'Zaw', 'zaw'];

describeWithSharedData('names against the real lists of OFAC, the UN, the EU and the UK', () => {
  let world: World;
  let server: RunningServer;
  let key = '';

  beforeAll(async () => {
    world = newWorld();
    // The whole list: real-data.test.ts.
    const sdn = join(world.folder, 'sdn_advanced.xml');
    writeFileSync(sdn, excerptOf21(ASKED));
    for (const [source, file] of [
      ['ofac', sharedData('ofac', 'consolidated_2022-02-24.xml')],
      ['ofac', sdn],
      ['un', sharedData('un', 'un_consolidated_2026-02-27.xml')],
      ['eu', sharedData('eu', 'eu_fsf_names_2026-05-01.jsonl.gz')],
      ['uk', sharedData('uk', 'uk_sanctions_list_2026-08-22.jsonl.gz')],
    ] as const) {
      const outcome = await world.run(['import', source, file]);
      expect(outcome.err).toBe('');
    }
    server = await world.serve();
    key = server.firstKey;
    const granted = await world.run(['credits', 'grant', 'local', '1000', '--reason', 'tests']);
    if (granted.code !== 0) throw new Error(granted.err);
  });
  afterAll(() => world.end());

  async function ask<T>(method: string, path: string, body?: unknown): Promise<{ status: number; body: T }> {
    const response = await fetch(`${server.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as T };
  }

  const screen = async (...names: object[]): Promise<NamesAnswer> => {
    const { status, body } = await ask<NamesAnswer>('POST', '/namescreen/bulk', { names });
    expect(status).toBe(200);
    return body;
  };
  const found = (result: NameResult | undefined, list: string, entityId: string): TopMatch | undefined =>
    result?.topMatches.find((match) => match.source === list && match.entityId === entityId);

  it('finds a vessel and a person by their numbers alone, over HTTP and on the command line', async () => {
    const { results } = await screen(
      { name: 'Zebulon Quaternion', identifiers: { imo: 'IMO 9187629' } },
      { name: 'Zebulon Quaternion', identifiers: { passport: 'OB 0243318' } },
      { name: 'Zebulon Quaternion', identifiers: { passport: 'ZZ 0000001' } },
    );
    expect(results[0]?.topMatches[0]).toMatchObject({ confidence: 1, schema: 'Vessel', source: 'OFAC_SDN' });
    expect(results[0]?.topMatches[0]?.explanation[0]).toMatchObject({
      kind: 'identifier',
      listed: '9187629',
    });
    expect(results[1]?.topMatches.some((match) => match.source === 'UN' && match.confidence === 1)).toBe(
      true,
    );
    expect(results[2]?.topMatches).toEqual([]);
    const body = { names: [{ name: 'A', identifiers: { imo: '9187628' } }] };
    const { status, body: error } = await ask<{ error: string }>('POST', '/namescreen/bulk', body);
    expect(status).toBe(400);
    expect(error.error).toContain('names[0].identifiers.imo: must be an IMO number');
    const listed = await world.run(['names', 'screen', 'Zebulon Quaternion', '--imo', '9187629']);
    expect(listed.out).toContain('The IMO number 9187629 is that of the listed party.');
    const wrong = await world.run(['names', 'screen', 'Zebulon Quaternion', '--imo', '9187628']);
    expect(wrong.err).toContain('--imo: must be an IMO number');
  });

  it('finds a sanctioned person in Cyrillic, in Arabic and with a typo, and explains the match', async () => {
    const { results, creditsUsed, coverage } = await screen(
      { name: 'Владимир Путин' },
      { name: 'أيمن الظواهري' },
      { name: 'Vladmir Putin' },
      { name: 'JSCARGUMENT' },
    );
    expect(creditsUsed).toBe(4);
    expect(coverage.sanctions).toMatchObject({ status: 'PARTIAL', missing: ['CH'] });
    expect(found(results[0], 'OFAC_SDN', '35096')?.confidence).toBeGreaterThanOrEqual(0.7);
    expect(results[1]?.topMatches[0]).toMatchObject({ listType: 'sanctions' });
    expect(
      results[1]?.topMatches.some(
        (match) => /zaw/i.test(`${match.name} ${match.matchedName}`) || match.name.includes('الظواهري'),
      ),
    ).toBe(true);
    expect(found(results[2], 'OFAC_SDN', '35096')?.confidence).toBeGreaterThanOrEqual(0.7);
    expect(results[3]?.topMatches[0]).toMatchObject({ name: 'JSC Argument', source: 'OFAC_SDN' });
    for (const { topMatches } of results) {
      for (const match of topMatches) {
        expect(match.confidence).toBeGreaterThanOrEqual(0.7);
        expect(match.explanation.length).toBeGreaterThan(0);
      }
    }
  });

  it('finds no listed person for an ordinary name, and does not report it as clean', async () => {
    const { results, reasons } = await screen({ name: 'Thomas Müller' });
    expect(results).toEqual([{ name: 'Thomas Müller', topMatches: [], totalMatches: 0 }]);
    expect(reasons.map((reason) => reason.listType)).toContain('sanctions');
  });

  it('finds a head of state on the first start, as shipped and unverified', async () => {
    const { results } = await screen({ name: 'Emmanuel Macron' });
    expect(results[0]?.topMatches[0]).toMatchObject({ listType: 'pep', countries: ['FR'], verified: false });
  });

  it('returns the same matches for any order of names, one per entity, at most five per list type', async () => {
    const names = [{ name: 'Mohammed Ali' }, { name: 'Kim' }, { name: 'Bank' }, { name: 'Ali Hassan' }];
    const forward = await screen(...names);
    const backward = await screen(...[...names].reverse());
    expect([...backward.results].reverse()).toEqual(forward.results);
    for (const { topMatches, totalMatches } of forward.results) {
      const keys = topMatches.map((match) => `${match.source} ${match.entityId}`);
      expect(new Set(keys).size).toBe(keys.length);
      expect(totalMatches).toBeGreaterThanOrEqual(keys.length);
      for (const listType of ['sanctions', 'pep', 'adverse_media']) {
        expect(topMatches.filter((match) => match.listType === listType).length).toBeLessThanOrEqual(5);
      }
      const confidences = topMatches.map((match) => match.confidence);
      expect(confidences).toEqual([...confidences].sort((a, b) => b - a));
    }
  });

  it('charges nothing for an invalid name', async () => {
    const balance = async (): Promise<number> =>
      (await ask<{ data: { balance: number } }>('GET', '/usage')).body.data.balance;
    const before = await balance();
    const bad = await ask<{ error: string }>('POST', '/namescreen/bulk', {
      names: [{ name: 'A B' }, { name: '' }],
    });
    expect(bad).toMatchObject({ status: 400, body: { error: expect.stringContaining('names[1].name') } });
    expect(await balance()).toBe(before);
    await screen({ name: 'A B' }, { name: 'C D' });
    expect(await balance()).toBe(before - 2);
  });

  it('keeps a cleared match marked, and switches to an own list while serving', async () => {
    const [first] = (await screen({ name: 'JSC Argument' })).results;
    const match = first?.topMatches[0];
    const made = await ask('POST', '/namescreen/cleared', {
      name: 'JSC Argument',
      source: match?.source,
      entityId: match?.entityId,
    });
    expect(made.status).toBe(200);
    const path = join(world.folder, 'watch.csv');
    writeFileSync(path, 'name,list,id\nZebulon Quaternion,adverse_media,z-1\n');
    expect((await world.run(['import', 'people', path])).err).toBe('');
    expect((await world.run(['index', 'build'])).err).toBe('');
    const { results } = await screen({ name: 'JSC ARGUMENT' }, { name: 'Quaternion Zebulon' });
    expect(results[0]?.topMatches[0]).toMatchObject({ entityId: match?.entityId, cleared: true });
    expect(results[1]?.topMatches[0]).toMatchObject({ source: 'people:watch:adverse_media', cleared: false });
  });

  it('prints the same answer on the command line as over HTTP', async () => {
    const { out, err, code } = await world.run([
      'names',
      'screen',
      'Владимир Путин',
      '--country',
      'ru',
      '--json',
    ]);
    expect([err, code]).toEqual(['', 0]);
    const overHttp = await screen({ name: 'Владимир Путин', countries: ['RU'] });
    expect((JSON.parse(out) as NamesAnswer).results).toEqual(overHttp.results);
    expect((await world.run(['names', 'screen', ' '])).err).toContain('name: is empty');
    expect((await world.run(['names', 'lists'])).out).toContain('OFAC_SDN');
  });
});
