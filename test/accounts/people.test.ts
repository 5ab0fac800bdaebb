import { scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { clientUnit } from '../../src/accounts/attempts.ts';
import { openAuditLog } from '../../src/accounts/audit.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { createPeople, type People, type PeopleOptions } from '../../src/accounts/people.ts';
import { emailOf, openPeopleStore } from '../../src/accounts/people-store.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Email } from '../../src/base/mail.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ScryptRequest } from '../../src/base/scrypt.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';
import { tempFolder } from './temp-folder.ts';

const START = Date.UTC(2026, 10, 21);
const PASSWORD = 'correct horse battery';
const FROM = '192.0.2.1';

/** People in a folder of their own, with a clock that the test sets and passwords that are cheap to hash. */
async function openWorld(state: LiveState, options: Partial<PeopleOptions> = {}) {
  const folder = tempFolder();
  const time = { ms: START };
  const clock = { now: () => time.ms, monotonic: () => time.ms };
  const deps = { clock, random: systemRandom, log: silentLogger, openStore: state.openStore };
  const letters: Email[] = [];
  const derived: ScryptRequest[] = [];
  const keys = openKeyStore({ path: join(folder.path, 'keys.mdb') }, deps);
  const audit = openAuditLog({ path: join(folder.path, 'audit.mdb') }, deps);
  const stores = [openPeopleStore({ path: join(folder.path, 'people.mdb') }, deps)];
  await state.ready();
  const open = (): People =>
    createPeople(
      { registration: 'open', ...options },
      {
        ...deps,
        keys,
        store: stores[0]!,
        audit: () => audit,
        mailer: { send: async (letter) => void letters.push(letter) },
        derive: async (request) => {
          derived.push(request);
          return scryptSync(request.password, request.salt, request.bytes, { N: 2 });
        },
      },
    );
  const tokenIn = (letter: Email | undefined): string => /^[\w-]{43}$/m.exec(letter?.text ?? '')?.[0] ?? '';
  return {
    people: open(),
    time,
    letters,
    derived,
    keys,
    audit,
    tokenIn,
    async close() {
      await Promise.all([keys.close(), audit.close(), stores[0]!.close()]);
      await state.close();
      folder.remove();
    },
  };
}

overLiveStates((makeState) => {
  describe('users', () => {
    let world: Awaited<ReturnType<typeof openWorld>>;
    afterEach(() => world.close());

    it('cannot register while registration is closed', async () => {
      world = await openWorld(makeState(), { registration: 'closed' });
      await expect(world.people.register('a@example.org', PASSWORD, FROM)).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
      expect(world.people.list()).toEqual([]);
    });

    it('get free credits only after they have confirmed their email address', async () => {
      world = await openWorld(makeState());
      const { people, letters, tokenIn } = world;
      await people.register(' Ann@Example.org ', PASSWORD, FROM);
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
      world = await openWorld(makeState());
      const { people, letters, derived } = world;
      await people.register('ann@example.org', PASSWORD, FROM);
      await people.register('ann@example.org', 'another password', FROM);
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
      expect(letters).toHaveLength(2);
    });

    it('have sessions of 12 hours that end at a logout, a password change, and with the account', async () => {
      world = await openWorld(makeState());
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
      world = await openWorld(makeState());
      const { people, letters, time, tokenIn } = world;
      await people.create('ann@example.org', PASSWORD, 'FREE');
      const session = await people.login('ann@example.org', PASSWORD, FROM);
      await people.forgot('ann@example.org', FROM);
      await people.forgot('ann@example.org', FROM);
      const [late, good] = letters.map(tokenIn) as [string, string];
      await expect(people.resetPassword(good, 'short', FROM)).rejects.toMatchObject({ field: 'password' });
      await people.resetPassword(good, 'a new password', FROM);
      expect(people.session(session.token)).toBeNull();
      await expect(people.resetPassword(good, 'again a password', FROM)).rejects.toMatchObject({
        field: 'token',
      });
      await people.login('ann@example.org', 'a new password', FROM);
      time.ms += 3_600_000;
      await expect(people.resetPassword(late, 'again a password', FROM)).rejects.toMatchObject({
        field: 'token',
      });
    });

    it('are rejected after ten wrong passwords of one account, from any address, until the window ends', async () => {
      world = await openWorld(makeState());
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
      world = await openWorld(makeState());
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
      world = await openWorld(makeState());
      const { people, audit, letters, tokenIn } = world;
      await people.register('ann@example.org', PASSWORD, FROM);
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
      world = await openWorld(makeState());
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
  it.each(['keys-lmdb.ts', 'password.ts', 'payments.ts'])('%s compares only with timingSafeEqual', (file) => {
    const text = readFileSync(join(projectRoot, 'src', 'accounts', file), 'utf8');
    expect(text).toContain('timingSafeEqual(');
    expect(text).not.toMatch(/\b(?:hash|token|signature|expected|derived)\b [!=]== (?!null|undefined)/);
    expect(text).not.toMatch(/\.equals\(/);
  });

  it('sessions and one-time tokens are looked up only by their hash', () => {
    const text = readFileSync(join(projectRoot, 'src', 'accounts', 'people-store.ts'), 'utf8');
    expect(
      [...text.matchAll(/(?:sessions|tokens)\.(?:get|remove)\((\w+)/g)].map((match) => match[1]),
    ).toEqual(['hashOf', 'hashOf', 'hash']);
  });
});
