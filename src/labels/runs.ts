/**
 * The log of runs: `labels/runs.json` has the last imports, syncs and builds of this machine, with their results. It is for people
 * who operate the installation, and nothing else reads it: a run that cannot be recorded is done all the same.
 */
import { join } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import { isStorageFull } from '../state/storage.ts';
import { isHolderAlive, type LockHolder, thisProcess, withLock } from '../state/writer-lock.ts';
import { LABEL_LIMITS } from './limits.ts';

export const RUN_KINDS = ['SYNC', 'IMPORT', 'BUILD'] as const;
export type RunKind = (typeof RUN_KINDS)[number];

/** FAILED: the run, or one of its sources, has an error. INTERRUPTED: its process ended before the run did. */
export const RUN_STATES = ['RUNNING', 'DONE', 'FAILED', 'INTERRUPTED'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** The result of a run for one source. */
export interface RunSource {
  readonly source: string;
  /** Records that were read; null if the source has none. */
  readonly records: number | null;
  readonly rejected: number | null;
  /** Why the source was not refreshed or imported; null if it was. */
  readonly error: string | null;
}

/** The result of a run that ended. */
export interface RunResult {
  readonly sources: readonly RunSource[];
  /** Version of the snapshot that the run published; null if it published none. */
  readonly dataVersion: string | null;
  readonly error: string | null;
}

export interface Run extends RunResult {
  readonly kind: RunKind;
  readonly state: RunState;
  /** ISO times; `endedAt` is null for a run without an end. */
  readonly startedAt: string;
  readonly endedAt: string | null;
}

interface StoredRun extends Omit<Run, 'state'> {
  readonly process: LockHolder;
  /** Number of the run within its process. */
  readonly number: number;
}

interface RunsFile {
  readonly format: number;
  /** Oldest first. */
  readonly runs: readonly StoredRun[];
}

export interface RunLog {
  /** Returns the runs, newest first; none if the log cannot be read. */
  list(): readonly Run[];
  /**
   * Does the work, and records when it began, when it ended, and its result or error.
   *
   * @param resultOf - what is recorded of the value of the work
   * @throws the error of the work
   */
  record<T>(kind: RunKind, work: () => Promise<T>, resultOf: (value: T) => RunResult): Promise<T>;
}

const FORMAT = 1;
/** Another process holds the lock while it replaces one file. */
const LOCK_WAIT_MS = 2_000;

/** Opens the log in the folder of labels. Nothing is written before the first run. */
export const openRunLog = (options: { readonly folder: string }, deps: RunLogDeps): RunLog =>
  new FileRunLog(options.folder, deps);

export interface RunLogDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

const NO_RESULT: RunResult = { sources: [], dataVersion: null, error: null };

/** Runs that this process has begun. */
let begun = 0;

const isSame = (a: StoredRun, b: StoredRun): boolean =>
  a.number === b.number && a.process.pid === b.process.pid && a.process.started === b.process.started;

const shortened = (text: string | null): string | null =>
  text === null ? null : text.slice(0, LABEL_LIMITS.runErrorCharsMax);

const bounded = ({ sources, dataVersion, error }: RunResult): RunResult => ({
  dataVersion,
  error: shortened(error),
  sources: sources
    .slice(0, LABEL_LIMITS.runSourcesMax)
    .map((source) => ({ ...source, error: shortened(source.error) })),
});

function stateOf({ endedAt, error, sources, process }: StoredRun): RunState {
  if (endedAt === null) return isHolderAlive(process) ? 'RUNNING' : 'INTERRUPTED';
  return error !== null || sources.some((source) => source.error !== null) ? 'FAILED' : 'DONE';
}

class FileRunLog implements RunLog {
  readonly #path: string;
  readonly #lockPath: string;
  readonly #deps: RunLogDeps;

  constructor(folder: string, deps: RunLogDeps) {
    this.#path = join(folder, 'runs.json');
    this.#lockPath = join(folder, 'runs-lock');
    this.#deps = deps;
  }

  list(): readonly Run[] {
    return this.#stored()
      .map((stored) => {
        const { process: _, number: _number, ...run } = stored;
        return { ...run, state: stateOf(stored) };
      })
      .reverse();
  }

  async record<T>(kind: RunKind, work: () => Promise<T>, resultOf: (value: T) => RunResult): Promise<T> {
    const { clock } = this.#deps;
    const now = (): string => isoTime(clock.now());
    const run: StoredRun = {
      ...{ kind, startedAt: now(), endedAt: null, ...NO_RESULT },
      ...{ process: thisProcess(), number: begun++ },
    };
    await this.#put(run);
    let result: RunResult = NO_RESULT;
    try {
      const value = await work();
      result = resultOf(value);
      return value;
    } catch (error) {
      result = { ...NO_RESULT, error: messageOf(error) };
      throw error;
    } finally {
      await this.#put({ ...run, ...bounded(result), endedAt: now() });
    }
  }

  /** Reads the file. A file that is missing or damaged has no runs. */
  #stored(): readonly StoredRun[] {
    try {
      const file = readJson(this.#path) as Partial<RunsFile> | null;
      return file?.format === FORMAT && Array.isArray(file.runs) ? file.runs : [];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.#deps.log.debug({ path: this.#path, reason: messageOf(error) }, 'log of runs not readable');
      return [];
    }
  }

  /** Adds a run, in place of its earlier record if there is one. Never rejects. */
  async #put(run: StoredRun): Promise<void> {
    try {
      await withLock(this.#lockPath, { waitMs: LOCK_WAIT_MS }, async () => {
        const others = this.#stored().filter((one) => !isSame(one, run));
        const runs = [...others, run].slice(-LABEL_LIMITS.runsKept);
        writeJsonAtomically(this.#path, { format: FORMAT, runs } satisfies RunsFile);
      });
    } catch (error) {
      // On a full disk, the error of the run itself says so.
      const level = isStorageFull(error) ? 'debug' : 'warn';
      this.#deps.log[level]({ path: this.#path, reason: messageOf(error) }, 'run not recorded');
    }
  }
}
