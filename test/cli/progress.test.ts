import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Terminal } from '../../src/cli/context.ts';
import { createProgress, progressLine, shortDuration, shortNumber } from '../../src/cli/progress.ts';

function terminalAt(isTTY: boolean): {
  terminal: Terminal;
  written: () => string;
  tick: (ms: number) => void;
} {
  let text = '';
  let now = 0;
  const err = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        text += String(chunk);
        done();
      },
    }),
    { isTTY },
  );
  const clock = { now: () => now, monotonic: () => now };
  const terminal: Terminal = { out: err, err, clock, signal: new AbortController().signal };
  return { terminal, written: () => text, tick: (ms) => (now += ms) };
}

describe('progress', () => {
  it('shows the share, the rate and the remaining time', () => {
    expect(progressLine('import', 250_000, 1_000_000, 'rows', 1_000)).toBe(
      'import: 25 % of 1.00 M rows, 250 k rows/s, 3 s left',
    );
  });

  it('shows the count and the rate without a total', () => {
    expect(progressLine('read', 500, null, 'rows', 1_000)).toBe('read: 500 rows, 500 rows/s');
  });

  it('is silent if stderr is not a terminal', () => {
    const { terminal, written } = terminalAt(false);
    createProgress(terminal).update('import', 1, 2, 'rows');
    expect(written()).toBe('');
  });

  it('redraws at a readable rate, and clears its line at the end', () => {
    const { terminal, written, tick } = terminalAt(true);
    const progress = createProgress(terminal);
    for (let done = 1; done <= 100; done++) {
      tick(10);
      progress.update('import', done, 100, 'rows');
    }
    progress.end();
    expect(written().split('\r').length - 1).toBeLessThanOrEqual(7);
    expect(written().endsWith('\r\u001b[K')).toBe(true);
  });

  it.each([
    [12, '12 s'],
    [185, '3 min 05 s'],
    [3_725, '1 h 02 min'],
  ])('shows %i seconds as %s', (seconds, text) => {
    expect(shortDuration(seconds)).toBe(text);
  });

  it.each([
    [950, '950'],
    [1_234_567, '1.23 M'],
  ])('shows %i as %s', (value, text) => {
    expect(shortNumber(value)).toBe(text);
  });
});
