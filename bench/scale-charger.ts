/** A node of the benchmark of scale that only charges accounts in Redis. Sends its figures when it has made its charges. */
import { fileURLToPath } from 'node:url';
import type { Accounting } from '../src/accounts/accounting.ts';
import { createRedisAccounting } from '../src/accounts/redis/accounting.ts';
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { seededUint32, systemRandom } from '../src/base/random.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../src/state/redis.ts';

/** One round of charges. */
export interface ChargeOrder {
  readonly redisUrl: string;
  readonly accounts: number;
  readonly charges: number;
  readonly inFlight: number;
  readonly seed: number;
}

export interface ChargeFigures {
  /** Milliseconds from the reservation to the acknowledgement of a charge. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** CPU microseconds of this process. */
  readonly cpuMicros: number;
}

/** Length and form of a stored reference. */
export const REFERENCE = 'screening 0x28c6c06298d514db089934071355e5743bf21d60 ETH';
const ANSWER = Buffer.from('{"success":true}');

/** As many digits as redis-benchmark writes. */
export const accountOf = (number: number): string => `account-${String(number).padStart(12, '0')}`;

const log = createLogger({ level: 'error' });

export const openAt = (url: string): RedisStore => openRedis(parseRedisUrl(url), { log });

/** Accounts without limits or free credits. */
export const accountingOn = (redis: RedisStore): Accounting =>
  createRedisAccounting({
    ...{ redis, log, clock: systemClock, random: systemRandom },
    accountOf: () => null,
    rateOf: () => Number.POSITIVE_INFINITY,
    quotaOf: () => null,
    freeCredits: () => 0,
    generation: () => 0,
  });

/** Reserves and charges one credit of random accounts, `inFlight` at a time. */
async function charge({ redisUrl, accounts, charges, inFlight, seed }: ChargeOrder): Promise<ChargeFigures> {
  const redis = openAt(redisUrl);
  const accounting = accountingOn(redis);
  const ledger = accounting.ledger();
  const next = seededUint32(seed);
  const latencies: number[] = [];
  let left = charges;
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const start = systemClock.monotonic();
      const reservation = await ledger.reserve(accountOf(next() % accounts), 1);
      await ledger.commit(reservation, {
        ...{ type: 'SCREENING', amount: 1, reference: REFERENCE },
        answer: () => ANSWER,
      });
      latencies.push(systemClock.monotonic() - start);
    }
  };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: inFlight }, client));
  const { user, system } = process.cpuUsage(before);
  await accounting.close();
  await redis.close();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] as number;
  return { p50Ms: at(0.5), p99Ms: at(0.99), cpuMicros: user + system };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.on('message', (order: ChargeOrder) => {
    void charge(order).then((figures) => process.send?.(figures));
  });
  process.on('disconnect', () => process.exit(0));
}
