/** CPU time of the threads of a process, from /proc: a figure that other processes of the machine hardly change. */
import { readdirSync, readFileSync } from 'node:fs';
import { type BenchRow, row } from './harness.ts';

export interface ThreadSeconds {
  /** Seconds of CPU of the main thread, and of the busiest of the others: with one worker thread, that one. */
  readonly main: number;
  readonly busiest: number;
  /** Of all other threads together: garbage collection, compilation, files. */
  readonly others: number;
}

/** Clock ticks in a second, which Linux fixes for /proc. */
const TICKS = 100;
/** Positions behind the name of the thread. */
const USER_TIME = 11;
const SYSTEM_TIME = 12;

/** Returns the CPU time of the threads of a process so far. */
export function cpuSeconds(pid: number): ThreadSeconds {
  let main = 0;
  const rest: number[] = [];
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const seconds = (Number(fields[USER_TIME]) + Number(fields[SYSTEM_TIME])) / TICKS;
    if (thread === String(pid)) main = seconds;
    else rest.push(seconds);
  }
  const busiest = Math.max(0, ...rest);
  return { main, busiest, others: rest.reduce((sum, each) => sum + each, 0) - busiest };
}

/** Returns the row of a CPU time, in seconds for a thousand operations. */
export const cpuRow = (name: string, secondsEach: number, controlEach: number | null = null): BenchRow =>
  row(name, 1_000 * secondsEach, 's/1,000', null, controlEach === null ? null : 1_000 * controlEach);
