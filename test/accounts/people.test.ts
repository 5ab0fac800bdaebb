import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { clientUnit } from '../../src/accounts/attempts.ts';
import { emailOf } from '../../src/accounts/people-records.ts';
import { hotp, stepOf } from '../../src/accounts/totp.ts';
import { AssayError } from '../../src/base/errors.ts';
import { projectRoot } from '../../src/base/paths.ts';
import type { ScryptRequest } from '../../src/base/scrypt.ts';
import { overLiveStates } from '../setup/live-state.ts';
import { fromBase32 } from '../support/base32.ts';
import { FROM, openPeopleWorld, PASSWORD } from './people-world.ts';

overLiveStates((makeState) => {
  describe('users', () => {
    let world: Awaited<ReturnType<typeof openPeopleWorld>>;
    afterEach(() => world.close());

    it('cannot register while registration is closed', async () => {
      world = await openPeopleWorld(makeState(), { registration: 'closed' });
      await expect(world.people.register('a@example.org', PASSWORD, FROM)).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
      expect(world.people.list()).toEqual([]);
    });

    it('get free credits only after they have confirmed their email address', async () => {
      world = await openPeopleWorld(makeState());
      const { people, letters, tokenIn } = world;
      await people.register(' Ann@Example.org ', PASSWORD, FROM);
      await people.settled();
      const [account] = people.list();
      expect(account).toMatchObject({ email: 'ann@example.org', emailVerified: false, plan: 'FREE' });
      const id = account!.id;
      expect(people.mayHaveFreeCredits(id)).toBe(false);
      expect(people.mayHaveFreeCredits('local')).toBe(true);
      const token = tokenIn(letters[0]);
      await expect(people.verifyEmail(`${token.slice(0, -1)}!`, FROM)).rejects.toMatchObject({
        field: 'token',
      });
      await expect(people.resetPassword(token, PASSWORD, FROM)).rejects.toMatchObject({ field: 'token' });
      await people.verifyEmail(token, FROM);
      expect(people.mayHaveFreeCredits(id)).toBe(true);
      await expect(people.verifyEmail(token, FROM)).rejects.toMatchObject({ field: 'token' });
    });

    it('cannot learn whether an address has an account, also not from the work done', async () => {
      world = await openPeopleWorld(makeState());
      const { people, letters, derived } = world;
      await people.register('ann@example.org', PASSWORD, FROM);
      await people.settled();
      await people.register('ann@example.org', 'another password', FROM);
      await people.settled();
      expect(people.list()).toHaveLength(1);
      expect(letters.map((letter) => letter.subject)).toEqual([
        'Confirm your email address',
        'You already have an account',
      ]);
      const cost = ({ log2N, r, p, bytes }: ScryptRequest) => ({ log2N, r, p, bytes });
      const before = derived.length;
      const known = people.login('ann@example.org', 'wrong password', FROM);
      await expect(known).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
      const unknown = people.login('bob@example.org', 'wrong password', FROM);
      await expect(unknown).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
      const [first, second] = derived.slice(before).map(cost);
      expect(second).toEqual(first);
      await people.forgot('bob@example.org', FROM);
      await people.settled();
      expect(letters).toHaveLength(2);
    });

    it('have sessions of 12 hours that end at a logout, a password change, and with the account', async () => {
      world = await openPeopleWorld(makeState());
      const { people, time, keys } = world;
      const account = await people.create('ann@example.org', PASSWORD, 'GROWTH');
      const first = await people.login('ann@example.org', PASSWORD, FROM);
      expect(first.expiresAt).toBe('2026-11-21T12:00:00.000Z');
      expect(people.session(first.token)).toMatchObject({ account: { id: account.id, plan: 'GROWTH' } });
      expect(people.session(first.token.toUpperCase())).toBeNull();
      await people.logout(first.token, FROM);
      expect(people.session(first.token)).toBeNull();

      const second = await people.login('ann@example.org', PASSWORD, FROM);
      await expect(people.changePassword(account.id, 'wrong', 'a new password', FROM)).rejects.toMatchObject({
        field: 'currentPassword',
      });
      const third = await people.changePassword(account.id, PASSWORD, 'a new password', FROM);
      expect(people.session(second.token)).toBeNull();
      expect(people.session(third.token)).not.toBeNull();
      await expect(people.login('ann@example.org', PASSWORD, FROM)).rejects.toThrow();

      await keys.setDisabled(account.id, true);
      expect(people.session(third.token)).toBeNull();
      await expect(people.login('ann@example.org', 'a new password', FROM)).rejects.toThrow();
      await keys.setDisabled(account.id, false);
      time.ms += 12 * 3_600_000 - 1;
      expect(people.session(third.token)).not.toBeNull();
      time.ms += 1;
      expect(people.session(third.token)).toBeNull();
    });

    it('can reset their password by email, once and within an hour', async () => {
      world = await openPeopleWorld(makeState());
      const { people, time } = world;
      await people.create('ann@example.org', PASSWORD, 'FREE');
      const session = await people.login('ann@example.org', PASSWORD, FROM);
      const good = await world.resetToken();
      await expect(people.resetPassword(good, 'short', FROM)).rejects.toMatchObject({ field: 'password' });
      await people.resetPassword(good, 'a new password', FROM);
      expect(people.session(session.token)).toBeNull();
      await expect(people.resetPassword(good, 'again a password', FROM)).rejects.toMatchObject({
        field: 'token',
      });
      await people.login('ann@example.org', 'a new password', FROM);
      const late = await world.resetToken();
      time.ms += 3_600_000;
      await expect(people.resetPassword(late, 'again a password', FROM)).rejects.toMatchObject({
        field: 'token',
      });
    });

    it('keep the token of a reset that was refused because too many passwords were being derived', async () => {
      world = await openPeopleWorld(makeState());
      await world.people.create('ann@example.org', PASSWORD, 'FREE');
      const token = await world.resetToken();
      const busy = world.open({
        derive: () => Promise.reject(new AssayError('OVERLOADED', 'Too much.', { retryAfterSeconds: 2 })),
      });
      await expect(busy.resetPassword(token, 'a new password', FROM)).rejects.toMatchObject({
        code: 'OVERLOADED',
      });
      await world.people.resetPassword(token, 'a new password', FROM);
      await world.people.login('ann@example.org', 'a new password', FROM);
    });

    it('get a registration of their address without the keys and the second factor of whoever made it', async () => {
      world = await openPeopleWorld(makeState());
      const { people, keys, audit } = world;
      await people.register('ann@example.org', PASSWORD, FROM);
      const stranger = await people.login('ann@example.org', PASSWORD, FROM);
      const accountId = stranger.account.id;
      const { secret } = await people.secondFactor.enrol(accountId, PASSWORD, FROM);
      await people.secondFactor.confirm(accountId, hotp(fromBase32(secret), stepOf(world.time.ms)), FROM);
      const first = await keys.create({ name: 'first', accountId, createdBy: 'session' });
      const second = await keys.create({ name: 'second', accountId, createdBy: first.record.id });
      const other = await keys.create({ name: 'other', accountId: 'local' });

      await people.resetPassword(await world.resetToken(), 'a new password', FROM);
      expect([first, second].map(({ apiKey }) => keys.verify(apiKey))).toEqual([null, null]);
      expect(keys.verify(other.apiKey)).not.toBeNull();
      expect(people.session(stranger.token)).toBeNull();
      const { account, person } = await people.login('ann@example.org', 'a new password', FROM);
      expect([account.id, account.emailVerified, person.secondFactor]).toEqual([accountId, true, false]);
      const revoked = audit.newest(10).filter(({ action }) => action === 'key.revoke');
      expect(revoked.map(({ subject }) => subject).sort()).toEqual(
        [first.record.id, second.record.id].sort(),
      );

      // The address is confirmed now: a reset leaves what its owner has made.
      const own = await keys.create({ name: 'own', accountId, createdBy: 'session' });
      await people.resetPassword(await world.resetToken(), 'another password', FROM);
      expect(keys.verify(own.apiKey)).not.toBeNull();
    });

    it('cannot use a reset token after a newer one, after a reset, or after a password change', async () => {
      world = await openPeopleWorld(makeState());
      const { people, store } = world;
      const { id } = await people.create('ann@example.org', PASSWORD, 'FREE');
      await people.create('bob@example.org', PASSWORD, 'FREE');
      const ofBob = await world.resetToken('bob@example.org');
      const isDead = (token: string) =>
        expect(people.resetPassword(token, 'of an old token', FROM)).rejects.toMatchObject({
          field: 'token',
        });

      const first = await world.resetToken();
      const second = await world.resetToken();
      await isDead(first);
      await people.resetPassword(second, 'the second password', FROM);
      await isDead(first);

      const third = await world.resetToken();
      await people.changePassword(id, 'the second password', 'the third password', FROM);
      await isDead(third);

      // Redeemed but not used for a new password, because the process was killed between the two.
      const fourth = await store.issue(id, 'reset', 3_600_000);
      const fifth = await store.issue(id, 'reset', 3_600_000);
      expect(await store.redeem(fifth, 'reset')).toBe(id);
      for (const token of [fourth, fifth]) await isDead(token);
      await people.login('ann@example.org', 'the third password', FROM);
      await people.resetPassword(ofBob, 'of the other person', FROM);
    });

    it('get at most three emails of a kind an hour, and a client twenty, whether or not there is an account', async () => {
      world = await openPeopleWorld(makeState());
      const { people, letters, time } = world;
      await people.create('ann@example.org', PASSWORD, 'FREE');
      const outcome = (request: Promise<void>) =>
        request.then(
          () => 'accepted',
          ({ code, retryAfterSeconds, message }) => `${code} ${retryAfterSeconds} ${message}`,
        );
      const refused =
        'RATE_LIMITED 3600 Too many emails were requested for this email address or from this client; the next one is allowed in 3600 s.';
      for (const email of ['ann@example.org', 'eve@example.org']) {
        letters.length = 0;
        const outcomes: string[] = [];
        // From another client each time, in another spelling.
        for (let client = 0; client < 5; client++)
          outcomes.push(
            await outcome(people.register(` ${email.toUpperCase()}`, PASSWORD, `198.51.100.${client}`)),
          );
        await people.settled();
        for (let client = 0; client < 5; client++)
          outcomes.push(await outcome(people.forgot(email, `198.51.100.${client}`)));
        await people.settled();
        const three = [...Array(3).fill('accepted'), refused, refused];
        expect(outcomes).toEqual([...three, ...three]);
        expect(letters).toHaveLength(6);
      }
      const outcomes: string[] = [];
      for (let address = 0; address < 21; address++)
        outcomes.push(await outcome(people.forgot(`x${address}@example.org`, `2001:db8:1:2::${address}`)));
      expect(outcomes).toEqual([...Array(20).fill('accepted'), refused]);
      time.ms += 3_600_000;
      expect(await outcome(people.register('ann@example.org', PASSWORD, FROM))).toBe('accepted');
      expect(await outcome(people.forgot('ann@example.org', '2001:db8:1:2::1'))).toBe('accepted');
    });

    it('get their answer before anything is done that depends on whether the address has an account', async () => {
      world = await openPeopleWorld(makeState());
      const { people, calls } = world;
      await people.create('ann@example.org', PASSWORD, 'FREE');
      const split = async (request: () => Promise<unknown>) => {
        await people.settled();
        calls.length = 0;
        await request().catch(() => {});
        const done = [...calls];
        await people.settled();
        return { done, later: calls.slice(done.length) };
      };
      const forgot = (email: string) => split(() => people.forgot(email, FROM));
      const known = await forgot('ann@example.org');
      expect(known.later).toContain('issue');
      expect(known.done).toEqual((await forgot('bob@example.org')).done);
      expect(known.done).not.toContain('issue');

      const register = (email: string) => split(() => people.register(email, PASSWORD, FROM));
      const fresh = await register('eve@example.org');
      expect(fresh.later).toEqual(expect.arrayContaining(['add', 'audit', 'issue']));
      expect(fresh.done).toEqual((await register('ann@example.org')).done);
      expect(fresh.done).not.toContain('add');

      const login = (email: string) => split(() => people.login(email, 'wrong password', FROM));
      const wrong = await login('ann@example.org');
      expect(wrong.later).toContain('audit');
      expect(wrong.done).toEqual((await login('bob@example.org')).done);
    });

    it('can log in as soon as their registration was accepted', async () => {
      world = await openPeopleWorld(makeState());
      await world.people.register('ann@example.org', PASSWORD, FROM);
      await world.people.login('ann@example.org', PASSWORD, FROM);
    });

    it('are asked to retry while too many requests for emails are in progress', async () => {
      world = await openPeopleWorld(makeState());
      const { people } = world;
      const asked = Array.from({ length: 40 }, (_, n) => people.forgot(`x${n}@example.org`, `192.0.2.${n}`));
      const failed = (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected');
      expect(failed).toHaveLength(8);
      expect(failed[0]).toMatchObject({ reason: { code: 'OVERLOADED' } });
      await people.settled();
      await people.forgot('y@example.org', FROM);
    });

    it('are rejected after ten wrong passwords of one account, from any address, until the window ends', async () => {
      world = await openPeopleWorld(makeState());
      const { people, time } = world;
      await people.create('ann@example.org', PASSWORD, 'FREE');
      for (let attempt = 0; attempt < 10; attempt++)
        await expect(people.login('ann@example.org', 'wrong', `198.51.100.${attempt}`)).rejects.toMatchObject(
          {
            code: 'UNAUTHENTICATED',
          },
        );
      await expect(people.login('ann@example.org', PASSWORD, FROM)).rejects.toMatchObject({
        code: 'RATE_LIMITED',
        retryAfterSeconds: 900,
      });
      time.ms += 900_000;
      await people.login('ann@example.org', PASSWORD, FROM);
    });

    it('are rejected after fifty wrong passwords from one address, for any account', async () => {
      world = await openPeopleWorld(makeState());
      const { people } = world;
      await people.create('ann@example.org', PASSWORD, 'FREE');
      for (let attempt = 0; attempt < 50; attempt++)
        await expect(
          people.login(`x${attempt}@example.org`, 'wrong', '2001:db8:1:2::5'),
        ).rejects.toMatchObject({
          code: 'UNAUTHENTICATED',
        });
      await expect(people.login('ann@example.org', PASSWORD, '2001:db8:1:2:a::b')).rejects.toMatchObject({
        code: 'RATE_LIMITED',
      });
      await people.login('ann@example.org', PASSWORD, '2001:db8:1:3::5');
    });

    it('leave entries without secrets in the audit log', async () => {
      world = await openPeopleWorld(makeState());
      const { people, audit, letters, tokenIn } = world;
      await people.register('ann@example.org', PASSWORD, FROM);
      await people.settled();
      await people.verifyEmail(tokenIn(letters[0]), FROM);
      const { token } = await people.login('ann@example.org', PASSWORD, FROM);
      await people.login('ann@example.org', 'wrong', FROM).catch(() => {});
      await people.logout(token, FROM);
      const entries = audit.newest(10);
      expect(entries.map((entry) => entry.action).reverse()).toEqual([
        'account.create',
        'account.verify',
        'session.create',
        'session.refuse',
        'session.end',
      ]);
      expect(entries.every((entry) => entry.from === FROM)).toBe(true);
      expect(JSON.stringify(entries)).not.toContain(token);
      expect(JSON.stringify(entries)).not.toContain(PASSWORD);
    });

    it('receive notices, unless they are disabled', async () => {
      world = await openPeopleWorld(makeState());
      const { people, letters, keys } = world;
      const ann = await people.create('ann@example.org', PASSWORD, 'FREE');
      await people.create('bob@example.org', PASSWORD, 'FREE');
      await keys.setDisabled(ann.id, true);
      expect(await people.notify('Notice', 'A field goes away.')).toEqual({ sent: 1, failed: [] });
      expect(letters.map((letter) => letter.to)).toEqual(['bob@example.org']);
    });
  });
});

describe('email addresses and client addresses', () => {
  it.each([
    ['Ann@Example.ORG', 'ann@example.org'],
    ['a+b@x.example', 'a+b@x.example'],
    ['ann', null],
    ['ann@', null],
    ['ann@example.org\r\nBcc: x@y.z', null],
    ['ann@example.org,bob@example.org', null],
    ['Ann <ann@example.org>', null],
    [`${'a'.repeat(250)}@b.cd`, null],
  ])('%j is %j', (text, email) => expect(emailOf(text)).toBe(email));

  it('count an IPv6 /64 as one client', () => {
    expect(clientUnit('2001:db8:1:2:3:4:5:6')).toBe(clientUnit('2001:db8:1:2::9'));
    expect(clientUnit('192.0.2.7')).toBe('192.0.2.7');
  });
});

describe('secrets are compared in constant time', () => {
  it.each(['keys-lmdb.ts', 'password.ts'])('%s compares only with timingSafeEqual', (file) => {
    const text = readFileSync(join(projectRoot, 'src', 'accounts', file), 'utf8');
    expect(text).toContain('timingSafeEqual(');
    expect(text).not.toMatch(/\b(?:hash|token|signature|expected|derived)\b [!=]== (?!null|undefined)/);
    expect(text).not.toMatch(/\.equals\(/);
  });

  it('sessions and one-time tokens are looked up only by their hash', () => {
    const text = readFileSync(join(projectRoot, 'src', 'accounts', 'people-lmdb.ts'), 'utf8');
    const lookedUp = [...text.matchAll(/#(?:sessions|tokens)\.get\((\w+)/g)].map((match) => match[1]);
    expect(new Set(lookedUp)).toEqual(new Set(['hash']));
    // A token becomes its hash before anything else is done with it; other hashes are those of an index.
    const made = [...text.matchAll(/const hash = (.+);/g)].map((match) => match[1]);
    expect(made.filter((value) => value !== 'hashOf(token)')).toEqual([
      'this.#hashesOf(id).find((one) => sessionIdOfHash(one) === sessionId)',
    ]);
  });
});
