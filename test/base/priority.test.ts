import { type ChildProcess, spawn } from 'node:child_process';
import { constants, getPriority, setPriority } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import type { Logger } from '../../src/base/log.ts';
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
