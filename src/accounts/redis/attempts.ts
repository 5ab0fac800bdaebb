/** Counts failed password attempts over all nodes: account and address are counted in Redis, both in one step. */
import { createHash } from 'node:crypto';
import { luaScript } from '../../base/paths.ts';
import type { RedisStore } from '../../state/redis.ts';
import { type Attempts, clientUnit, tooMany } from '../attempts.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';

const SLOT = 'attempts';
const NAME_CHARS = 32;

/** Creates counters of failed attempts that all nodes share. */
export function createRedisAttempts({ redis }: { readonly redis: RedisStore }): Attempts {
  const begin = redis.script('attempts_begin', luaScript('accounts', 'redis', 'lua', 'attempts-begin'));
  const succeeded = redis.script(
    'attempts_succeeded',
    luaScript('accounts', 'redis', 'lua', 'attempts-succeeded'),
  );
  /** Hashed, so that the keys in Redis do not reveal email addresses. */
  const keyOf = (subject: string): string =>
    redis.key(SLOT, createHash('sha256').update(subject).digest('hex').slice(0, NAME_CHARS));
  const keysOf = (account: string, address: string): readonly string[] => [
    keyOf(`account ${account}`),
    keyOf(`address ${clientUnit(address)}`),
  ];
  return {
    async begin(account, address) {
      const { attemptsPerAccountMax, attemptsPerAddressMax, attemptWindowMs } = ACCOUNT_LIMITS;
      const leftMs = await begin(keysOf(account, address), [
        attemptsPerAccountMax,
        attemptsPerAddressMax,
        attemptWindowMs,
      ]);
      if (Number(leftMs) > 0) throw tooMany(Number(leftMs));
    },
    async succeeded(account, address) {
      await succeeded(keysOf(account, address), []);
    },
  };
}
