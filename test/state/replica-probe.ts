/**
 * A process that opens replicas, one after the other, follows Redis with each and answers from all of it. Arguments: URL of Redis, paths.
 * Prints one line for each: `0` and the JSON of the records, or `1` and that of the code and the message of the error.
 */
import { argv } from 'node:process';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { LiveDatabase } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl } from '../../src/state/redis.ts';
import { openReplicatedStore } from '../../src/state/replicated-store.ts';

const url = argv[2] as string;

async function read(path: string): Promise<unknown> {
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

for (const path of argv.slice(3))
  try {
    process.stdout.write(`0 ${JSON.stringify({ read: await read(path) })}\n`);
  } catch (error) {
    if (!(error instanceof AssayError)) throw error;
    process.stdout.write(`1 ${JSON.stringify({ code: error.code, message: error.message })}\n`);
  }
