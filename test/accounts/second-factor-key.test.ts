/** A node whose encryption key is not that of the second factors that people have enabled. */
import { afterEach, describe, expect, it } from 'vitest';
import { SecondFactorKey } from '../../src/accounts/second-factor-key.ts';
import { hotp, stepOf } from '../../src/accounts/totp.ts';
import { AssayError } from '../../src/base/errors.ts';
import type { Logger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { overLiveStates } from '../setup/live-state.ts';
import { fromBase32 } from '../support/base32.ts';
import { FROM, openPeopleWorld, PASSWORD } from './people-world.ts';

const ANN = 'ann@example.org';
const NOT_HERE = { code: 'NOT_READY', field: 'code', message: expect.stringContaining('recovery code') };

overLiveStates((makeState) => {
  let world: Awaited<ReturnType<typeof openPeopleWorld>>;
  afterEach(() => world.close());

  /** Opens the account of Ann, who has enabled a second factor. */
  async function enabled() {
    world = await openPeopleWorld(makeState());
    const { people } = world;
    const { id } = await people.create(ANN, PASSWORD, 'FREE');
    const { secret } = await people.secondFactor.enrol(id, PASSWORD, FROM);
    const code = (): string => hotp(fromBase32(secret), stepOf(world.time.ms));
    const recovery = await people.secondFactor.confirm(id, code(), FROM);
    world.time.ms += 60_000;
    return { id, people, code, recovery };
  }

  const newKey = () => createEncryption(systemRandom.bytes(32), systemRandom);

  /** Another process over the same stores, with an own key and log. */
  function nodeWith(encryption = newKey(), isShared = true) {
    const lines: string[] = [];
    const note = (fields: unknown, text?: string): void => void lines.push(text ?? String(fields));
    const log = { debug: note, info: note, warn: note, error: note } as unknown as Logger;
    return { lines, node: world.open({ encryption: () => encryption, isShared, log }) };
  }

  describe('a node with another key', () => {
    it('refuses codes and enrolments with a clear error, and logs it once', async () => {
      const { id, code, recovery } = await enabled();
      const { node, lines } = nodeWith();
      await node.secondFactorKey.check();
      const problem = node.secondFactorKey.problem();
      expect(problem).toEqual({
        reason: expect.stringContaining('installation.key of this node differs'),
        since: new Date(world.time.ms).toISOString(),
      });
      // More than the limit of wrong codes: none of them was wrong.
      for (let tries = 0; tries < 12; tries++)
        await expect(node.login(ANN, PASSWORD, FROM, { code: code() })).rejects.toMatchObject(NOT_HERE);
      await expect(node.login(ANN, PASSWORD, FROM)).rejects.toMatchObject({ code: 'SECOND_FACTOR_REQUIRED' });
      await expect(node.secondFactor.disable(id, PASSWORD, code(), FROM)).rejects.toMatchObject(NOT_HERE);
      const bob = await world.people.create('bob@example.org', PASSWORD, 'FREE');
      await expect(node.secondFactor.enrol(bob.id, PASSWORD, FROM)).rejects.toMatchObject(NOT_HERE);
      expect(world.store.get(bob.id)?.secondFactor).toBeUndefined();
      world.time.ms += 60_000;
      expect(node.secondFactorKey.problem()).toEqual(problem);
      expect(lines).toEqual(['second factors cannot be checked']);
      // Recovery codes are not encrypted, and the first node is not disturbed.
      await node.login(ANN, PASSWORD, FROM, { code: recovery[0] });
      expect(world.people.secondFactorKey.problem()).toBeNull();
      await world.people.login(ANN, PASSWORD, FROM, { code: code() });
    });

    it('notices it as soon as the first second factor is enabled elsewhere', async () => {
      world = await openPeopleWorld(makeState());
      const { id } = await world.people.create(ANN, PASSWORD, 'FREE');
      const { node } = nodeWith();
      await node.secondFactorKey.check();
      expect(node.secondFactorKey.problem()).toBeNull();
      await world.people.secondFactor.enrol(id, PASSWORD, FROM);
      await expect.poll(() => node.secondFactorKey.problem()).not.toBeNull();
    });

    it('notices it by the secrets of an earlier release, which stored nothing to test the key on', async () => {
      world = await openPeopleWorld(makeState());
      const own = newKey();
      const { id } = await world.people.create(ANN, PASSWORD, 'FREE');
      const secret = own.encrypt(Buffer.alloc(20).toString('base64'), `second factor ${id}`);
      const confirmedAt = '2026-11-20T00:00:00.000Z';
      await world.store.change(id, (person) => ({
        ...person,
        secondFactor: { secret, confirmedAt, lastStep: -1, recovery: [] },
      }));
      const stranger = nodeWith();
      await stranger.node.secondFactorKey.check();
      expect(stranger.node.secondFactorKey.problem()).not.toBeNull();
      expect(world.store.keyTrial()).toBeNull();
      const right = nodeWith(own);
      await right.node.secondFactorKey.check();
      expect(right.node.secondFactorKey.problem()).toBeNull();
      expect(world.store.keyTrial()).not.toBeNull();
      expect(right.lines).toEqual([]);
    });
  });

  describe('an installation whose key was lost', () => {
    it('accepts a new one once nobody has a second factor any more', async () => {
      const { id } = await enabled();
      const fresh = newKey();
      const { node, lines } = nodeWith(fresh, false);
      await node.secondFactorKey.check();
      expect(node.secondFactorKey.problem()?.reason).toContain('disable-totp');
      const person = world.store.get(id);
      if (person === null) throw new Error('Ann is missing.');
      await node.secondFactor.discard(person, { who: 'operator', from: 'command line' });
      await node.secondFactor.enrol(id, PASSWORD, FROM);
      expect(node.secondFactorKey.problem()).toBeNull();
      expect(lines).toEqual(['second factors cannot be checked', 'second factors can be checked again']);
      // The text to test on is encrypted with the new key.
      const again = nodeWith(fresh, false);
      await again.node.secondFactorKey.check();
      expect(again.node.secondFactorKey.problem()).toBeNull();
    });

    it('accepts a new one over a shared store too, and secrets that nobody confirmed do not count', async () => {
      world = await openPeopleWorld(makeState());
      const { id } = await world.people.create(ANN, PASSWORD, 'FREE');
      await world.people.secondFactor.enrol(id, PASSWORD, FROM);
      const { node } = nodeWith();
      await node.secondFactorKey.check();
      // A node that starts with the wrong key replaces nothing.
      expect(node.secondFactorKey.problem()).not.toBeNull();
      const bob = await world.people.create('bob@example.org', PASSWORD, 'FREE');
      const { secret } = await node.secondFactor.enrol(bob.id, PASSWORD, FROM);
      expect(node.secondFactorKey.problem()).toBeNull();
      await node.secondFactor.confirm(bob.id, hotp(fromBase32(secret), stepOf(world.time.ms)), FROM);
      await expect(node.secondFactor.confirm(id, '123456', FROM)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        field: 'code',
      });
      // From here on, the other key is the wrong one.
      await expect.poll(() => world.people.secondFactorKey.problem()).not.toBeNull();
      await expect(world.people.secondFactor.enrol(id, PASSWORD, FROM)).rejects.toMatchObject(NOT_HERE);
    });

    it('says so if the file of the key is damaged, and starts', async () => {
      await enabled();
      const broken = (): never => {
        throw new AssayError('STORE_CORRUPT', 'installation.key is not a key of 32 bytes.');
      };
      const node = world.open({ encryption: broken });
      await node.secondFactorKey.check();
      expect(node.secondFactorKey.problem()?.reason).toContain('32 bytes');
    });
  });
});

it('is tested again if the data of other nodes is not current yet, without a warning', async () => {
  const lines: unknown[] = [];
  const note = (...line: unknown[]): void => void lines.push(line);
  const log = { debug: note, info: note, warn: note, error: note } as unknown as Logger;
  let isCurrent = false;
  const store = {
    keyTrial() {
      if (!isCurrent) throw new AssayError('NOT_READY', 'not current');
      return null;
    },
    setKeyTrial: async () => {},
  };
  const clock = { now: () => 0, monotonic: () => 0 };
  const encryption = () => createEncryption(systemRandom.bytes(32), systemRandom);
  const key = new SecondFactorKey({ clock, log, store, encryption, isShared: true });
  await expect(key.check()).rejects.toMatchObject({ code: 'NOT_READY' });
  isCurrent = true;
  await key.check();
  expect(key.problem()).toBeNull();
  expect(lines).toEqual([]);
});
