/** The behaviour that every key store shares. The test of each implementation runs it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CreatedKey, descendantsOf, type KeyStore, PERMISSIONS } from '../../src/accounts/keys.ts';

export type KeyAction =
  | readonly ['create', Parameters<KeyStore['create']>[0]]
  | readonly ['setPermission', ...Parameters<KeyStore['setPermission']>]
  | readonly ['revoke', string];

export interface KeyStoreWorld {
  /** Opens the store over the same data. */
  open(): Promise<KeyStore>;
  /** Calls the store over the same data in another process. */
  elsewhere<T>(action: KeyAction): Promise<T>;
  /** Resolves as soon as writes of another process can be read here. */
  settled(): Promise<void>;
  /** Milliseconds since the epoch of the world's clock. */
  now: number;
  dispose(): Promise<void>;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

export function keyStoreConformance(name: string, makeWorld: () => Promise<KeyStoreWorld>): void {
  describe(`${name} key store`, () => {
    let world: KeyStoreWorld;
    let keys: KeyStore;

    beforeEach(async () => {
      world = await makeWorld();
      keys = await world.open();
    });

    afterEach(async () => {
      await keys.close();
      await world.dispose();
    });

    it('verifies a new key, with all six permissions and the plan FREE', async () => {
      const { record, apiKey } = await keys.create({ name: ' first ' });
      expect(keys.verify(apiKey)).toEqual(record);
      expect(record).toMatchObject({
        name: 'first',
        status: 'ACTIVE',
        permissions: PERMISSIONS,
        plan: 'FREE',
        accountId: 'local',
        createdAt: new Date(world.now).toISOString(),
        lastUsedAt: null,
        revokedAt: null,
      });
      expect(apiKey.startsWith(record.prefix)).toBe(true);
      expect(apiKey.endsWith(record.last4)).toBe(true);
      expect(JSON.stringify(keys.list())).not.toContain(apiKey);
    });

    it('creates a first key once, also concurrently', async () => {
      const results = await Promise.allSettled([
        ...Array.from({ length: 5 }, () => keys.create({ name: 'first', isFirst: true })),
        world.elsewhere(['create', { name: 'first', isFirst: true }]),
      ]);
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      await world.settled();
      expect(keys.list()).toHaveLength(1);
      await expect(keys.create({ name: 'second', isFirst: true })).rejects.toMatchObject({
        field: 'isFirst',
      });
    });

    it('verifies nothing but the full key', async () => {
      const { apiKey } = await keys.create({ name: 'k' });
      expect(keys.verify(apiKey)).not.toBeNull();
      const other = apiKey.slice(0, 20) + (apiKey[20] === 'x' ? 'y' : 'x') + apiKey.slice(21);
      for (const text of [
        '',
        apiKey.slice(1),
        `${apiKey}0`,
        other,
        apiKey.toUpperCase(),
        ` ${apiKey.slice(1)}`,
      ])
        expect(keys.verify(text)).toBeNull();
    });

    it('rejects a revoked key from then on, for good', async () => {
      const { record, apiKey } = await keys.create({ name: 'k' });
      expect(keys.verify(apiKey)).not.toBeNull();
      const revoked = await keys.revoke(record.id);
      expect(revoked).toMatchObject({ status: 'REVOKED', revokedAt: new Date(world.now).toISOString() });
      expect(keys.verify(apiKey)).toBeNull();
      world.now += 5000;
      expect((await keys.revoke(record.id)).revokedAt).toBe(revoked.revokedAt);
      await expect(keys.setPermission(record.id, 'kyt', true)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      });
      await expect(keys.revoke('key_none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('a key records its creator, and is revoked with the keys that descend from it', async () => {
      const plain = await keys.create({ name: 'without a creator' });
      expect(plain.record.createdBy).toBeNull();
      const create = async (name: string, createdBy: string, accountId = 'local') => {
        // Times of creation may go backwards.
        world.now -= 1_000;
        return (await keys.create({ name, createdBy, accountId })).record;
      };
      const root = await create('root', 'session');
      const child = await create('child', root.id);
      const grandchild = await create('grandchild', child.id);
      const sibling = await create('sibling', root.id);
      const other = await create('other', 'session');
      // Of another account, which the creator may not change.
      const foreign = await create('foreign', root.id, 'local2');
      expect(keys.get(grandchild.id)?.createdBy).toBe(child.id);
      const idsBelow = (id: string) =>
        descendantsOf(keys.list('local'), id)
          .map((key) => key.id)
          .sort();
      expect(idsBelow(root.id)).toEqual([child.id, grandchild.id, sibling.id].sort());
      expect(idsBelow(other.id)).toEqual([]);

      await keys.revoke(sibling.id);
      // A key that was revoked before, also in another process, creates nothing.
      for (const create of [
        () => keys.create({ name: 'late', createdBy: sibling.id }),
        () => world.elsewhere(['create', { name: 'late', createdBy: sibling.id }]),
      ])
        await expect(create()).rejects.toThrow('The API key is invalid or was revoked.');
      const [first, ...others] = await keys.revokeWithDescendants(root.id);
      expect(first).toMatchObject({ id: root.id, status: 'REVOKED' });
      expect(others.map((key) => key.id).sort()).toEqual([child.id, grandchild.id].sort());
      expect(keys.get(foreign.id)?.status).toBe('ACTIVE');
      const active = () => keys.list('local').filter((key) => key.status === 'ACTIVE');
      expect(active().map((key) => key.id)).toEqual([other.id, plain.record.id]);
      expect(await keys.revokeWithDescendants(root.id)).toEqual([first]);
      await expect(keys.revokeWithDescendants('key_none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('finds active, newest revoked and created keys as a search of all keys does', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 24; n++) {
        // Times of creation may go backwards.
        world.now += n % 5 === 0 ? -3_000 : 1_000;
        const creator = n % 3 === 0 ? undefined : keys.active('local').at(-(n % 2))?.id;
        const accountId = n % 7 === 6 ? 'local2' : 'local';
        const ofCreator = creator === undefined || accountId === 'local2' ? {} : { createdBy: creator };
        ids.push((await keys.create({ name: `${n}`, accountId, ...ofCreator })).record.id);
        if (n % 4 === 3) await keys.revoke(ids[n - 2] as string);
      }
      await world.elsewhere(['revoke', ids[20] as string]);
      await world.settled();
      await nextTurn();
      for (const accountId of ['local', 'local2', 'nobody']) {
        const all = keys.list(accountId);
        expect(keys.active(accountId)).toEqual(all.filter(({ status }) => status === 'ACTIVE'));
        expect(keys.shown(accountId, 100)).toEqual(all);
        const newest = all.filter(({ status }) => status === 'REVOKED').slice(-2);
        expect(keys.shown(accountId, 2)).toEqual(
          all.filter((key) => key.status === 'ACTIVE' || newest.includes(key)),
        );
        for (const { id } of all) expect(keys.descendants(id)).toEqual(descendantsOf(all, id));
      }
      expect(keys.descendants('key_none')).toEqual([]);
      expect(keys.list('local').filter(({ status }) => status === 'REVOKED').length).toBeGreaterThan(4);
    });

    it('removes and restores a permission', async () => {
      const { record, apiKey } = await keys.create({ name: 'k', permissions: ['oracle', 'intel'] });
      expect(record.permissions).toEqual(['intel', 'oracle']);
      await keys.setPermission(record.id, 'intel', false);
      expect(keys.verify(apiKey)?.permissions).toEqual(['oracle']);
      await keys.setPermission(record.id, 'kyt', true);
      expect(keys.verify(apiKey)?.permissions).toEqual(['kyt', 'oracle']);
    });

    it('sees keys that another process creates, changes or revokes at the next turn', async () => {
      const before = keys.generation();
      const { record, apiKey } = await world.elsewhere<CreatedKey>(['create', { name: 'theirs' }]);
      await world.settled();
      await nextTurn();
      expect(keys.verify(apiKey)?.id).toBe(record.id);
      expect(keys.generation()).not.toBe(before);
      await world.elsewhere(['setPermission', record.id, 'intel', false]);
      await world.settled();
      await nextTurn();
      expect(keys.verify(apiKey)?.permissions).not.toContain('intel');
      const known = keys.generation();
      await world.elsewhere(['revoke', record.id]);
      await world.settled();
      await nextTurn();
      expect(keys.generation()).not.toBe(known);
      expect(keys.verify(apiKey)).toBeNull();
    });

    it('keeps keys and their last use over a restart', async () => {
      const { record, apiKey } = await keys.create({ name: 'k' });
      world.now += 60_000;
      await nextTurn();
      keys.verify(apiKey);
      await keys.close();
      keys = await world.open();
      expect(keys.verify(apiKey)?.id).toBe(record.id);
      expect(keys.get(record.id)?.lastUsedAt).toBe(new Date(world.now).toISOString());
    });

    it('lists oldest first, optionally by account', async () => {
      for (const [index, accountId] of ['a', 'b', 'a'].entries()) {
        world.now += 1000;
        await keys.create({ name: `k${index}`, accountId });
      }
      expect(keys.list().map((key) => key.name)).toEqual(['k0', 'k1', 'k2']);
      expect(keys.list('a').map((key) => key.name)).toEqual(['k0', 'k2']);
      expect(keys.list('none')).toEqual([]);
    });

    it('applies a plan to the account and to all its keys', async () => {
      const first = await keys.create({ name: 'a', accountId: 'acme', plan: 'GROWTH' });
      const second = await keys.create({ name: 'b', accountId: 'acme' });
      expect([first.record.plan, second.record.plan]).toEqual(['GROWTH', 'GROWTH']);
      await expect(keys.create({ name: 'c', accountId: 'acme', plan: 'FREE' })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      });
      await keys.setPlan('acme', 'ENTERPRISE');
      expect(keys.verify(first.apiKey)?.plan).toBe('ENTERPRISE');
      expect(keys.planOf('acme')).toBe('ENTERPRISE');
      expect(keys.planOf('nobody')).toBeNull();
      await expect(keys.setPlan('nobody', 'FREE')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it('rejects an invalid key, and names the field', async () => {
      const bad = [
        [{ name: '' }, 'name'],
        [{ name: 'x'.repeat(101) }, 'name'],
        [{ name: 'a\nb' }, 'name'],
        [{ name: 'k', permissions: ['admin' as 'kyt'] }, 'permissions'],
        [{ name: 'k', accountId: '../x' }, 'accountId'],
        [{ name: 'k', plan: 'GOLD' as 'FREE' }, 'plan'],
        [{ name: 'k', rateLimits: { intel: 0 } }, 'rateLimits.intel'],
        [{ name: 'k', rateLimits: { bogus: 5 } as object }, 'rateLimits.bogus'],
      ] as const;
      for (const [key, field] of bad)
        await expect(keys.create(key)).rejects.toMatchObject({ code: 'INVALID_REQUEST', field });
      expect(keys.list()).toEqual([]);
    });
  });
}
