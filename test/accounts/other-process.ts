/** Runs one call of a key store in a process of its own, as the command line does while a server runs. */
import { execFile } from 'node:child_process';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type LiveStore, type OpenStore, openLiveStore } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl } from '../../src/state/redis.ts';
import { openReplicated } from '../../src/state/replicated-store.ts';
import type { KeyAction } from '../conformance/keys.ts';

const BUILT = `${projectRoot}/dist/test/accounts/other-process.js`;

/** Returns the result of `action`, run by another process on the store at `path`, or on its replica there. */
export async function inOtherProcess<T>(path: string, action: KeyAction, redisUrl = ''): Promise<T> {
  const args = [BUILT, path, JSON.stringify(action), redisUrl];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as T;
}

if (argv[1] === BUILT && fileURLToPath(import.meta.url) === BUILT) {
  const [path, text, redisUrl] = argv.slice(2) as [string, string, string];
  const action = JSON.parse(text) as KeyAction;
  const deps = { clock: systemClock, random: systemRandom, log: silentLogger };
  const redis = redisUrl === '' ? null : openRedis(parseRedisUrl(redisUrl), deps);
  const opened: LiveStore[] = [];
  const openStore: OpenStore = (...store) => {
    const live = (redis === null ? openLiveStore : openReplicated({ ...deps, redis }))(...store);
    opened.push(live);
    return live;
  };
  const keys = openKeyStore({ path }, { ...deps, openStore });
  for (const store of opened) await store.ready();
  const call = {
    create: () => keys.create(action[1] as never),
    setPermission: () => keys.setPermission(...(action.slice(1) as Parameters<typeof keys.setPermission>)),
    revoke: () => keys.revoke(action[1] as string),
  };
  const answer = await call[action[0]]();
  await keys.close();
  await redis?.close();
  process.stdout.write(JSON.stringify(answer));
}
