/**
 * The commands that found, fill and restore a Redis, over a folder of state on a full disk. They do their work, which is in Redis, or are
 * refused with one sentence and can be run again once there is room. Neither outcome leaves half an installation.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CommandOutcome } from '../cli/run-command.ts';
import { type CommandProcess, startCommandProcess } from '../setup/command-process.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';

const refusal = smallDiskRefusal('tmpfs');
const KEYS = 2;

describe.skipIf(refusal !== null || !hasRedis)('a Redis and a state folder on a full disk', () => {
  let redis: RedisServer;
  let disk: SmallDisk;
  let commands: CommandProcess;
  let alone: Record<string, string>;
  let shared: Record<string, string>;

  beforeAll(() => {
    commands = startCommandProcess();
  });
  afterAll(() => commands.end());
  beforeEach(async () => {
    redis = await startRedis();
    disk = smallDisk('tmpfs', 48);
    const store = join(disk.path, 'store');
    mkdirSync(store);
    alone = { ASSAY_DATA_DIR: store };
    shared = { ...alone, ASSAY_REDIS_URL: redis.url };
  });
  afterEach(async () => {
    await redis.stop();
    disk.remove();
  });

  const run = (args: readonly string[], environment: Record<string, string>): Promise<CommandOutcome> =>
    commands.run(args, environment);
  async function done(args: readonly string[], environment: Record<string, string>): Promise<string> {
    const { code, out, err } = await run(args, environment);
    expect([code, err], args.join(' ')).toEqual([0, expect.anything()]);
    return out;
  }
  const createKeys = async (environment: Record<string, string>): Promise<void> => {
    for (let n = 0; n < KEYS; n++) await done(['keys', 'create', '--name', `key ${n}`], environment);
  };
  const countKeys = async (): Promise<number> =>
    (JSON.parse(await done(['keys', 'list', '--json'], shared)) as unknown[]).length;

  /** Runs a command on the full disk, and again with room if it was refused. */
  async function runFull(args: readonly string[]): Promise<void> {
    disk.fill();
    const first = await run(args, shared);
    disk.free();
    if (first.code === 0) return;
    expect(first.code, first.err).toBe(1);
    const sentences = first.err.split('\n').filter((line) => line.startsWith('assay: '));
    expect(sentences, first.err).toEqual([expect.stringMatching(/no space left|is full|cannot be written/i)]);
    await done(args, shared);
  }

  it('are initialized', async () => {
    await runFull(['redis', 'found']);
    await createKeys(shared);
    expect(await countKeys()).toBe(KEYS);
  });

  it('are filled from the stores of a standalone machine', async () => {
    await createKeys(alone);
    await runFull(['redis', 'fill']);
    expect(await countKeys()).toBe(KEYS);
  });

  it('are restored from the replicas of a node', async () => {
    await done(['redis', 'found'], shared);
    await createKeys(shared);
    redis.run('flushall');
    await runFull(['redis', 'restore', '--from-replica']);
    expect(await countKeys()).toBe(KEYS);
  });

  it('are given back the stores that Redis has lost', async () => {
    await done(['redis', 'found'], shared);
    const copyAll = (from: string, to: string): void => {
      for (const key of redis.run('-n', from, 'keys', '*').split('\n'))
        redis.run('-n', from, 'copy', key, key, 'db', to);
    };
    await done(['keys', 'create', '--name', 'before'], shared);
    copyAll('0', '1');
    await createKeys(shared);
    redis.run('flushdb');
    copyAll('1', '0');
    expect(await countKeys()).toBe(1);
    await runFull(['redis', 'newer', '--restore', 'keys']);
    expect(await countKeys()).toBe(1 + KEYS);
  });
});
