/** Counts attempts over all nodes: account and address are counted in Redis, both in one step. */
import { createHash } from 'node:crypto';
import type { RedisStore } from '../../state/redis.ts';
import { type AttemptLimits, type Attempts, clientUnit, PASSWORD_ATTEMPTS, tooMany } from '../attempts.ts';

/**
 * Counts an attempt. KEYS: account, address. ARGV: maximum of each, window in ms. Replies with the remaining ms of the window that is full,
 * or with 0 if both were counted.
 */
const BEGIN = `
for i = 1, 2 do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[i]) then return math.max(1, redis.call('PTTL', KEYS[i])) end
end
for i = 1, 2 do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
end
return 0`;

/** KEYS: account, address. */
const SUCCEEDED = `
redis.call('DEL', KEYS[1])
if tonumber(redis.call('GET', KEYS[2]) or '0') > 0 then redis.call('DECR', KEYS[2]) end
return 0`;

const SLOT = 'attempts';
const NAME_CHARS = 32;

/** Creates counters of one kind of attempt that all nodes share. */
export function createRedisAttempts(
  { redis }: { readonly redis: RedisStore },
  limits: AttemptLimits = PASSWORD_ATTEMPTS,
): Attempts {
  const begin = redis.script('attempts_begin', BEGIN);
  const succeeded = redis.script('attempts_succeeded', SUCCEEDED);
  /** Hashed, so that the keys in Redis do not reveal email addresses. */
  const keyOf = (subject: string): string =>
    redis.key(SLOT, createHash('sha256').update(subject).digest('hex').slice(0, NAME_CHARS));
  const keysOf = (account: string, address: string): readonly string[] => [
    keyOf(`${limits.kind}account ${account}`),
    keyOf(`${limits.kind}address ${clientUnit(address)}`),
  ];
  return {
    async begin(account, address) {
      const { perAccountMax, perAddressMax, windowMs } = limits;
      const leftMs = await begin(keysOf(account, address), [perAccountMax, perAddressMax, windowMs]);
      if (Number(leftMs) > 0) throw tooMany(Number(leftMs), limits);
    },
    async succeeded(account, address) {
      await succeeded(keysOf(account, address), []);
    },
  };
}
