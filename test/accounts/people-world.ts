/** A world of people: a store of their own, a clock that the test sets, cheap passwords, and the emails that are sent. */
import { scryptSync } from 'node:crypto';
import { join } from 'node:path';
import { openAuditLog } from '../../src/accounts/audit.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { createPeople, type People, type PeopleDeps, type PeopleOptions } from '../../src/accounts/people.ts';
import { openPeopleStore } from '../../src/accounts/people-lmdb.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Email } from '../../src/base/mail.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ScryptRequest } from '../../src/base/scrypt.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import type { LiveState } from '../setup/live-state.ts';
import { tempFolder } from './temp-folder.ts';

export const START = Date.UTC(2026, 10, 21);
export const PASSWORD = 'correct horse battery';
export const FROM = '192.0.2.1';

/** People in a folder of their own, with a clock that the test sets and passwords that are cheap to hash. */
export async function openPeopleWorld(state: LiveState, options: Partial<PeopleOptions> = {}) {
  const folder = tempFolder();
  const time = { ms: START };
  const clock = { now: () => time.ms, monotonic: () => time.ms };
  const deps = { clock, random: systemRandom, log: silentLogger, openStore: state.openStore };
  const letters: Email[] = [];
  const derived: ScryptRequest[] = [];
  const keys = openKeyStore({ path: join(folder.path, 'keys.mdb') }, deps);
  const audit = openAuditLog({ path: join(folder.path, 'audit.mdb') }, deps);
  const encryption = createEncryption(systemRandom.bytes(32), systemRandom);
  const store = openPeopleStore({ path: join(folder.path, 'people.mdb') }, deps);
  /** Names of the calls of stores, in order. */
  const calls: string[] = [];
  const recorded = <T extends object>(target: T, name?: string): T =>
    new Proxy(target, {
      get(of, property) {
        const value = Reflect.get(of, property);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          calls.push(name ?? String(property));
          return value.apply(of, args);
        };
      },
    });
  await state.ready();
  const open = (others: Partial<PeopleDeps> = {}): People =>
    createPeople(
      { registration: 'open', ...options },
      {
        ...deps,
        keys,
        store: recorded(store),
        audit: () => recorded(audit, 'audit'),
        encryption: () => encryption,
        publicUrl: () => 'https://assay.example.org',
        mailer: { send: async (letter) => void letters.push(letter) },
        derive: async (request) => {
          derived.push(request);
          return scryptSync(request.password, request.salt, request.bytes, { N: 2 });
        },
        ...others,
      },
    );
  const tokenIn = (letter: Email | undefined): string => /^[\w-]{43}$/m.exec(letter?.text ?? '')?.[0] ?? '';
  const people = open();
  return {
    people,
    /** Another process over the same stores, which counts attempts by itself, with `others` in place of its own parts. */
    open,
    store,
    calls,
    /** Requests a reset, and returns the token of the email. */
    async resetToken(email = 'ann@example.org'): Promise<string> {
      await people.forgot(email, FROM);
      await people.settled();
      return tokenIn(letters.at(-1));
    },
    time,
    letters,
    derived,
    keys,
    audit,
    tokenIn,
    async close() {
      await people.settled();
      await Promise.all([keys.close(), audit.close(), store.close()]);
      await state.close();
      folder.remove();
    },
  };
}
