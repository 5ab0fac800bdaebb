/** A node of the benchmark of scale that only processes chunks. Sends its CPU time on request. */
import { systemClock } from '../src/base/clock.ts';
import { createLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { createLocalChunks } from '../src/pool/local-chunks.ts';
import { openQueues } from '../src/pool/queues.ts';
import { openRedis, parseRedisUrl } from '../src/state/redis.ts';
import { workerFolders } from './scale-job.ts';

export interface WorkerOrder {
  readonly redisUrl: string;
  readonly folder: string;
  readonly threads: number;
}

process.once('message', ({ redisUrl, folder, threads }: WorkerOrder) => {
  const log = createLogger({ level: 'error' });
  const redis = openRedis(parseRedisUrl(redisUrl), { log });
  const queues = openQueues({ redis, clock: systemClock, random: systemRandom, log });
  queues.workChunks(createLocalChunks({ ...workerFolders(folder), threads }, { log }), null);
  process.on('message', () => process.send?.(process.cpuUsage()));
  process.send?.('ready');
});
process.on('disconnect', () => process.exit(0));
