import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import type { Logger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { lowerPriority } from '../../src/base/priority.ts';

const LOWER = constants.priority.PRIORITY_BELOW_NORMAL;

describe('the priority of a process beside requests', () => {
  const lines: unknown[] = [];
  const log = { debug: (fields: unknown) => lines.push(fields) } as unknown as Logger;
  let child: ChildProcess | null = null;
  afterEach(() => {
    child?.kill('SIGKILL');
    child = null;
    lines.length = 0;
  });
  const started = (): number => {
    child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    return child.pid as number;
  };

  it('is lower than that of requests', () => {
    const pid = started();
    const own = getPriority();
    lowerPriority(pid, log);
    expect([getPriority(pid), getPriority()]).toEqual([Math.max(own, LOWER), own]);
  });

  it('is never raised', () => {
    const pid = started();
    setPriority(pid, constants.priority.PRIORITY_LOW);
    lowerPriority(pid, log);
    expect([getPriority(pid), lines]).toEqual([constants.priority.PRIORITY_LOW, []]);
  });

  it('is left alone if the process has ended, or never started', async () => {
    const pid = started();
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child?.kill('SIGKILL');
    await ended;
    lowerPriority(pid, log);
    expect(lines).toEqual([expect.objectContaining({ pid })]);
    lowerPriority(undefined, log);
    expect(lines).toHaveLength(1);
  });
});

describe.runIf(process.platform === 'linux')('the priority of a thread beside requests', () => {
  const built = pathToFileURL(join(projectRoot, 'dist/src/base/priority.js')).href;
  /** Lowers the priority of a new thread in several steps, and returns what it was after each. */
  const lowered = async (steps: readonly number[]): Promise<unknown> => {
    const thread = new Worker(
      `const { workerData, parentPort } = require('node:worker_threads');
       import(workerData.built).then(({ lowerThreadPriority }) => {
         parentPort.postMessage(workerData.steps.map((by) => {
           lowerThreadPriority(by);
           return require('node:os').getPriority(0);
         }));
       });`,
      { eval: true, workerData: { built, steps } },
    );
    const [priorities] = await once(thread, 'message');
    await thread.terminate();
    return priorities;
  };

  it('is lower by what is asked for, and that of the others stays', async () => {
    const own = getPriority();
    const lowest = constants.priority.PRIORITY_LOW;
    expect(await lowered([2, 3])).toEqual([Math.min(own + 2, lowest), Math.min(own + 5, lowest)]);
    expect(getPriority()).toBe(own);
  });

  it('ends at the lowest there is', async () => {
    expect(await lowered([100])).toEqual([constants.priority.PRIORITY_LOW]);
  });
});
