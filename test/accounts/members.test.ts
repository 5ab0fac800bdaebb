/** People of an account: invitations, roles, sessions and second factors, over each kind of live state. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Role } from '../../src/accounts/roles.ts';
import { hotp, stepOf } from '../../src/accounts/totp.ts';
import { overLiveStates } from '../setup/live-state.ts';
import { fromBase32 } from '../support/base32.ts';
import { FROM, openPeopleWorld, PASSWORD } from './people-world.ts';

const ANN = 'ann@example.org';
const BOB = 'bob@example.org';
const DAY_MS = 24 * 3_600_000;
const ACTOR = { who: 'acc_x', from: FROM };
const CLIENT = { from: FROM, userAgent: 'Firefox' };

overLiveStates((makeState) => {
  let world: Awaited<ReturnType<typeof openPeopleWorld>>;
  afterEach(() => world.close());

  /** Opens a world with the account of Ann. */
  async function openAccount() {
    world = await openPeopleWorld(makeState());
    const { id: accountId } = await world.people.create(ANN, PASSWORD, 'FREE');
    const { people } = world;
    const { members } = people;
    const ann = { who: accountId, from: FROM };
    const invite = async (email: string, role: Role = 'analyst') => {
      const person = await members.invite(ann, accountId, email, role, PASSWORD);
      await people.settled();
      return { ...person, token: world.tokenIn(world.letters.at(-1)) };
    };
    return {
      accountId,
      ann,
      people,
      members,
      invite,
      async join(email: string, role: Role) {
        const { token } = await invite(email, role);
        return people.acceptInvitation(token, PASSWORD, CLIENT);
      },
      actions: () =>
        world.audit
          .newest(100)
          .map(({ action, subject, detail }) =>
            [action, subject, detail].filter((one) => one !== null).join(' '),
          )
          .reverse(),
    };
  }

  describe('people of an account', () => {
    it('are not invited by a server without a mail server, which says what to do instead', async () => {
      const { accountId, ann } = await openAccount();
      const { members } = world.open({ mailer: null });
      await expect(members.invite(ann, accountId, BOB, 'analyst')).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        field: 'email',
        message: expect.stringContaining('add the person with a password (POST /people)'),
      });
      expect(members.list(accountId)).toHaveLength(1);
    });

    it('are invited by email, join with the role of the invitation, and are in the audit log', async () => {
      const { accountId, people, members, invite, actions } = await openAccount();
      const invited = await invite(' Bob@Example.org');
      expect(world.letters.at(-1)?.text).toContain(
        `https://assay.example.org/invite#token=${invited.token}\n`,
      );
      expect(members.list(accountId)).toMatchObject([
        { id: accountId, email: ANN, role: 'owner', status: 'ACTIVE', invitedBy: null },
        { id: invited.id, email: BOB, role: 'analyst', status: 'INVITED', invitedBy: accountId },
      ]);
      await expect(people.acceptInvitation(invited.token, 'short', CLIENT)).rejects.toMatchObject({
        field: 'password',
      });
      const session = await people.acceptInvitation(invited.token, PASSWORD, CLIENT);
      expect(session).toMatchObject({
        account: { id: accountId, email: BOB, emailVerified: true },
        person: { role: 'analyst', secondFactor: false },
      });
      await expect(people.acceptInvitation(invited.token, PASSWORD, CLIENT)).rejects.toMatchObject({
        field: 'token',
      });
      const again = await people.login(BOB, PASSWORD, FROM);
      expect(people.session(again.token)).toMatchObject({ account: { id: accountId } });
      expect(members.list(accountId).map(({ email, status }) => [email, status])).toEqual([
        [ANN, 'ACTIVE'],
        [BOB, 'ACTIVE'],
      ]);
      const { id } = session.person;
      expect(actions()).toEqual([
        'account.create FREE',
        `person.invite ${invited.id} analyst`,
        `person.join ${id} ${invited.id} analyst`,
        `session.create ${id}`,
      ]);
      expect(world.audit.newest(1)[0]).toMatchObject({ who: id, accountId });
    });

    it('cannot use an invitation that expired, was replaced, withdrawn, or issued for another purpose', async () => {
      const { accountId, people, members, invite } = await openAccount();
      const isDead = (token: string) =>
        expect(people.acceptInvitation(token, PASSWORD, CLIENT)).rejects.toMatchObject({ field: 'token' });
      const first = await invite(BOB);
      const second = await invite(BOB, 'auditor');
      expect(members.list(accountId)).toHaveLength(2);
      await isDead(first.token);
      await members.remove(ACTOR, accountId, second.id);
      await isDead(second.token);
      expect(members.list(accountId)).toHaveLength(1);
      const third = await invite(BOB);
      world.time.ms += 7 * DAY_MS;
      await isDead(third.token);
      expect(members.list(accountId)).toHaveLength(1);
      const fourth = await invite(BOB);
      await expect(people.resetPassword(fourth.token, PASSWORD, FROM)).rejects.toMatchObject({
        field: 'token',
      });
      await expect(people.verifyEmail(fourth.token, FROM)).rejects.toMatchObject({ field: 'token' });
      await isDead(await world.resetToken(ANN));
      for (const token of ['', 'x', `${fourth.token.slice(1)}!`, 'ü'.repeat(43)]) await isDead(token);
      await people.acceptInvitation(fourth.token, PASSWORD, CLIENT);
    });

    it('are not stored any more if their invitation expired', async () => {
      const { accountId, people, invite } = await openAccount();
      await invite(BOB);
      world.time.ms += 6 * DAY_MS;
      await people.login(ANN, PASSWORD, FROM);
      expect(world.store.invitations(accountId)).toHaveLength(1);
      world.time.ms += DAY_MS + 1;
      await people.login(ANN, PASSWORD, FROM);
      // At an earlier time it would be valid, if it were there.
      world.time.ms -= DAY_MS;
      expect(world.store.invitations(accountId)).toEqual([]);
    });

    it('take the role that the invitation has when they accept it', async () => {
      const { accountId, people, members, invite } = await openAccount();
      const invited = await invite(BOB, 'owner');
      await members.setRole(ACTOR, accountId, invited.id, 'auditor');
      expect((await people.acceptInvitation(invited.token, PASSWORD, CLIENT)).person.role).toBe('auditor');
    });

    it('are added once if an invitation is accepted twice at the same time', async () => {
      const { accountId, people, members, invite } = await openAccount();
      const { token } = await invite(BOB);
      const accept = () => people.acceptInvitation(token, PASSWORD, CLIENT);
      const outcomes = await Promise.allSettled([accept(), accept(), accept()]);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(members.list(accountId)).toHaveLength(2);
    });

    it('learn nothing from an invitation of an address that has an account elsewhere', async () => {
      const { accountId, people, members, invite } = await openAccount();
      await people.create(BOB, PASSWORD, 'FREE');
      const { token: _none, id, ...known } = await invite(BOB);
      const { token: _token, id: _id, ...unknown } = await invite('cid@example.org');
      expect(known).toEqual({ ...unknown, email: BOB });
      expect(world.letters.at(-2)?.text).toContain('already\nhas an account');
      expect(world.letters.at(-2)?.text).not.toMatch(/#token=/);
      expect(members.list(accountId).find((one) => one.id === id)).toMatchObject({ status: 'INVITED' });
      await expect(invite(ANN)).rejects.toMatchObject({ field: 'email' });
    });

    it('cannot join with an address that got an account meanwhile', async () => {
      const { people, invite } = await openAccount();
      const { token } = await invite(BOB);
      await people.create(BOB, PASSWORD, 'FREE');
      await expect(people.acceptInvitation(token, PASSWORD, CLIENT)).rejects.toMatchObject({
        field: 'token',
      });
    });

    it('cannot be invited by a person with an unconfirmed address, nor more often than three times an hour', async () => {
      const { people, members, invite } = await openAccount();
      await people.register('eve@example.org', PASSWORD, FROM);
      await people.settled();
      const eve = people.byEmail('eve@example.org');
      await expect(
        members.invite({ who: `${eve?.id}`, from: FROM }, `${eve?.id}`, 'x@example.org', 'owner', PASSWORD),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' });
      for (let sent = 0; sent < 3; sent++) await invite(BOB);
      await expect(invite(BOB)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    });

    it('are at most a hundred, with the invitations, also if several are added at the same time', async () => {
      const { accountId, members, invite } = await openAccount();
      for (let n = 2; n < 99; n++)
        await members.add(ACTOR, accountId, `p${n}@example.org`, 'auditor', PASSWORD);
      expect(members.list(accountId)).toHaveLength(98);
      const outcomes = await Promise.allSettled(
        ['q', 'r', 's', 't'].map((name) =>
          members.add(ACTOR, accountId, `${name}@example.org`, 'auditor', PASSWORD),
        ),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      expect(members.list(accountId)).toHaveLength(100);
      await expect(invite(BOB)).rejects.toMatchObject({ field: 'email' });
      await expect(members.add(ACTOR, accountId, BOB, 'auditor', PASSWORD)).rejects.toMatchObject({
        field: 'email',
      });
    });

    it('leave keys behind that the audit log names', async () => {
      const { accountId, ann, members, join } = await openAccount();
      const { person } = await join(BOB, 'analyst');
      const create = (createdBy: string) => world.keys.create({ name: 'k', accountId, createdBy });
      const names: string[] = [];
      for (let n = 0; n < 7; n++) names.push((await create(person.id)).record.id);
      await create('session');
      const [revoked = '', ...active] = names;
      await world.keys.revoke(revoked);
      await members.remove(ann, accountId, person.id);
      const named = world.audit.newest(1)[0]?.detail ?? '';
      expect(named).toMatch(/^analyst, keys stay active: (key_\w+ ){5}and 1 more$/);
      expect(active.filter((id) => named.includes(id))).toHaveLength(5);
      expect(active.every((id) => world.keys.get(id)?.status === 'ACTIVE')).toBe(true);
    });

    it('always have an owner, also if two owners leave at the same time', async () => {
      const { accountId, ann, members, join } = await openAccount();
      for (const [field, change] of [
        ['role', () => members.setRole(ann, accountId, accountId, 'auditor', PASSWORD)],
        ['id', () => members.remove(ann, accountId, accountId, PASSWORD)],
      ] as const)
        await expect(change()).rejects.toMatchObject({ code: 'INVALID_REQUEST', field });
      const { person } = await join(BOB, 'owner');
      const outcomes = await Promise.allSettled([
        members.remove(ann, accountId, accountId, PASSWORD),
        members.setRole(ann, accountId, person.id, 'analyst', PASSWORD),
      ]);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      expect(members.list(accountId).filter(({ role }) => role === 'owner')).toHaveLength(1);
    });

    it('lose their sessions and their address at a removal, and the account stays', async () => {
      const { accountId, people, members, join } = await openAccount();
      const bob = await join(BOB, 'owner');
      const actor = { who: bob.person.id, from: FROM };
      const ann = await people.login(ANN, PASSWORD, FROM);
      await members.remove(actor, accountId, accountId, PASSWORD);
      expect(people.session(ann.token)).toBeNull();
      await expect(people.login(ANN, PASSWORD, FROM)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
      expect(people.session(bob.token)).toMatchObject({ account: { id: accountId } });
      expect(people.mayHaveFreeCredits(accountId)).toBe(true);
      const { id } = await members.invite(actor, accountId, ANN, 'auditor');
      await people.settled();
      const token = world.tokenIn(world.letters.at(-1));
      const back = await people.acceptInvitation(token, PASSWORD, CLIENT);
      expect(id).toMatch(/^inv_/);
      expect(back.account.id).toBe(accountId);
      expect(back.person.id).not.toBe(accountId);
    });

    it('of another account are not found', async () => {
      const { accountId, people, members, invite } = await openAccount();
      const other = await people.create('zoe@example.org', PASSWORD, 'FREE');
      const invited = await invite(BOB);
      for (const [account, id] of [
        [accountId, other.id],
        [other.id, accountId],
        [other.id, invited.id],
        [accountId, 'per_none'],
        [accountId, 'inv_none'],
        [accountId, ''],
      ] as const) {
        for (const change of [
          () => members.setRole(ACTOR, account, id, 'auditor'),
          () => members.remove(ACTOR, account, id),
          () => members.endSessions(ACTOR, account, id),
          () => members.discardFactor(ACTOR, account, id, PASSWORD),
        ])
          await expect(change(), `${account} ${id}`).rejects.toMatchObject({ code: 'NOT_FOUND' });
      }
      expect(members.list(other.id)).toHaveLength(1);
      expect(members.list(accountId)).toHaveLength(2);
    });

    it('become owners or cease to be, only with the password of the owner who does it', async () => {
      const { accountId, ann, people, members, invite, join } = await openAccount();
      const bob = await join(BOB, 'owner');
      const cid = await join('cid@example.org', 'analyst');
      const invited = await invite('dora@example.org');
      const add = (own?: string) =>
        members.add(ann, accountId, 'eve@example.org', 'owner', 'a first password', own);
      const changes = [
        (own?: string) => members.setRole(ann, accountId, cid.person.id, 'owner', own),
        (own?: string) => members.setRole(ann, accountId, bob.person.id, 'analyst', own),
        (own?: string) => members.setRole(ann, accountId, invited.id, 'owner', own),
        (own?: string) => members.invite(ann, accountId, 'fay@example.org', 'owner', own),
        add,
        (own?: string) => members.remove(ann, accountId, cid.person.id, own),
      ];
      const before = members.list(accountId);
      for (const change of changes.slice(0, 5))
        for (const own of [undefined, 'guess', ''])
          await expect(change(own)).rejects.toMatchObject({ field: 'currentPassword' });
      await expect(members.remove(ann, accountId, bob.person.id)).rejects.toMatchObject({
        field: 'currentPassword',
      });
      expect(members.list(accountId)).toEqual(before);
      expect(people.session(bob.token)).not.toBeNull();
      // The guesses count like those of a login.
      await expect(people.login(ANN, PASSWORD, FROM)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
      world.time.ms += 15 * 60_000;
      for (const change of changes) await change(PASSWORD);
      // People who are no owners are changed without it, and the operator needs none.
      await members.setRole(ann, accountId, bob.person.id, 'auditor');
      await members.remove(ann, accountId, bob.person.id);
      const operator = { who: 'operator', from: 'command line' };
      await members.add(operator, accountId, 'guy@example.org', 'owner', PASSWORD);
    });

    it('replace an unconfirmed registration of their address, never a confirmed one', async () => {
      const { accountId, people, invite } = await openAccount();
      await people.register(BOB, 'password of a squatter', FROM);
      await people.settled();
      const squatter = await people.login(BOB, 'password of a squatter', FROM);
      const { token } = await invite(BOB);
      expect(world.letters.at(-1)?.text).toContain('/invite#token=');
      const joined = await people.acceptInvitation(token, PASSWORD, CLIENT);
      expect(joined.account).toMatchObject({ id: accountId, email: BOB, emailVerified: true });
      expect(people.session(squatter.token)).toBeNull();
      await expect(people.login(BOB, 'password of a squatter', FROM)).rejects.toThrow('wrong');
      await people.login(BOB, PASSWORD, FROM);
      expect(world.store.members(squatter.account.id)).toEqual([]);
      // The keys of its account stay; without this, they would get free credits that were never confirmed.
      expect(people.mayHaveFreeCredits(squatter.account.id)).toBe(false);
      expect(people.mayHaveFreeCredits(accountId)).toBe(true);
      expect(people.mayHaveFreeCredits('acc_of_a_key_by_the_operator')).toBe(true);
      const removed = world.audit.newest(10).find(({ action }) => action === 'person.remove');
      expect(removed).toMatchObject({ who: joined.person.id, accountId: squatter.account.id });

      // Confirmed after the invitation was sent.
      await people.register('cid@example.org', PASSWORD, FROM);
      await people.settled();
      const confirmation = world.tokenIn(world.letters.at(-1));
      const late = await invite('cid@example.org');
      await people.verifyEmail(confirmation, FROM);
      await expect(people.acceptInvitation(late.token, PASSWORD, CLIENT)).rejects.toMatchObject({
        field: 'token',
      });
      // Not the first of the account, and not alone in it.
      const dora = 'dora@example.org';
      await people.members.add(ACTOR, accountId, dora, 'auditor', PASSWORD);
      await people.register('eve@example.org', PASSWORD, FROM);
      await people.settled();
      const eve = people.byEmail('eve@example.org')?.id ?? '';
      await people.members.add(ACTOR, eve, 'fay@example.org', 'auditor', PASSWORD);
      const zoe = await people.create('zoe@example.org', PASSWORD, 'FREE');
      for (const email of [dora, 'eve@example.org']) {
        await people.members.invite({ who: zoe.id, from: FROM }, zoe.id, email, 'auditor');
        await people.settled();
        expect(world.letters.at(-1)?.text).not.toContain('/invite#token=');
      }
    });

    it('take their invitations with them when they cease to be owners', async () => {
      const { accountId, ann, people, members, join } = await openAccount();
      for (const [email, end] of [
        ['carl@example.org', (id: string) => members.remove(ann, accountId, id, PASSWORD)],
        ['dora@example.org', (id: string) => members.setRole(ann, accountId, id, 'analyst', PASSWORD)],
      ] as const) {
        const { person } = await join(`former-${email}`, 'owner');
        await members.invite({ who: person.id, from: FROM }, accountId, email, 'owner', PASSWORD);
        await people.settled();
        const token = world.tokenIn(world.letters.at(-1));
        await end(person.id);
        await expect(people.acceptInvitation(token, PASSWORD, CLIENT)).rejects.toThrow('token: is used');
      }
    });

    it('have a role that a running session follows at once', async () => {
      const { accountId, people, members, join } = await openAccount();
      const { token, person } = await join(BOB, 'analyst');
      await members.setRole(ACTOR, accountId, person.id, 'auditor');
      expect(people.session(token)?.person.role).toBe('auditor');
    });
  });

  describe('sessions of a person', () => {
    it('are listed with the client, and end one by one or all others at once', async () => {
      const { accountId, people, actions } = await openAccount();
      const login = (userAgent: string) => people.login(ANN, PASSWORD, FROM, { userAgent });
      const phone = await login('Phone');
      world.time.ms += 1_000;
      const desk = await login('x'.repeat(10_000));
      const ids = () => people.sessions(accountId, desk.id).map(({ id }) => id);
      expect(people.sessions(accountId, desk.id)).toEqual([
        expect.objectContaining({ id: desk.id, current: true, userAgent: 'x'.repeat(200), address: FROM }),
        expect.objectContaining({ id: phone.id, current: false, userAgent: 'Phone' }),
      ]);
      world.time.ms += 6 * 60_000;
      expect(people.session(phone.token)).not.toBeNull();
      await people.settled();
      const [, used] = people.sessions(accountId, desk.id);
      expect(used?.lastUsedAt).toBe(new Date(world.time.ms).toISOString());
      await people.endSession(accountId, phone.id, FROM);
      expect(people.session(phone.token)).toBeNull();
      expect(ids()).toEqual([desk.id]);
      for (const id of [phone.id, 'ses_x', '', desk.token])
        await expect(people.endSession(accountId, id, FROM)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      await login('Tablet');
      expect(await people.endOtherSessions(accountId, desk.id, FROM)).toBe(1);
      expect(ids()).toEqual([desk.id]);
      expect(actions().filter((action) => action.startsWith('session.end'))).toEqual([
        `session.end ${phone.id}`,
        'session.end 1 others',
      ]);
    });

    it('cannot be ended by another person of the account, except all of them by an owner', async () => {
      const { accountId, people, members, join } = await openAccount();
      const bob = await join(BOB, 'analyst');
      await expect(people.endSession(accountId, bob.id, FROM)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      expect(await people.endOtherSessions(accountId, '', FROM)).toBe(0);
      expect(people.session(bob.token)).not.toBeNull();
      expect(await members.endSessions(ACTOR, accountId, bob.person.id)).toBe(1);
      expect(people.session(bob.token)).toBeNull();
    });

    it('are at most a hundred: a further one ends the oldest', async () => {
      const { accountId, people } = await openAccount();
      const first = await people.login(ANN, PASSWORD, FROM);
      for (let n = 0; n < 100; n++) {
        world.time.ms += 1;
        await people.login(ANN, PASSWORD, FROM);
      }
      expect(people.session(first.token)).toBeNull();
      expect(people.sessions(accountId, '')).toHaveLength(100);
    });
  });

  describe('a second factor', () => {
    /** Enables the second factor of Ann; returns a function for the current code. */
    async function enabled() {
      const account = await openAccount();
      const { people, accountId } = account;
      const { secret } = await people.secondFactor.enrol(accountId, PASSWORD, FROM);
      const bytes = fromBase32(secret);
      const code = (drift = 0): string => hotp(bytes, stepOf(world.time.ms) + drift);
      const recovery = await people.secondFactor.confirm(accountId, code(), FROM);
      world.time.ms += 60_000;
      return { ...account, code, recovery, secret };
    }
    const login = (code?: string) => world.people.login(ANN, PASSWORD, FROM, { code });

    it('counts only after its first code is confirmed', async () => {
      const { accountId, people } = await openAccount();
      await expect(people.secondFactor.enrol(accountId, 'wrong', FROM)).rejects.toMatchObject({
        field: 'password',
      });
      await expect(people.secondFactor.confirm(accountId, '123456', FROM)).rejects.toMatchObject({
        field: 'code',
      });
      const { secret, uri } = await people.secondFactor.enrol(accountId, PASSWORD, FROM);
      expect(new URL(uri).searchParams.get('secret')).toBe(secret);
      await expect(people.secondFactor.confirm(accountId, '000000', FROM)).rejects.toMatchObject({
        field: 'code',
      });
      await login();
      const second = await people.secondFactor.enrol(accountId, PASSWORD, FROM);
      expect(second.secret).not.toBe(secret);
      const codeOf = (text: string) => hotp(fromBase32(text), stepOf(world.time.ms));
      await expect(people.secondFactor.confirm(accountId, codeOf(secret), FROM)).rejects.toMatchObject({
        field: 'code',
      });
      await people.secondFactor.confirm(accountId, codeOf(second.secret), FROM);
      await expect(login()).rejects.toMatchObject({ code: 'SECOND_FACTOR_REQUIRED', field: 'code' });
      await expect(people.secondFactor.enrol(accountId, PASSWORD, FROM)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      });
      expect(people.members.list(accountId)).toMatchObject([{ secondFactor: true }]);
    });

    it('is asked for only after the right password', async () => {
      const { people } = await enabled();
      await expect(people.login(ANN, 'wrong', FROM)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    });

    it('accepts each code once, also by two processes at the same time', async () => {
      const { people, code } = await enabled();
      const other = world.open();
      const attempts = [people, other, people].map((each) =>
        each.login(ANN, PASSWORD, FROM, { code: code() }),
      );
      const outcomes = await Promise.allSettled(attempts);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      await expect(login(code())).rejects.toMatchObject({ code: 'UNAUTHENTICATED', field: 'code' });
      await expect(login(code(-1))).rejects.toMatchObject({ field: 'code' });
      const next = code(1);
      await login(` ${next.slice(0, 3)} ${next.slice(3)} `);
    });

    it('accepts each of ten recovery codes once, in any letter case', async () => {
      const { recovery, actions } = await enabled();
      expect(recovery).toHaveLength(10);
      expect(new Set(recovery).size).toBe(10);
      const [first = '', second = ''] = recovery;
      expect(first).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
      await login(first.toLowerCase().replaceAll('-', ' '));
      await expect(login(first)).rejects.toMatchObject({ field: 'code' });
      await login(second);
      expect(actions().filter((action) => action.startsWith('totp.recovery'))).toHaveLength(2);
    });

    it('ends with the password and a code, and its secrets are not stored as text', async () => {
      const { accountId, people, code, recovery, secret } = await enabled();
      const stored = JSON.stringify(world.store.get(accountId));
      expect(stored).not.toContain(secret);
      for (const one of recovery) expect(stored).not.toContain(one.replaceAll('-', ''));
      const { secondFactor } = people;
      await expect(secondFactor.disable(accountId, 'wrong', code(), FROM)).rejects.toMatchObject({
        field: 'password',
      });
      await expect(secondFactor.disable(accountId, PASSWORD, '000000', FROM)).rejects.toMatchObject({
        field: 'code',
      });
      const renewed = await secondFactor.renew(accountId, PASSWORD, code(), FROM);
      await expect(login(recovery[3])).rejects.toMatchObject({ field: 'code' });
      await secondFactor.disable(accountId, PASSWORD, `${renewed[0]}`, FROM);
      await login();
      expect(world.letters.at(-1)?.subject).toBe('Your second factor was disabled');
    });

    it('is guessed at most ten times in 15 minutes, whatever right passwords and addresses are between', async () => {
      const { people, code, recovery } = await enabled();
      for (let attempt = 0; attempt < 10; attempt++) {
        await expect(login()).rejects.toMatchObject({ code: 'SECOND_FACTOR_REQUIRED' });
        await expect(
          people.login(ANN, PASSWORD, `198.51.100.${attempt}`, { code: '000000' }),
        ).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
      }
      await expect(login(code())).rejects.toMatchObject({ code: 'RATE_LIMITED' });
      // A recovery code cannot be guessed: it lets its person in at once, and forgets none of the wrong codes.
      await login(recovery[0]);
      for (const refused of [code(), 'AAAA-AAAA-AAAA-AAAA'])
        await expect(login(refused)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
      world.time.ms += 15 * 60_000;
      await login(code());
    });

    it('is guessed at most fifty times in a day; then only recovery codes work, and the person gets an email', async () => {
      const { code, recovery, actions } = await enabled();
      const guess = () => login('000000');
      for (let wrong = 0; wrong < 50; wrong++) {
        if (wrong % 10 === 0) {
          // A code of the owner forgets none of the wrong ones, and is not counted.
          world.time.ms += 15 * 60_000;
          await login(code());
        }
        await expect(guess()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
        if (wrong < 49) expect(world.letters).toHaveLength(0);
      }
      await world.people.settled();
      expect(world.letters.map(({ to, subject }) => [to, subject])).toEqual([
        [ANN, 'Somebody is guessing codes of your account'],
      ]);
      expect(actions().filter((action) => /lock/.test(action))).toEqual([
        expect.stringMatching(/^totp\.lock acc_\w+ 50 wrong codes$/),
      ]);
      expect(actions().filter((action) => action === 'session.refuse second factor')).toHaveLength(50);
      world.time.ms += 15 * 60_000;
      for (const given of [code(), '000000'])
        await expect(login(given)).rejects.toMatchObject({
          code: 'RATE_LIMITED',
          message: expect.stringContaining('recovery code'),
        });
      await login(recovery[0]);
      expect(world.letters).toHaveLength(1);
      world.time.ms += DAY_MS;
      await login(code());
    });

    it('leaves an audit entry for each wrong code in a session', async () => {
      const { accountId, people, actions } = await enabled();
      await expect(people.secondFactor.disable(accountId, PASSWORD, '000000', FROM)).rejects.toThrow('code');
      await expect(people.secondFactor.renew(accountId, PASSWORD, '000000', FROM)).rejects.toThrow('code');
      expect(actions().filter((action) => action.startsWith('totp.refuse'))).toHaveLength(2);
    });

    it('survives a password reset, and an owner can disable that of another person', async () => {
      const { accountId, ann, people, members, join } = await enabled();
      const bob = await join(BOB, 'owner');
      await people.resetPassword(await world.resetToken(ANN), 'a new password', FROM);
      await expect(people.login(ANN, 'a new password', FROM)).rejects.toMatchObject({
        code: 'SECOND_FACTOR_REQUIRED',
      });
      const actor = { who: bob.person.id, from: FROM };
      await expect(members.discardFactor(ann, accountId, accountId, 'a new password')).rejects.toMatchObject({
        field: 'id',
      });
      await expect(members.discardFactor(actor, accountId, accountId, 'guess')).rejects.toMatchObject({
        field: 'currentPassword',
      });
      await members.discardFactor(actor, accountId, accountId, PASSWORD);
      await people.login(ANN, 'a new password', FROM);
      await expect(members.discardFactor(actor, accountId, accountId, PASSWORD)).rejects.toMatchObject({
        code: 'NOT_FOUND',
      });
    });
  });

  describe('a confirmation', () => {
    it('is sent again to an unconfirmed account only, and the answer is always the same', async () => {
      const { people } = await openAccount();
      await people.register(BOB, PASSWORD, FROM);
      await people.settled();
      const before = world.letters.length;
      for (const email of [ANN, BOB, 'nobody@example.org'])
        expect(await people.resendConfirmation(email, FROM)).toBeUndefined();
      await people.settled();
      expect(world.letters.slice(before).map(({ to }) => to)).toEqual([BOB]);
      const letter = world.letters.at(-1);
      expect(letter?.text).toContain(`https://assay.example.org/confirm#token=${world.tokenIn(letter)}\n`);
      await people.verifyEmail(world.tokenIn(letter), FROM);
      for (let sent = 0; sent < 2; sent++) await people.resendConfirmation('nobody@example.org', FROM);
      await expect(people.resendConfirmation('nobody@example.org', FROM)).rejects.toMatchObject({
        code: 'RATE_LIMITED',
      });
    });

    it('and a reset lead to pages, with the token in the fragment', async () => {
      await openAccount();
      const token = await world.resetToken(ANN);
      expect(world.letters.at(-1)?.text).toContain(`https://assay.example.org/reset#token=${token}\n`);
    });
  });
});
