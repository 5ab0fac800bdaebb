/**
 * A process that opens a replica, follows Redis and answers from all of it. Arguments: path, URL of Redis. Prints one line of JSON: the
 * records, or the code and the message of the error.
 */
import { argv } from 'node:process';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { LiveDatabase } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl } from '../../src/state/redis.ts';
import { openReplicatedStore } from '../../src/state/replicated-store.ts';

const [path, url] = [argv[2] as string, argv[3] as string];

async function run(): Promise<unknown> {
  const redis = openRedis(parseRedisUrl(url), { log: silentLogger });
  try {
    const store = openReplicatedStore(
      path,
      1,
      { name: 'test' },
      { redis, clock: systemClock, random: systemRandom, log: silentLogger },
    );
    const texts: LiveDatabase<string, string> = store.root.openDB({ name: 'texts', encoding: 'json' });
    await store.ready();
    const found = [...texts.getRange()].map(({ key, value }) => [key, value]);
    await store.root.close();
    return found;
  } finally {
    await redis.close();
  }
}

try {
  process.stdout.write(`${JSON.stringify({ read: await run() })}\n`);
} catch (error) {
  if (!(error instanceof AssayError)) throw error;
  process.stdout.write(`${JSON.stringify({ code: error.code, message: error.message })}\n`);
  process.exitCode = 1;
}
