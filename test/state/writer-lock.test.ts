import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from '../../src/state/writer-lock.ts';
import { spawnSync } from '../support/child-process.ts';
import { sleep } from '../support/wait.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-lock-'));
  path = join(folder, 'LOCK');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const NOW = { waitMs: 0 };

describe('the store lock', () => {
  it('has one holder at a time, waits on request, and is removed afterwards', async () => {
    const order: string[] = [];
    const first = withLock(path, NOW, async () => {
      order.push('first');
      await sleep(250);
      order.push('first ends');
    });
    await expect(withLock(path, NOW, async () => undefined)).rejects.toThrow(
      `Process ${process.pid} is writing`,
    );
    await Promise.all([first, withLock(path, { waitMs: 5_000 }, async () => void order.push('second'))]);
    expect(order).toEqual(['first', 'first ends', 'second']);
    expect(existsSync(path)).toBe(false);
  });

  it('is released if the work fails', async () => {
    await expect(withLock(path, NOW, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await withLock(path, NOW, async () => 'in')).toBe('in');
  });

  const takenOverFrom = async (holder: { pid: number; started: string }): Promise<void> => {
    writeFileSync(path, JSON.stringify(holder));
    expect(await withLock(path, NOW, async () => 'in')).toBe('in');
  };

  it('is taken over from a process that has ended', () => takenOverFrom({ pid: deadPid(), started: '1' }));

  it.skipIf(!existsSync('/proc/self/stat'))('is taken over from an earlier process with the same id', () =>
    takenOverFrom({ pid: process.pid, started: '1' }),
  );

  it('is taken over if it names no process', async () => {
    writeFileSync(path, '');
    expect(await withLock(path, NOW, async () => 'in')).toBe('in');
  });
});

/** Returns the id of a process that has run and ended. */
const deadPid = (): number => spawnSync(process.execPath, ['-e', '']).pid;
