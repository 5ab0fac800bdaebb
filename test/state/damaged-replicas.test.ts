/** Whatever happens to the file of a replica, the node refuses it with one sentence or answers what Redis holds, and never ends by a signal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import type { LiveDatabase, LiveStore } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl } from '../../src/state/redis.ts';
import { openReplicatedStore } from '../../src/state/replicated-store.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';

const PROBE = join(projectRoot, 'dist', 'test', 'state', 'replica-probe.js');
const REPLICA = join('replicas', 'test-1.mdb');
const PAGE = 4096;
const ROUNDS = 8;

describe.skipIf(!hasRedis)('a replica that was damaged', () => {
  const folder = tempFolder();
  const live = join(folder.path, 'live');
  const sound = join(folder.path, 'sound');
  const older = join(folder.path, 'older');
  let redis: RedisServer;
  let expected: string;

  beforeAll(async () => {
    redis = await startRedis();
    const connection = openRedis(parseRedisUrl(redis.url), { log: silentLogger });
    const open = (): { store: LiveStore; texts: LiveDatabase<string, string> } => {
      const store = openReplicatedStore(
        join(live, REPLICA),
        1,
        { name: 'test' },
        { redis: connection, clock: systemClock, random: systemRandom, log: silentLogger },
      );
      return { store, texts: store.root.openDB({ name: 'texts', encoding: 'json' }) };
    };
    /** Writes records in several transactions, and keeps the files that it leaves. */
    async function write(from: number, to: number, copy: string): Promise<void> {
      const { store, texts } = open();
      await store.ready();
      for (let first = from; first < to; first += 50)
        await store.root.transaction(() => {
          for (let n = first; n < first + 50; n++) texts.putSync(`key ${n % 700}`, `text ${n} `.repeat(12));
        });
      await store.root.close();
      cpSync(live, copy, { recursive: true });
    }
    mkdirSync(live);
    await write(0, 500, older);
    await write(500, 1_500, sound);
    await connection.close();
    const [told] = await probeAll([copyOf(sound)]);
    expect(told).toMatchObject({ signal: null, status: 0 });
    expected = told?.out ?? '';
    expect((JSON.parse(expected) as { read: unknown[] }).read).toHaveLength(700);
  });
  afterAll(async () => {
    await redis?.stop();
    folder.remove();
  });

  let copies = 0;
  /** Copies the files of a node, as a backup of its machine does; returns the path of the replica. */
  function copyOf(files: string): string {
    const copy = join(folder.path, `copy-${copies++}`);
    cpSync(files, copy, { recursive: true });
    const replica = join(copy, REPLICA);
    rmSync(`${replica}-lock`, { force: true });
    return replica;
  }

  interface Told {
    readonly signal: string | null;
    readonly status: number | null;
    readonly out: string;
  }

  /** Starts one process over several replicas, one after the other: the start takes longer than what it reads. */
  async function probeAll(replicas: readonly string[]): Promise<readonly Told[]> {
    const child = spawn(process.execPath, [PROBE, redis.url, ...replicas], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    const [, signal] = (await once(child, 'close')) as [number | null, string | null];
    const lines = out.split('\n').slice(0, -1);
    if (signal === null) expect(lines).toHaveLength(replicas.length);
    // A signal ended the process at the first replica that has no line, or after the last one.
    const lastAt = Math.min(lines.length, replicas.length - 1);
    return replicas.map((_, at) => ({
      signal: at >= lastAt ? signal : null,
      status: lines[at] === undefined ? null : Number(lines[at][0]),
      out: lines[at]?.slice(2) ?? '',
    }));
  }

  /** Fails unless each replica was refused with the way out of it, or answers what Redis holds. */
  const expectNoOtherAnswers = async (...replicas: string[]): Promise<('refused' | 'as Redis')[]> =>
    (await probeAll(replicas)).map(({ signal, status, out }, at) => {
      expect(signal).toBeNull();
      if (status === 0) {
        expect(out).toBe(expected);
        return 'as Redis';
      }
      const { code, message } = JSON.parse(out) as { code: string; message: string };
      expect(code).toBe('STORE_CORRUPT');
      expect(message).toContain(`${replicas[at]} is damaged: `);
      expect(message).toContain('remove it: it is copied from Redis again');
      return 'refused';
    });

  it('returns the data of Redis or is rejected, whatever bytes are flipped, zeroed or cut', async () => {
    const random = seededUint32(20_261_122);
    const below = (bound: number): number => random() % bound;
    const replicas = Array.from({ length: ROUNDS }, (_, round) => {
      const replica = copyOf(sound);
      const bytes = readFileSync(replica);
      const harm = round % 4;
      const at = below(bytes.length);
      if (harm === 0) bytes[at] = (bytes[at] as number) ^ (1 << below(8));
      if (harm === 1) for (let byte = 0; byte < 64; byte++) bytes[(at + byte) % bytes.length] = below(256);
      if (harm === 2) bytes.fill(0, at - (at % PAGE), at - (at % PAGE) + PAGE);
      writeFileSync(replica, bytes);
      if (harm === 3) truncateSync(replica, at);
      return replica;
    });
    expect(await expectNoOtherAnswers(...replicas)).toContain('refused');
  });

  it('never ends a process by a signal if its checksums are gone as well', async () => {
    const random = seededUint32(7);
    const replicas = Array.from({ length: 3 }, () => {
      const replica = copyOf(sound);
      const bytes = readFileSync(replica);
      const page = random() % (bytes.length / PAGE);
      for (let flips = 0; flips < 8; flips++) bytes[page * PAGE + (random() % 64)] = random() % 256;
      writeFileSync(replica, bytes);
      rmSync(`${replica}-sums`);
      return replica;
    });
    for (const { signal } of await probeAll(replicas)) expect(signal).toBeNull();
  });

  it('is copied from Redis again once it is removed, as its error says', async () => {
    const replica = copyOf(sound);
    truncateSync(replica, 3 * PAGE);
    expect(await expectNoOtherAnswers(replica)).toEqual(['refused']);
    rmSync(replica);
    expect(await expectNoOtherAnswers(replica)).toEqual(['as Redis']);
  });

  it('reads what it lacks if an older copy was put in its place', async () => {
    expect(await expectNoOtherAnswers(copyOf(older))).toEqual(['as Redis']);
  });
});
