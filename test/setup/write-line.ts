/** Lines of a test's child process, on which the parent relies as soon as they are written. */
import { writeSync } from 'node:fs';

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Writes a line to standard output and returns when the system has it. If the pipe is full because its reader lags, it retries. */
export function writeLine(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }
}
