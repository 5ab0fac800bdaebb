/**
 * Progress of long work on a terminal: the part that is done, the rate, and the remaining time. Silent if stderr is not a terminal.
 */
import type { Terminal } from './context.ts';

export interface ProgressDetails {
  /** Duration of the stage so far. Default: measured here. */
  readonly elapsedMs?: number;
  /** Draws a bar if the total is known. */
  readonly hasBar?: boolean;
}

export interface Progress {
  /**
   * Shows the progress.
   *
   * @param done - number of `unit`s since the start of this stage
   * @param total - null if it is not known
   */
  update(stage: string, done: number, total: number | null, unit: string, more?: ProgressDetails): void;
  /** Removes the line, so that the next output begins in the first column. */
  end(): void;
}

/** Minimum interval between two updates: a person cannot read faster, and terminals are slow. */
const REDRAW_MS = 200;

const silent: Progress = { update: () => {}, end: () => {} };

/** Formats `1234567` as `1.23 M`. */
export function shortNumber(value: number): string {
  for (const [size, suffix] of [
    [1e9, ' G'],
    [1e6, ' M'],
    [1e3, ' k'],
  ] as const) {
    if (value >= size) return `${(value / size).toPrecision(3)}${suffix}`;
  }
  return String(Math.round(value));
}

/** Formats bytes as `1.5 MB`. */
export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** Formats seconds as `1 h 02 min`, `3 min 05 s` or `12 s`. */
export function shortDuration(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number): string => String(value).padStart(2, '0');
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  if (whole >= 60) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${whole} s`;
}

const BAR_CELLS = 24;

/** Returns a progress bar, followed by a space. */
export function progressBar(done: number, total: number): string {
  const full = Math.floor((Math.min(done, total) / total) * BAR_CELLS);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_CELLS - full)}] `;
}

/** Returns the progress line without the bar. */
export function progressLine(
  stage: string,
  done: number,
  total: number | null,
  unit: string,
  elapsedMs: number,
): string {
  const perSecond = elapsedMs > 0 ? (done * 1000) / elapsedMs : 0;
  const rate = perSecond > 0 ? `, ${shortNumber(perSecond)} ${unit}/s` : '';
  if (total === null || total <= 0) return `${stage}: ${shortNumber(done)} ${unit}${rate}`;
  const percent = Math.min(100, Math.floor((done / total) * 100));
  const left = perSecond > 0 && done < total ? `, ${shortDuration((total - done) / perSecond)} left` : '';
  return `${stage}: ${percent} % of ${shortNumber(total)} ${unit}${rate}${left}`;
}

/** Creates a progress line on `terminal.err` if it is a terminal; otherwise nothing is shown. */
export function createProgress(terminal: Terminal): Progress {
  if (!terminal.err.isTTY) return silent;
  let stageNow = '';
  let startedMs = 0;
  let drawnMs = Number.NEGATIVE_INFINITY;
  return {
    update(stage, done, total, unit, { elapsedMs, hasBar = false } = {}) {
      const now = terminal.clock.monotonic();
      if (stage !== stageNow) {
        stageNow = stage;
        startedMs = now;
        drawnMs = Number.NEGATIVE_INFINITY;
      }
      if (now - drawnMs < REDRAW_MS) return;
      drawnMs = now;
      const bar = hasBar && total !== null && total > 0 ? progressBar(done, total) : '';
      const line = progressLine(stage, done, total, unit, elapsedMs ?? now - startedMs);
      terminal.err.write(`\r\u001b[K${bar}${line}`);
    },
    end() {
      if (stageNow !== '') terminal.err.write('\r\u001b[K');
      stageNow = '';
    },
  };
}

/** Shows the progress of `work` while it runs. Returns its result. */
export async function withProgress<Result>(
  terminal: Terminal,
  work: (progress: Progress) => Promise<Result>,
): Promise<Result> {
  const progress = createProgress(terminal);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}
