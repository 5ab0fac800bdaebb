/** The folder of jobs, which each node may have under a path of its own. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger as log } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ChunkRunner, ChunkTask } from '../../src/jobs/chunks.ts';
import {
  checkOfFolder,
  fromOthers,
  nameOfFolder,
  requireJobsFolder,
  towardsOthers,
} from '../../src/jobs/jobs-folder.ts';

describe('the folder of jobs', () => {
  let root: string;
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'assay-jobs-folder-'));
    mkdirSync(join(root, 'mine', 'job1'), { recursive: true });
    writeFileSync(join(root, 'mine', 'job1', 'input'), 'x');
    writeFileSync(join(root, 'file'), 'x');
  });
  afterAll(() => rmSync(root, { recursive: true }));

  const task = (folder: string, input = 'job1/input'): ChunkTask => ({
    jobId: 'job1',
    chunk: 0,
    kind: 'labels',
    chain: 'ETH',
    format: 'csv',
    columns: null,
    input: { path: `${folder}/${input}`, start: 0, end: 1 },
    firstLine: 1,
    output: `${folder}/job1/answers/0.a`,
  });
  const seen: ChunkTask[] = [];
  const last: ChunkRunner = {
    slots: 3,
    run: async (of) => {
      seen.push(of);
      return { items: 1, failed: 0, bytes: 1 };
    },
    close: async () => {},
  };
  const never = new AbortController().signal;
  /** Between a node that has it at `/jobs` and one that has it at `folder`. */
  const over = (folder: string): ChunkRunner => towardsOthers(fromOthers(last, folder, { log }), '/jobs');

  it('is found by a node that mounts it at another path', async () => {
    const runner = over(join(root, 'mine'));
    expect(runner.slots).toBe(3);
    await runner.run(task('/jobs'), never);
    expect(seen).toEqual([task(join(root, 'mine'))]);
  });

  it('is reported as not ready by a node that does not have the job', async () => {
    await expect(over(join(root, 'another')).run(task('/jobs'), never)).rejects.toMatchObject({
      code: 'NOT_READY',
      message: expect.stringContaining('ASSAY_JOBS_DIR'),
    });
  });

  it('leaves a chunk to another node if the worker has lost the folder, but not other failures', async () => {
    let reason: string | null = 'gone';
    const failing: ChunkRunner = { ...last, run: async () => Promise.reject(new Error('EIO: i/o error')) };
    const runner = towardsOthers(
      fromOthers(failing, join(root, 'mine'), { log, check: async () => reason }),
      '/jobs',
    );
    await expect(runner.run(task('/jobs'), never)).rejects.toMatchObject({
      code: 'NOT_READY',
      message: 'gone',
    });
    reason = null;
    await expect(runner.run(task('/jobs'), never)).rejects.toThrow('EIO');
  });

  it('is not reported as missing if a job has ended, whose input is removed', async () => {
    const errors: unknown[] = [];
    const noting = { ...log, error: (...line: unknown[]) => void errors.push(line) };
    mkdirSync(join(root, 'mine', 'job2'));
    const runner = towardsOthers(fromOthers(last, join(root, 'mine'), { log: noting }), '/jobs');
    await expect(runner.run(task('/jobs', 'job2/input'), never)).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(errors).toEqual([]);
  });

  it('is recognised by its name when it comes back', async () => {
    const folder = join(root, 'mounted');
    const name = await nameOfFolder(folder, systemRandom);
    const check = checkOfFolder(folder, name);
    expect(await check()).toBeNull();
    renameSync(folder, `${folder}-aside`);
    expect(await check()).toMatch(/not available on this node: ENOENT/);
    await nameOfFolder(folder, systemRandom);
    expect(await check()).toBe(
      `The folder of bulk jobs is not available on this node: its file .folder does not contain ${name}.`,
    );
    rmSync(folder, { recursive: true });
    renameSync(`${folder}-aside`, folder);
    expect(await check()).toBeNull();
  });

  it.each(['..', '../file', '../../etc/passwd', '../jobs/../file'])(
    'does not allow the path %s',
    async (path) => {
      await expect(over(join(root, 'mine')).run(task('/jobs', path), never)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
      });
      expect(seen).toHaveLength(1);
    },
  );

  it('has one name, also if it is created concurrently', async () => {
    const names = await Promise.all([1, 2, 3, 4].map(() => nameOfFolder(join(root, 'named'), systemRandom)));
    expect(names[0]).toMatch(/^[0-9a-f]{24}$/);
    expect(new Set(names).size).toBe(1);
    expect(await nameOfFolder(join(root, 'named'), systemRandom)).toBe(names[0]);
    expect(await nameOfFolder(join(root, 'other'), systemRandom)).not.toBe(names[0]);
    expect(readdirSync(join(root, 'named'))).toEqual(['.folder']);
  });

  it('is checked before startup: created if missing, and rejected with its setting if it cannot be created', async () => {
    await requireJobsFolder(join(root, 'new', 'jobs'), 'ASSAY_JOBS_DIR');
    expect(readdirSync(join(root, 'new', 'jobs'))).toEqual([]);
    await expect(requireJobsFolder(join(root, 'file'), 'ASSAY_JOBS_DIR')).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('ASSAY_JOBS_DIR'),
    });
  });
});
