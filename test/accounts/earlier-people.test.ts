/** The store of people and the ledger as the release before organisations and the second balance wrote them. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { createAccess } from '../../src/accounts/access.ts';
import { balanceId } from '../../src/accounts/pools.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { tempFolder } from './temp-folder.ts';

const folder = tempFolder();
afterEach(() => folder.remove());

it('opens with its people as owners, their sessions in the list, and its credits for keys', async () => {
  const token = 'a'.repeat(43);
  const hash = createHash('sha256').update(token).digest('hex');
  const createdMs = Date.now() - 1_000;
  const endsMs = createdMs + 3_600_000;
  const person = {
    id: 'acc_old',
    email: 'ann@example.org',
    emailVerified: true,
    password: 'scrypt$15$8$3$AAAA$AAAA',
    createdAt: '2026-11-20T00:00:00.000Z',
    sessionEpoch: 4,
  };
  const earlier = openLiveStore(join(folder.path, 'people.mdb'), 1);
  const { root } = earlier;
  await root.transaction(() => {
    root.openDB<object, string>({ name: 'people', encoding: 'json' }).putSync(person.id, person);
    root.openDB<string, string>({ name: 'idByEmail', encoding: 'json' }).putSync(person.email, person.id);
    root
      .openDB<object, string>({ name: 'sessions', encoding: 'json' })
      .putSync(hash, { accountId: person.id, createdMs, endsMs, epoch: 4 });
    root
      .openDB<true, [number, string, string]>({ name: 'ends', encoding: 'json' })
      .putSync([endsMs, 'session', hash], true);
  });
  await root.close();

  const parts = { clock: systemClock, random: systemRandom, log: silentLogger };
  const open = () => createAccess({ folder: folder.path }, parts);
  const first = open();
  await first.keys.addAccount(person.id, 'FREE');
  // The entries of that release have the id of the account, as the balance of keys has now.
  await first.ledger().book({ accountId: person.id, type: 'GRANT', amount: 5, reference: null });
  await first.close();

  const access = open();
  const people = access.people();
  const session = people.session(token);
  expect(session).toMatchObject({
    account: { id: person.id },
    person: { id: person.id, role: 'owner', secondFactor: false },
  });
  expect(people.sessions(person.id, `${session?.id}`)).toEqual([
    expect.objectContaining({ id: session?.id, current: true, userAgent: null, address: null }),
  ]);
  expect(people.members.list(person.id)).toMatchObject([{ id: person.id, role: 'owner', status: 'ACTIVE' }]);
  expect((await access.ledger().balance(person.id)).balance).toBe(15);
  expect((await access.ledger().balance(balanceId(person.id, 'dashboard'))).balance).toBe(10);
  expect(await people.endOtherSessions(person.id, '', '127.0.0.1')).toBe(1);
  expect(people.session(token)).toBeNull();
  await access.close();
});
