/**
 * The identity of an installation in the Redis that its nodes share, and in each of its replicated stores. If a Redis is emptied and set up
 * again, it has another id, so no replica takes the new history for the continuation of its own.
 */
import { AssayError } from '../base/errors.ts';
import { luaScript } from '../base/paths.ts';
import type { RedisStore } from './redis.ts';

export interface Installation {
  /** Random; never reused. */
  readonly id: string;
  /** ISO time. */
  readonly foundedAt: string;
  /**
   * Prefix of the names of leases, queues and channels, and part of the input from which `installation.key` is derived: the id, or empty
   * for an installation that is older than its id, because its nodes of the previous version use the plain names.
   */
  readonly scope: string;
}

const ID_BYTES = 12;
const identityKey = (redis: RedisStore): string => redis.key('installation', 'identity');

/**
 * Creates the identity of a new installation.
 *
 * @param foundedAt - ISO time.
 * @param isNew - false if the installation is older than its id: it then keeps the plain names of leases, queues and channels.
 */
export function newInstallation(
  bytes: (count: number) => Uint8Array,
  foundedAt: string,
  isNew = true,
): Installation {
  const id = Buffer.from(bytes(ID_BYTES)).toString('hex');
  return { id, foundedAt, scope: isNew ? id : '' };
}

/**
 * Prefixes a name with the scope of an installation.
 *
 * @returns the name itself if the scope is empty
 */
export const scoped = (scope: string, name: string): string => (scope === '' ? name : `${scope}:${name}`);

/**
 * Reads the identity of the installation from Redis.
 *
 * @returns null if Redis has none
 * @throws NOT_READY
 */
export async function readInstallation(redis: RedisStore): Promise<Installation | null> {
  const text = await redis.guard(redis.connection.hget(identityKey(redis), 'record'));
  return text === null ? null : (JSON.parse(text) as Installation);
}

/**
 * Stores the identity of the installation in Redis.
 *
 * @returns the stored identity, which is that of another installation if one was stored first
 * @throws NOT_READY
 */
export async function nameInstallation(redis: RedisStore, installation: Installation): Promise<Installation> {
  const name = redis.script('installation_name', luaScript('state', 'lua', 'installation-name'), {
    safe: true,
  });
  return JSON.parse(String(await name([identityKey(redis)], [JSON.stringify(installation)]))) as Installation;
}

/**
 * Reads the installation id of a store.
 *
 * @returns null if the store has none
 * @throws NOT_READY
 */
export const installationOf = (redis: RedisStore, store: string): Promise<string | null> =>
  redis.guard(redis.connection.hget(redis.key(store, 'head'), 'installation'));

/**
 * Marks stores as those of the installation, each once: if a store was marked before and has lost its mark, the store itself was lost, and
 * it is not marked again. May be repeated.
 *
 * @throws NOT_READY, also if a store belongs to another installation
 */
export async function markStores(
  redis: RedisStore,
  { id }: Installation,
  stores: readonly string[],
): Promise<void> {
  const mark = redis.script('installation_mark', luaScript('state', 'lua', 'installation-mark'), {
    safe: true,
  });
  const marked = redis.script('installation_marked', luaScript('state', 'lua', 'installation-marked'), {
    safe: true,
  });
  const known = await redis.guard(redis.connection.hgetall(identityKey(redis)));
  for (const store of stores) {
    const field = `store:${store}`;
    if (known[field] !== undefined) continue;
    const found = String(await mark([redis.key(store, 'head')], [id]));
    if (found !== id)
      throw new AssayError(
        'NOT_READY',
        `The store '${store}' in Redis belongs to the installation ${found}, but Redis belongs to ${id}. Restore Redis from one backup.`,
      );
    await marked([identityKey(redis)], [field]);
  }
}
