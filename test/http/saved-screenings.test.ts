/** The HTTP contract of saved screenings, on both servers, over a real store and a real ledger. */
import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Permission } from '../../src/accounts/keys.ts';
import { linkedRecords } from '../../src/app/case-services.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createCases } from '../../src/cases/cases.ts';
import type { CaseService } from '../../src/cases/service.ts';
import type { CaseStore } from '../../src/cases/store.ts';
import { openCaseStore } from '../../src/cases/store-lmdb.ts';
import { SAVED_KINDS } from '../../src/saved-screenings/records.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { type OpenedSaved, openedSaved } from '../saved-screenings/opened.ts';
import { EXCHANGE, openWorld, SANCTIONED, type World, worldUseCases } from './world.ts';

const noMonitoring = (): never => {
  throw new Error('These tests have no monitoring.');
};
const SHOWN = EXCHANGE.toLowerCase();
const rateLimits = { screening: 10_000, kyt: 10_000, monitoring: 10_000 };

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request
  readonly json: any;
}

describe.each(['uws', 'node'] as const)('saved screenings on %s', (backend) => {
  const folder = tempFolder();
  let opened: OpenedSaved;
  let caseStore: CaseStore;
  let cases: CaseService;
  let world: World;
  let ann: string;
  let kytOnly: string;
  let monitoringOnly: string;
  let eve: string;
  /** Answers are held back while this is not resolved. */
  let gate: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    const plain = worldUseCases();
    world = await openWorld({
      backend,
      useCases: {
        savedScreenings: () => opened.saved,
        cases: () => cases,
        async screening(request) {
          expect('save' in request).toBe(false);
          await gate;
          return plain.screening(request);
        },
      },
    });
    opened = openedSaved(folder.path, () => world.access.ledger());
    caseStore = openCaseStore({ path: `${folder.path}/cases.mdb` }, { clock: systemClock });
    cases = createCases(
      { fourEyes: false },
      {
        ...{ store: caseStore, clock: systemClock, random: systemRandom },
        records: linkedRecords({ monitoring: noMonitoring, savedScreenings: () => opened.saved }),
      },
    );
    ann = await world.key({ accountId: 'acc', rateLimits });
    kytOnly = await world.key({ accountId: 'acc', rateLimits, permissions: ['kyt'] });
    monitoringOnly = await world.key({ accountId: 'acc', rateLimits, permissions: ['monitoring'] });
    eve = await world.key({ accountId: 'other', rateLimits });
    for (const accountId of ['acc', 'other'])
      await world.access.ledger().book({ accountId, type: 'GRANT', amount: 1_000, reference: null });
  });
  afterAll(async () => {
    await world.close();
    await opened.store.close();
    await caseStore.close();
    folder.remove();
  });

  async function ask(
    method: string,
    path: string,
    body?: unknown,
    { key = ann, ...headers }: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(`${world.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
  }
  const screen = (body: object = {}, headers: Record<string, string> = {}) =>
    ask('POST', '/screening', { address: EXCHANGE, chain: 'ETH', save: true, ...body }, headers);
  const balance = async (accountId = 'acc') => (await world.access.ledger().balance(accountId)).balance;
  const list = async (query = '', key = ann): Promise<{ readonly id: string }[]> =>
    (await ask('GET', `/screenings${query}`, undefined, { key })).json.data.screenings;

  it('return the bytes that the client got', async () => {
    const before = await balance();
    const saved = await screen({ jurisdiction: 'DE' });
    expect([saved.status, saved.json.credits]).toEqual([200, { remaining: before - 1 }]);
    const id = saved.json.data.screeningId;
    const { status, text, json } = await ask('GET', `/screenings/${id}`);
    expect(status).toBe(200);
    // `data` of the first response, and `answer` of the second, are the same text.
    const data = saved.text.slice('{"success":true,"data":'.length, saved.text.lastIndexOf(',"credits":'));
    expect(text).toContain(`"answer":${data}}`);
    expect(json.data.screening).toMatchObject({
      ...{ id, kind: 'SCREENING', chain: 'ETH', addresses: [SHOWN], riskLevel: 'LOW', decision: null },
      request: { address: EXCHANGE, chain: 'ETH', jurisdiction: 'DE' },
      bytes: data.length,
      sha256: createHash('sha256').update(data).digest('hex'),
    });
    expect(json.data.screening).not.toHaveProperty('accountId');
    expect(await balance()).toBe(before - 1);
    expect((await list()).map((one) => one.id)).toEqual([id]);
  });

  it('without `save`, nothing is kept and nothing is different', async () => {
    const count = (await list()).length;
    for (const body of [{ save: false }, { save: undefined }]) {
      const { status, json } = await screen(body);
      expect([status, 'screeningId' in json.data]).toEqual([200, false]);
    }
    expect(await list()).toHaveLength(count);
    expect((await screen({ save: 'yes' })).json.error).toMatch(/^save: /);
  });

  it('a repeated request gets the same answer, and is charged once', async () => {
    const before = await balance();
    const count = (await list()).length;
    const headers = { 'idempotency-key': 'save-1' };
    const [first, second] = [await screen({}, headers), await screen({}, headers)];
    expect(second.text).toBe(first.text);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect([await balance(), (await list()).length]).toEqual([before - 1, count + 1]);
    const other = await screen({ jurisdiction: 'FR' }, headers);
    expect([other.status, other.json.error]).toEqual([400, expect.stringMatching(/^Idempotency-Key/)]);
  });

  it('a client that disconnects before the answer gets nothing to read for free', async () => {
    const [before, known] = [await balance('other'), await list('', eve)];
    let open = (): void => {};
    gate = new Promise((resolve) => {
      open = resolve;
    });
    const body = JSON.stringify({ address: EXCHANGE, chain: 'ETH', save: true });
    const socket = connect(world.port, '127.0.0.1');
    socket.write(
      `POST /api/v1/screening HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${eve}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await sleep(100);
    socket.destroy();
    await sleep(100);
    open();
    gate = Promise.resolve();
    await sleep(100);
    expect([await balance('other'), await list('', eve)]).toEqual([before, known]);
  });

  it('an account without credits saves nothing', async () => {
    const poor = await world.key({ accountId: 'poor', rateLimits });
    const { balance: left } = await world.access.ledger().balance('poor');
    await world.access
      .ledger()
      .book({ accountId: 'poor', type: 'ADJUSTMENT', amount: -left, reference: null });
    expect((await screen({}, { key: poor })).status).toBe(402);
    expect(await list('', poor)).toEqual([]);
  });

  it('are isolated by account and by the permissions of the key', async () => {
    const { json } = await screen();
    const id = json.data.screeningId;
    const pair = await ask('POST', '/kyt', { chain: 'ETH', from: EXCHANGE, to: SANCTIONED, save: true });
    const kytId = pair.json.data.screeningId;
    for (const [path, key, status] of [
      [`/screenings/${id}`, eve, 404],
      [`/screenings/${id}/compare/${id}`, eve, 404],
      [`/screenings/${id}`, kytOnly, 404],
      [`/screenings/${kytId}`, kytOnly, 200],
      ['/screenings', monitoringOnly, 403],
      [`/screenings/${id}`, monitoringOnly, 403],
      ['/screenings/none', ann, 404],
    ] as const)
      expect((await ask('GET', path, undefined, { key })).status, path).toBe(status);
    expect(await list('', eve)).toEqual([]);
    expect((await list('', kytOnly)).map((one) => one.id)).toEqual([kytId]);
    const { screening } = (await ask('GET', `/screenings/${kytId}`)).json.data;
    expect(screening).toMatchObject({
      kind: 'KYT',
      decision: 'BLOCK',
      addresses: [SHOWN, SANCTIONED.toLowerCase()],
    });
    expect((await list(`?address=${SANCTIONED}&chain=eth`)).map((one) => one.id)).toContain(kytId);
    expect((await list('?riskLevel=CRITICAL')).map((one) => one.id)).toEqual([kytId]);
    for (const [query, error] of [
      [`?address=${SANCTIONED}`, /^chain: /],
      ['?riskLevel=WORST', /^riskLevel: /],
      ['?from=2026-13-01', /^from: /],
      ['?cursor=x', /^cursor: /],
    ] as const) {
      const refused = await ask('GET', `/screenings${query}`);
      expect([refused.status, refused.json.error]).toEqual([400, expect.stringMatching(error)]);
    }
  });

  it('are compared with one of the same kind and address only', async () => {
    const [a, b] = [(await screen()).json.data.screeningId, (await screen()).json.data.screeningId];
    const other = (await screen({ address: SANCTIONED })).json.data.screeningId;
    const { status, json } = await ask('GET', `/screenings/${a}/compare/${b}`);
    expect([status, json.data]).toMatchObject([
      200,
      { isChanged: false, causes: [], score: { difference: 0 }, before: { id: a }, after: { id: b } },
    ]);
    const refused = await ask('GET', `/screenings/${a}/compare/${other}`);
    expect([refused.status, refused.json.error]).toEqual([
      400,
      `b: must be a SCREENING of ETH ${SHOWN}, as \`a\` is.`,
    ]);
    const missing = await ask('GET', `/screenings/${a}/compare/none`);
    expect([missing.status, missing.json.error]).toEqual([404, expect.stringMatching(/^b: /)]);
  });

  it('are linked to a case, whose export has the stored bytes', async () => {
    const { screeningId: id } = (await screen()).json.data;
    const made = await ask('POST', '/cases', { title: 'A case', links: [{ type: 'SCREENING', id }] });
    expect(made.status).toBe(200);
    const { id: caseId, links } = made.json.data.case;
    const text = opened.saved.answer(opened.saved.one('acc', SAVED_KINDS, id)).toString();
    expect(links).toMatchObject([
      {
        ...{ type: 'SCREENING', id, chain: 'ETH', address: SHOWN },
        answer: { origin: 'SERVICE', sha256: createHash('sha256').update(text).digest('hex') },
      },
    ]);
    const archive = await fetch(`${world.url}/api/v1/cases/${caseId}/export`, {
      headers: { authorization: `Bearer ${ann}` },
    });
    // The entries of the archive are not compressed.
    expect(Buffer.from(await archive.arrayBuffer()).includes(text)).toBe(true);
    for (const [link, status, error] of [
      [{ type: 'SCREENING', id: 'none' }, 404, /^links\[0\]\.id: there is no saved screening/],
      [{ type: 'SCREENING', id, answer: { dataVersion: 'v' } }, 400, /^links\[0\]\.answer: must not/],
      [{ type: 'SCREENING' }, 400, /^links\[0\]\.answer: is required/],
    ] as const) {
      const refused = await ask('POST', '/cases', { title: 'A case', links: [link] });
      expect([refused.status, refused.json.error]).toEqual([status, expect.stringMatching(error)]);
    }
    const foreign = await ask(
      'POST',
      '/cases',
      { title: 'A case', links: [{ type: 'SCREENING', id }] },
      { key: eve },
    );
    expect(foreign.status).toBe(404);
  });

  it('are linked to a case only by clients that may read them', async () => {
    const { screeningId: id } = (await screen()).json.data;
    const pair = await ask('POST', '/kyt', { chain: 'ETH', from: EXCHANGE, to: SANCTIONED, save: true });
    const kytId = pair.json.data.screeningId;
    const { id: caseId } = (await ask('POST', '/cases', { title: 'A case' })).json.data.case;
    const key = (...permissions: Permission[]) => world.key({ accountId: 'acc', rateLimits, permissions });
    for (const [linked, client, status, error] of [
      [id, monitoringOnly, 403, /id: .* needs the permission 'screening' or 'kyt'/],
      [kytId, monitoringOnly, 403, /id: .* needs the permission/],
      ['none', monitoringOnly, 403, /id: .* needs the permission/],
      [id, await key('monitoring', 'kyt'), 404, /id: there is no saved screening/],
      [kytId, await key('monitoring', 'kyt'), 200, undefined],
      [id, await key('monitoring', 'screening'), 200, undefined],
      [kytId, await key('monitoring', 'screening'), 200, undefined],
    ] as const) {
      const link = { type: 'SCREENING', id: linked };
      for (const [path, body] of [
        ['/cases', { title: 'Another case', links: [link] }],
        [`/cases/${caseId}/events`, { type: 'LINK', link }],
      ] as const) {
        const response = await ask('POST', path, body, { key: client });
        expect([response.status, response.json.error]).toEqual([
          status,
          error === undefined ? undefined : expect.stringMatching(error),
        ]);
      }
    }
  });

  it('are linked to a case with a session', async () => {
    const people = world.access.people();
    const password = 'correct horse battery';
    const { email } = await people.create(`ann-${backend}@example.org`, password, 'ENTERPRISE');
    const { token } = await people.login(email, password, '127.0.0.1');
    const origin = { cookie: `assay_session=${token}`, origin: world.url };
    const post = async (path: string, body: object): Promise<Answer['json']> => {
      const response = await fetch(`${world.url}/api/v1${path}`, {
        method: 'POST',
        headers: { ...origin, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return response.json();
    };
    const saved = await post('/screening', { address: EXCHANGE, chain: 'ETH', save: true });
    const made = await post('/cases', {
      title: 'A case',
      links: [{ type: 'SCREENING', id: saved.data.screeningId }],
    });
    expect(made.data.case.links).toMatchObject([{ type: 'SCREENING', answer: { origin: 'SERVICE' } }]);
  });
});
