/** The HTTP contract of cases, on both servers, over a real store. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CASE_LIMITS } from '../../src/cases/limits.ts';
import type { CaseService } from '../../src/cases/service.ts';
import type { CaseStore } from '../../src/cases/store.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { openedCases } from '../cases/opened.ts';
import { openWorld, type World } from './world.ts';

const ADDRESS = '0x28c6c06298d514db089934071355e5743bf21d60';
const rateLimits = { monitoring: 10_000 };
const PASSWORD = 'correct horse battery';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the request
  readonly data: any;
  readonly error: string | undefined;
}

describe.each(['uws', 'node'] as const)('cases on %s', (backend) => {
  const folder = tempFolder();
  let store: CaseStore;
  let cases: CaseService;
  let world: World;
  /** Two people of one account, a key without the permission, and another account. */
  let ann: string;
  let bob: string;
  let weak: string;
  let eve: string;

  beforeAll(async () => {
    ({ store, cases } = openedCases(folder.path));
    world = await openWorld({ backend, useCases: { cases: () => cases } });
    ann = await world.key({ accountId: 'acc', rateLimits });
    bob = await world.key({ accountId: 'acc', rateLimits });
    weak = await world.key({ accountId: 'acc', rateLimits, permissions: ['screening'] });
    eve = await world.key({ accountId: 'other', rateLimits });
  });
  afterAll(async () => {
    await world.close();
    await store.close();
    folder.remove();
  });

  async function ask(
    method: string,
    path: string,
    body?: unknown,
    { key = ann, ...headers }: Record<string, string> = {},
  ): Promise<Answer> {
    const isBytes = Buffer.isBuffer(body);
    const response = await fetch(`${world.url}/api/v1${path}`, {
      method,
      headers: {
        ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined || isBytes ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isBytes ? new Uint8Array(body) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    const json = isJson && text !== '' ? JSON.parse(text) : {};
    return { status: response.status, headers: response.headers, text, data: json.data, error: json.error };
  }
  const made = async (body: object = {}): Promise<string> =>
    (await ask('POST', '/cases', { title: 'A case', ...body })).data.case.id;
  const sendFile = (id: string, name: string, type: string, content: Buffer, headers = {}) =>
    ask('POST', `/cases/${id}/files?name=${encodeURIComponent(name)}`, content, {
      'content-type': type,
      ...headers,
    });

  it('are created, changed, read and listed', async () => {
    const { status, data } = await ask('POST', '/cases', {
      ...{ title: '<b>Title</b>', priority: 'HIGH', dueAt: '2027-01-01', note: 'first' },
      links: [
        {
          type: 'SCREENING',
          answer: { address: ADDRESS, chain: 'ETH', dataVersion: 'v1', score: { a: [1] } },
        },
      ],
    });
    expect([status, data.case]).toMatchObject([
      200,
      {
        number: 1,
        version: 2,
        status: 'OPEN',
        title: '<b>Title</b>',
        disposition: null,
        links: [{ chain: 'ETH' }],
      },
    ]);
    const { id } = data.case;
    expect((await ask('GET', `/cases/${id}`)).data.case).toEqual(data.case);
    const changed = await ask('PATCH', `/cases/${id}`, { status: 'ESCALATED', assignee: 'bob', version: 2 });
    expect(changed.data.case).toMatchObject({ status: 'ESCALATED', assignee: 'bob', version: 4 });
    const stale = await ask('PATCH', `/cases/${id}`, { title: 'x', version: 2 });
    expect([stale.status, stale.error]).toEqual([400, expect.stringMatching(/^version: .* 4, not 2/)]);
    for (const query of [
      'status=OPEN,ESCALATED',
      'assignee=bob',
      'dueBefore=2027-01-02',
      'q=title',
      `address=${ADDRESS}&chain=ETH`,
    ])
      expect(
        (await ask('GET', `/cases?${query}`)).data.cases.map((one: { id: string }) => one.id),
        query,
      ).toEqual([id]);
    expect((await ask('GET', '/cases?status=CLOSED')).data).toMatchObject({
      cases: [],
      hasMore: false,
      limit: 50,
    });
    const { events } = (await ask('GET', `/cases/${id}/events?answers=true`)).data;
    expect(events.map((event: { type: string }) => event.type)).toEqual([
      'ASSIGNEE',
      'STATUS',
      'LINK',
      'CREATED',
    ]);
    expect(events[2].answer).toEqual({
      address: ADDRESS,
      chain: 'ETH',
      dataVersion: 'v1',
      score: { a: [1] },
    });
    expect('answer' in (await ask('GET', `/cases/${id}/events`)).data.events[0]).toBe(false);
  });

  it('keep a trace with its request and its filter, so that it can be shown again', async () => {
    const trace = {
      ...{ direction: 'out', hops: 2, targetAddress: `0x${'1'.repeat(40)}`, maxDepth: 4, crossChain: true },
      ...{ timeRespecting: true, minUsd: 12.5, since: '2026-01-31', until: '2026-02-28', dataVersion: 'v7' },
    };
    const link = { type: 'TRACE', address: ADDRESS, chain: 'ETH', trace, answer: { nodes: [] } };
    const id = await made({ links: [link, { type: 'TRACE', address: ADDRESS, chain: 'ETH', trace: {} }] });
    await ask('POST', `/cases/${id}/events`, { type: 'LINK', link: { ...link, label: 'again' } });
    const { links } = (await ask('GET', `/cases/${id}`)).data.case;
    const rest = { maxDepth: null, minUsd: null, since: null, until: null, dataVersion: null };
    expect(links).toMatchObject([
      { type: 'TRACE', chain: 'ETH', trace, answer: { origin: 'CLIENT' } },
      {
        trace: {
          ...{ direction: 'both', hops: 1, targetAddress: null, timeRespecting: false, crossChain: false },
          ...rest,
        },
      },
      { label: 'again', trace },
    ]);
    const archive = await ask('GET', `/cases/${id}/export`);
    for (const text of ['direction out, hops 2, to 0x1111', 'since 2026-01-31, until 2026-02-28'])
      expect(archive.text.split(text)).toHaveLength(5);
    for (const [wrong, field] of [
      [{ hops: 9 }, 'trace.hops'],
      [{ direction: 'up' }, 'trace.direction'],
      [{ targetAddress: 'x' }, 'trace.targetAddress'],
      [{ since: '2026-02-31' }, 'trace.since'],
      [{ since: '2026-02-03T00:00:00Z' }, 'trace.since'],
      [{ since: '2026-02-03', until: '2026-02-02' }, 'trace.until'],
      [{ minUsd: -1 }, 'trace.minUsd'],
      [{ dataVersion: 'a\nb' }, 'trace.dataVersion'],
    ] as const) {
      const body = { type: 'LINK', link: { type: 'TRACE', address: ADDRESS, chain: 'ETH', trace: wrong } };
      const refused = await ask('POST', `/cases/${id}/events`, body);
      expect([refused.status, refused.error], JSON.stringify(wrong)).toEqual([
        400,
        expect.stringMatching(new RegExp(`^link\\.${field}`)),
      ]);
    }
    const elsewhere = { type: 'LINK', link: { type: 'ADDRESS', address: ADDRESS, chain: 'ETH', trace } };
    expect((await ask('POST', `/cases/${id}/events`, elsewhere)).error).toMatch(/^link\.trace: must not/);
  });

  it('reject invalid bodies with the field', async () => {
    const id = await made();
    for (const [path, body, field] of [
      ['/cases', {}, 'title'],
      ['/cases', { title: 'x'.repeat(10_000) }, 'title'],
      ['/cases', { title: 'a\u0000' }, 'title'],
      [
        '/cases',
        { title: 'x', links: [{ type: 'ADDRESS', address: 'nope', chain: 'ETH' }] },
        'links[0].address',
      ],
      [`/cases/${id}/events`, { type: 'FILE' }, 'type'],
      [
        `/cases/${id}/events`,
        { type: 'DECISION', decision: { action: 'PROPOSE', disposition: 'EXITED' } },
        'decision.reasonCode',
      ],
      [
        `/cases/${id}/events`,
        { type: 'DECISION', decision: { action: 'PROPOSE', disposition: 'EXITED', reasonCode: '=1' } },
        'decision.reasonCode',
      ],
    ] as const) {
      const { status, error } = await ask('POST', path, body);
      expect([status, error?.startsWith(field)], `${field}: ${error}`).toEqual([400, true]);
    }
    expect((await ask('PATCH', `/cases/${id}`, { status: 'CLOSED' })).error).toMatch(/closed by a decision/);
    expect((await ask('PATCH', `/cases/${id}`, {})).status).toBe(400);
  });

  it('of another account are not found, and the permission is required', async () => {
    const id = await made();
    const { data } = await sendFile(id, 'a.txt', 'text/plain', Buffer.from('a'));
    for (const [method, path, body] of [
      ['GET', `/cases/${id}`],
      ['PATCH', `/cases/${id}`, { title: 'x' }],
      ['GET', `/cases/${id}/events`],
      ['POST', `/cases/${id}/events`, { type: 'NOTE', note: 'x' }],
      ['GET', `/cases/${id}/files`],
      ['GET', `/cases/${id}/files/${data.file.id}`],
      ['GET', `/cases/${id}/export`],
    ] as const) {
      expect((await ask(method, path, body, { key: eve })).status, `${method} ${path}`).toBe(404);
      expect((await ask(method, path, body, { key: weak })).status, `${method} ${path}`).toBe(403);
      expect((await ask(method, path, body, { key: '' })).status, `${method} ${path}`).toBe(401);
    }
    expect((await sendFile(id, 'a.txt', 'text/plain', Buffer.from('a'), { key: eve })).status).toBe(404);
    expect((await ask('GET', '/cases', undefined, { key: eve })).data.cases).toEqual([]);
    expect((await ask('GET', `/cases/${id}`)).data.case).toMatchObject({ version: 2, title: 'A case' });
  });

  it('with the four-eyes rule are closed by another person than the proposer, and not by a key of the same', async () => {
    const id = await made({ fourEyes: true });
    const decision = { action: 'PROPOSE', disposition: 'REPORTED', reasonCode: 'SAR_FILED' };
    const proposed = await ask('POST', `/cases/${id}/events`, { type: 'DECISION', decision });
    expect(proposed.data.case).toMatchObject({ status: 'IN_REVIEW', disposition: null });
    const approval = {
      type: 'DECISION',
      decision: { action: 'APPROVE', proposal: proposed.data.case.proposal.event },
    };
    expect((await ask('POST', `/cases/${id}/events`, approval)).status).toBe(403);
    const child = await ask('POST', '/keys', { name: 'second', permissions: ['monitoring'] });
    const own = await ask('POST', `/cases/${id}/events`, approval, { key: child.data.apiKey });
    expect([own.status, own.error]).toEqual([403, expect.stringMatching(/four-eyes/)]);
    const approved = await ask('POST', `/cases/${id}/events`, approval, { key: bob });
    expect(approved.data.case).toMatchObject({
      status: 'CLOSED',
      disposition: 'REPORTED',
      reasonCode: 'SAR_FILED',
    });
    expect(approved.data.case.approvedBy).not.toBe(approved.data.case.decidedBy);
    expect(
      (await ask('POST', `/cases/${id}/events`, { type: 'STATUS', status: 'OPEN' })).data.case,
    ).toMatchObject({
      ...{ status: 'OPEN', disposition: null, closedAt: null },
    });
  });

  it('repeated with the same Idempotency-Key are stored once, and logged once', async () => {
    const headers = { 'idempotency-key': `once-${backend}` };
    const first = await ask('POST', '/cases', { title: 'Once' }, headers);
    const again = await ask('POST', '/cases', { title: 'Once' }, headers);
    expect([again.data, again.headers.get('idempotency-replayed')]).toEqual([first.data, 'true']);
    expect((await ask('POST', '/cases', { title: 'Twice' }, headers)).status).toBe(400);
    const { id } = first.data.case;
    const file = await sendFile(id, 'a.txt', 'text/plain', Buffer.from('a'), headers);
    const same = await sendFile(id, 'a.txt', 'text/plain', Buffer.from('a'), headers);
    expect([same.data, same.headers.get('idempotency-replayed')]).toEqual([file.data, 'true']);
    expect((await sendFile(id, 'a.txt', 'text/plain', Buffer.from('b'), headers)).status).toBe(400);
    expect((await ask('GET', `/cases/${id}`)).data.case).toMatchObject({ fileCount: 1, version: 2 });
    const logged = world.access
      .audit()
      .newest(10)
      .filter(({ subject }) => subject === id);
    expect(logged.map(({ action, accountId, who }) => [action, accountId, who.slice(0, 4)])).toEqual([
      ['case.file', 'acc', 'key_'],
      ['case.create', 'acc', 'key_'],
    ]);
  });

  it('return files as they are, as downloads that no browser shows', async () => {
    const id = await made();
    const content = Buffer.from('PK\x03\x04<script>alert(1)</script>\xff', 'latin1');
    const { data } = await sendFile(id, 'Beweis "ü".zip'.replaceAll('"', "'"), 'application/zip', content);
    const response = await fetch(`${world.url}/api/v1/cases/${id}/files/${data.file.id}`, {
      headers: { authorization: `Bearer ${ann}` },
    });
    expect(Buffer.from(await response.arrayBuffer()).equals(content)).toBe(true);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition':
        `attachment; filename="Beweis _ü_.zip"; filename*=UTF-8''Beweis%20%27%C3%BC%27.zip`.replace(
          'ü_.zip";',
          '__.zip";',
        ),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'cache-control': 'private, no-store, no-transform',
    });
    for (const [name, type, error] of [
      ['a.html', 'text/html', /^Content-Type/],
      ['a.png', 'image/png', /content is not image\/png/],
      ['a/b.zip', 'application/zip', /^name/],
    ] as const) {
      const refused = await sendFile(id, name, type, content);
      expect([refused.status, refused.error]).toEqual([400, expect.stringMatching(error)]);
    }
    const large = await sendFile(id, 'a.txt', 'text/plain', Buffer.alloc(CASE_LIMITS.fileBytesMax + 1, 'a'));
    expect([large.status, large.headers.get('x-error-code')]).toEqual([400, 'BODY_TOO_LARGE']);
    expect((await ask('GET', `/cases/${id}/files`)).data.files).toHaveLength(1);
    await sendFile(id, 'b.txt', 'text/plain', Buffer.from('b'));
    const page = (query: string) => ask('GET', `/cases/${id}/files?limit=1${query}`);
    const first = (await page('')).data;
    const rest = (await page(`&cursor=${first.nextCursor}`)).data;
    expect([first, rest].map(({ files, hasMore }) => [files[0].name, files.length, hasMore])).toEqual([
      ['b.txt', 1, true],
      ["Beweis 'ü'.zip", 1, false],
    ]);
    const archive = await ask('GET', `/cases/${id}/export`);
    expect([archive.headers.get('content-type'), archive.text.slice(0, 2)]).toEqual([
      'application/zip',
      'PK',
    ]);
  });

  it('accept a session from a page of this service only', async () => {
    const people = world.access.people();
    const { id: accountId, email } = await people.create(
      `ann-${backend}@example.org`,
      PASSWORD,
      'ENTERPRISE',
    );
    const { token } = await people.login(email, PASSWORD, '127.0.0.1');
    const session = { key: '', cookie: `assay_session=${token}` };
    expect(
      (await ask('POST', '/cases', { title: 'x' }, { ...session, origin: 'https://evil.example' })).status,
    ).toBe(403);
    const own = await ask('POST', '/cases', { title: 'Mine' }, { ...session, origin: world.url });
    expect([own.status, own.data.case.createdBy]).toEqual([200, accountId]);
    expect((await ask('GET', '/cases', undefined, session)).data.cases).toHaveLength(1);
  });

  it('with the four-eyes rule are closed by another person of the account, also with a key of that person', async () => {
    const people = world.access.people();
    const owner = await people.create(`zoe-${backend}@example.org`, PASSWORD, 'ENTERPRISE');
    const actor = { who: owner.id, from: '127.0.0.1' };
    const yan = `yan-${backend}@example.org`;
    await people.members.add(actor, owner.id, yan, 'owner', PASSWORD, PASSWORD);
    const sessionOf = async (email: string) => ({
      key: '',
      cookie: `assay_session=${(await people.login(email, PASSWORD, '127.0.0.1')).token}`,
      origin: world.url,
    });
    const asZoe = await sessionOf(owner.email);
    const asYan = await sessionOf(yan);
    const keyOf = async (session: typeof asZoe) => {
      const { data } = await ask('POST', '/keys', { name: 'own', permissions: ['monitoring'] }, session);
      return { key: data.apiKey };
    };
    const [zoeKey, yanKey] = [await keyOf(asZoe), await keyOf(asYan)];
    for (const [proposer, same, other] of [
      [asZoe, zoeKey, yanKey],
      [yanKey, asYan, asZoe],
    ] as const) {
      const { data } = await ask('POST', '/cases', { title: 'x', fourEyes: true }, asZoe);
      const path = `/cases/${data.case.id}/events`;
      const decision = { action: 'PROPOSE', disposition: 'REPORTED', reasonCode: 'SAR_FILED' };
      const proposed = await ask('POST', path, { type: 'DECISION', decision }, proposer);
      const approval = {
        type: 'DECISION',
        decision: { action: 'APPROVE', proposal: proposed.data.case.proposal.event },
      };
      expect((await ask('POST', path, approval, same)).status).toBe(403);
      expect((await ask('POST', path, approval, other)).data.case.status).toBe('CLOSED');
    }
  });

  it('are read to the end by cursors, each once, although others are added', async () => {
    for (let n = 0; n < 5; n++) await made({ assignee: 'pager' });
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { data } = await ask(
        'GET',
        `/cases?assignee=pager&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...data.cases.map((one: { id: string }) => one.id));
      cursor = data.nextCursor;
      expect(data.hasMore).toBe(cursor !== null);
      await made({ assignee: 'pager' });
    }
    expect([seen.length, new Set(seen).size]).toEqual([5, 5]);
    expect((await ask('GET', '/cases?cursor=x')).status).toBe(400);
  });
});
