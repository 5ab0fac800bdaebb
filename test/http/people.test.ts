/** The operations of people over HTTP: invitations, roles, sessions and second factors, with the emails that lead to pages. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hotp, stepOf } from '../../src/accounts/totp.ts';
import type { Email } from '../../src/base/mail.ts';
import { API_BASE } from '../../src/http/routes.ts';
import { fromBase32 } from '../support/base32.ts';
import { until } from '../support/wait.ts';
import { openWorld, type World } from './world.ts';

const PASSWORD = 'correct horse battery';

describe.each(['uws', 'node'] as const)('people over HTTP on %s', (backend) => {
  let world: World;
  const letters: Email[] = [];

  async function ask(method: string, path: string, asked: { cookie?: string; body?: object } = {}) {
    const { cookie, body } = asked;
    const response = await fetch(`${world.url}${API_BASE}${path}`, {
      method,
      headers: {
        origin: world.url,
        'user-agent': 'Mozilla/5.0 (test)',
        ...(cookie === undefined ? {} : { cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { data, error } = (await response.json()) as { data: never; error?: string };
    const [set = ''] = (response.headers.get('set-cookie') ?? '').split(';');
    return { status: response.status, code: response.headers.get('x-error-code'), data, error, cookie: set };
  }

  /** Returns the token of the next email to an address. */
  async function mailed(email: string): Promise<string> {
    await until(() => letters.some(({ to }) => to === email), `an email to ${email}`);
    const letter = letters.splice(
      letters.findIndex(({ to }) => to === email),
      1,
    )[0];
    return /^[\w-]{43}$/m.exec(letter?.text ?? '')?.[0] ?? '';
  }

  const login = async (email: string, more: object = {}) =>
    ask('POST', '/auth/login', { body: { email, password: PASSWORD, ...more } });

  beforeAll(async () => {
    world = await openWorld({
      backend,
      people: { registration: 'open', mailer: { send: async (letter) => void letters.push(letter) } },
    });
    await world.access.people().create('ann@example.org', PASSWORD, 'FREE');
  });
  afterAll(() => world.close());

  it('an owner invites an analyst, who accepts, works, and is removed', async () => {
    const ann = await login('ann@example.org');
    const { cookie } = ann;
    const body = { email: 'bob@example.org', role: 'analyst' };
    const invited = await ask('POST', '/people/invitations', { cookie, body });
    expect(invited.data).toMatchObject({ person: { ...body, status: 'INVITED' } });
    const token = await mailed('bob@example.org');
    const joined = await ask('POST', '/auth/invitation', { body: { token, password: PASSWORD } });
    expect([joined.status, joined.cookie]).toEqual([200, expect.stringMatching(/^assay_session=.{43}$/)]);
    const { person, account } = joined.data as { person: { id: string }; account: { id: string } };
    expect(account.id).toBe((ann.data as { account: { id: string } }).account.id);
    const forbidden = await ask('POST', '/people/invitations', { cookie: joined.cookie, body });
    expect([forbidden.status, forbidden.error]).toEqual([403, expect.stringContaining('owner')]);

    const enrolled = await ask('POST', '/auth/totp', { cookie: joined.cookie, body: { password: PASSWORD } });
    const code = hotp(fromBase32((enrolled.data as { secret: string }).secret), stepOf(Date.now()));
    await ask('POST', '/auth/totp/confirm', { cookie: joined.cookie, body: { code } });
    const factors = async () =>
      (
        (await ask('GET', '/people', { cookie })).data as { people: { secondFactor: boolean }[] }
      ).people.filter(({ secondFactor }) => secondFactor).length;
    const discard = (currentPassword: string) =>
      ask('DELETE', `/people/${person.id}/totp`, { cookie, body: { currentPassword } });
    expect([(await discard('guess')).status, await factors()]).toEqual([400, 1]);
    expect([(await discard(PASSWORD)).status, await factors()]).toEqual([200, 0]);
    // It says so to the person, and has no link.
    expect(await mailed('bob@example.org')).toBe('');

    const created = await ask('POST', '/keys', { cookie, body: { name: 'of Ann' } });
    expect(created.data).toMatchObject({ key: { createdBy: 'session' } });
    const promote = (more: object) =>
      ask('PATCH', `/people/${person.id}`, { cookie, body: { role: 'owner', ...more } });
    for (const more of [{}, { currentPassword: 'guess' }]) {
      const refused = await promote(more);
      expect([refused.status, refused.error]).toEqual([400, expect.stringContaining('currentPassword: ')]);
    }
    expect((await promote({ currentPassword: PASSWORD })).status).toBe(200);
    const own = await ask('POST', '/keys', { cookie: joined.cookie, body: { name: 'of Bob' } });
    expect(own.data).toMatchObject({ key: { createdBy: person.id } });

    const confirmed = { cookie, body: { currentPassword: PASSWORD } };
    for (const unconfirmed of [
      { cookie },
      { cookie, body: {} },
      { cookie, body: { currentPassword: 'guess' } },
    ]) {
      const refused = await ask('DELETE', `/people/${person.id}`, unconfirmed);
      expect([refused.status, refused.error]).toEqual([400, expect.stringContaining('currentPassword: ')]);
    }
    const removed = await ask('DELETE', `/people/${person.id}`, confirmed);
    expect(removed.data).toMatchObject({ person: { id: person.id, role: 'owner' } });
    expect((await ask('GET', '/auth/session', { cookie: joined.cookie })).status).toBe(401);
    const listed = await ask('GET', '/people', { cookie });
    expect(listed.data).toMatchObject({ people: [{ email: 'ann@example.org' }], total: 1, hasMore: false });
    const last = await ask('DELETE', `/people/${account.id}`, confirmed);
    expect([last.status, last.error]).toEqual([400, expect.stringContaining('last owner')]);
  });

  it('adds nobody with a password while anybody can register', async () => {
    const { cookie } = await login('ann@example.org');
    const body = { email: 'x@example.org', role: 'auditor', password: PASSWORD };
    expect((await ask('POST', '/people', { cookie, body })).status).toBe(403);
  });

  it('rejects hostile ids, roles, addresses and tokens with an error that names the field', async () => {
    const { cookie } = await login('ann@example.org');
    const long = 'x'.repeat(10_000);
    for (const [method, path, body, status] of [
      ['POST', '/people/invitations', { email: 'a@example.org', role: 'admin' }, 400],
      ['POST', '/people/invitations', { email: 'a@example.org', role: ['owner'] }, 400],
      ['POST', '/people/invitations', { email: 'a\r\nBcc: b@example.org', role: 'owner' }, 400],
      ['POST', '/people/invitations', { email: `${long}@example.org`, role: 'owner' }, 400],
      ['POST', '/people/invitations', { email: '<script>@example.org', role: 'owner' }, 400],
      ['PATCH', '/people/__proto__', { role: 'owner' }, 404],
      ['DELETE', '/people/x/totp', {}, 400],
      ['DELETE', '/people/x', { currentPassword: { $ne: '' } }, 400],
      ['PATCH', '/people/x', { role: 'constructor' }, 400],
      ['DELETE', '/people/..%2f..%2fetc', undefined, 404],
      ['DELETE', `/people/${long}`, undefined, 400],
      ['DELETE', '/auth/sessions/ses_x', undefined, 404],
      ['POST', '/auth/invitation', { token: long, password: PASSWORD }, 400],
      ['POST', '/auth/invitation', { token: '__proto__', password: PASSWORD }, 400],
      ['POST', '/auth/totp/confirm', { code: long }, 400],
      ['POST', '/auth/totp/confirm', { code: { $gt: '' } }, 400],
    ] as const) {
      const answer = await ask(method, path, { cookie, ...(body === undefined ? {} : { body }) });
      expect([path, answer.status, answer.error]).toEqual([path, status, expect.any(String)]);
    }
    expect(letters).toEqual([]);
  });

  it('a login needs a code once the second factor is enabled', async () => {
    const { cookie } = await login('ann@example.org');
    const enrolled = await ask('POST', '/auth/totp', { cookie, body: { password: PASSWORD } });
    const { secret } = enrolled.data as { secret: string };
    const bytes = fromBase32(secret);
    const code = (drift: number): string => hotp(bytes, stepOf(Date.now()) + drift);
    const confirmed = await ask('POST', '/auth/totp/confirm', { cookie, body: { code: code(-1) } });
    const { recoveryCodes } = confirmed.data as { recoveryCodes: string[] };
    const refused = await login('ann@example.org');
    expect([refused.status, refused.code, refused.cookie]).toEqual([401, 'SECOND_FACTOR_REQUIRED', '']);
    expect((await login('ann@example.org', { code: '000000' })).code).toBe('UNAUTHENTICATED');
    expect((await login('ann@example.org', { code: recoveryCodes[0] })).status).toBe(200);
    const again = await login('ann@example.org', { code: code(1) });
    expect(again.data).toMatchObject({ person: { secondFactor: true } });
    const confirm = (at: number) => ({ password: PASSWORD, code: recoveryCodes[at] });
    const renewed = await ask('POST', '/auth/totp/recovery-codes', { cookie, body: confirm(1) });
    const { recoveryCodes: others } = renewed.data as { recoveryCodes: string[] };
    expect(others).toHaveLength(recoveryCodes.length);
    const old = await ask('POST', '/auth/totp/disable', { cookie, body: confirm(2) });
    expect([old.status, old.error]).toEqual([400, expect.stringContaining('code: ')]);
    const body = { password: PASSWORD, code: others[0] };
    for (const wrong of [
      { ...body, password: 'guess' },
      { password: others[0], code: PASSWORD },
    ])
      expect((await ask('POST', '/auth/totp/disable', { cookie, body: wrong })).status).toBe(400);
    expect((await ask('POST', '/auth/totp/disable', { cookie, body })).status).toBe(200);
    expect((await login('ann@example.org')).status).toBe(200);
  });

  it('shows the audit log of the account to its people, in pages, and nothing of other accounts', async () => {
    const { cookie, data } = await login('ann@example.org');
    const { id } = (data as { account: { id: string } }).account;
    const people = world.access.people();
    await people.create('zoe@example.org', PASSWORD, 'FREE');
    const zoe = await login('zoe@example.org');
    const read: { action: string; who: string }[] = [];
    let cursor = '';
    do {
      const page = await ask('GET', `/audit?limit=3${cursor}`, { cookie });
      const { entries, nextCursor } = page.data as { entries: never[]; nextCursor: string | null };
      read.push(...entries);
      cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`;
    } while (cursor !== '');
    const own = world.access
      .audit()
      .newest(1_000)
      .filter(({ accountId }) => accountId === id);
    expect(read.map(({ action }) => action)).toEqual(own.map(({ action }) => action));
    expect(read.map(({ action }) => action)).toContain('person.invite');
    const ofZoe = await ask('GET', '/audit', { cookie: zoe.cookie });
    expect(ofZoe.data).toMatchObject({
      entries: [
        { id: '2', action: 'session.create' },
        { id: '1', action: 'account.create', who: 'operator' },
      ],
      hasMore: false,
    });
    for (const bad of ['0', '-1', 'x', '1e9', '99999999999999999999'])
      expect((await ask('GET', `/audit?cursor=${bad}`, { cookie })).status).toBe(400);
  });

  it('lists the sessions of the person with their browsers, and ends the others', async () => {
    const { cookie, data } = await login('ann@example.org');
    const other = await login('ann@example.org');
    const listed = await ask('GET', '/auth/sessions?limit=2', { cookie });
    const { sessions } = listed.data as { sessions: { id: string; current: boolean }[] };
    expect(sessions[0]).toMatchObject({ userAgent: 'Mozilla/5.0 (test)', address: '127.0.0.1' });
    expect(sessions.find(({ current }) => current)?.id).toBe((data as { id: string }).id);
    expect(JSON.stringify(listed.data)).not.toContain(cookie.slice('assay_session='.length));
    const all = async (): Promise<{ id: string; current: boolean }[]> =>
      ((await ask('GET', '/auth/sessions', { cookie })).data as { sessions: [] }).sessions;
    const { id: otherId } = other.data as { id: string };
    const [earlier] = (await all()).filter((one) => !one.current && one.id !== otherId);
    expect((await ask('DELETE', `/auth/sessions/${earlier?.id}`, { cookie })).status).toBe(200);
    const left = (await all()).map(({ id }) => id);
    expect(left).toContain(otherId);
    expect(left).not.toContain(earlier?.id);
    const ended = await ask('DELETE', '/auth/sessions', { cookie });
    expect((ended.data as { ended: number }).ended).toBeGreaterThan(0);
    expect((await ask('GET', '/auth/session', { cookie: other.cookie })).status).toBe(401);
    expect((await ask('GET', '/auth/session', { cookie })).status).toBe(200);
  });

  it('sends a confirmation again, and says the same of every address', async () => {
    await ask('POST', '/auth/register', { body: { email: 'eve@example.org', password: PASSWORD } });
    await mailed('eve@example.org');
    const answers = ['eve@example.org', 'nobody@example.org'].map((email) =>
      ask('POST', '/auth/confirmation', { body: { email } }),
    );
    const [known, unknown] = await Promise.all(answers);
    expect(known).toEqual(unknown);
    const token = await mailed('eve@example.org');
    expect((await ask('POST', '/auth/verify', { body: { token } })).status).toBe(200);
  });
});
