/** Counts attempts over all nodes: account and address are counted in Redis, both in one step. */
import { createHash } from 'node:crypto';
import { luaScript } from '../../base/paths.ts';
import type { RedisStore } from '../../state/redis.ts';
import { type AttemptLimits, type Attempts, clientUnit, PASSWORD_ATTEMPTS, tooMany } from '../attempts.ts';

const SLOT = 'attempts';
const NAME_CHARS = 32;

/** Creates counters of one kind of attempt that all nodes share. */
export function createRedisAttempts(
  { redis }: { readonly redis: RedisStore },
  limits: AttemptLimits = PASSWORD_ATTEMPTS,
): Attempts {
  const begin = redis.script('attempts_begin', luaScript('accounts', 'redis', 'lua', 'attempts-begin'));
  const succeeded = redis.script(
    'attempts_succeeded',
    luaScript('accounts', 'redis', 'lua', 'attempts-succeeded'),
  );
  /** Hashed, so that the keys in Redis do not reveal email addresses. */
  const keyOf = (subject: string): string =>
    redis.key(SLOT, createHash('sha256').update(subject).digest('hex').slice(0, NAME_CHARS));
  const { kind, windowMs, perAccountMax, perAddressMax, afterSuccess } = limits;
  const keysOf = (account: string, address: string): readonly string[] => [
    keyOf(`${kind}account ${account}`),
    ...(perAddressMax === null ? [] : [keyOf(`${kind}address ${clientUnit(address)}`)]),
  ];
  const maxima = perAddressMax === null ? [perAccountMax] : [perAccountMax, perAddressMax];
  return {
    async begin(account, address) {
      const reply = await begin(keysOf(account, address), [windowMs, ...maxima]);
      const [waitMs, left] = (reply as readonly unknown[]).map(Number);
      if (waitMs === undefined || left === undefined) throw new Error('A step of attempts replied nothing.');
      if (waitMs > 0) throw tooMany(waitMs, limits);
      return left;
    },
    async succeeded(account, address) {
      await succeeded(keysOf(account, address), [afterSuccess === 'forget' ? 1 : 0]);
    },
  };
}
