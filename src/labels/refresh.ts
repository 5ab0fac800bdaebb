/**
 * Keeps the lists fresh: download, import what changed, rebuild the index where labels changed. `refreshLists` does it once,
 * in the process that calls it; `startRefreshing` has a child process do it, so that reading 120 MB of XML and building an
 * index never cost the serving process a millisecond or a megabyte, and everything it used is given back when it ends.
 */
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { asStorageFull } from '../base/storage.ts';
import { chSource } from '../sources/ch/download.ts';
import {
  type DownloadBounds,
  type DownloadProgress,
  downloadSource,
  type FileDownload,
} from '../sources/download.ts';
import { euSource } from '../sources/eu/download.ts';
import { graphsenseSource } from '../sources/graphsense/download.ts';
import { ofacSource } from '../sources/ofac/download.ts';
import { poolsSource } from '../sources/pools/download.ts';
import type { PublisherSource } from '../sources/publisher.ts';
import { scamsSource } from '../sources/scams/download.ts';
import { ukSource } from '../sources/uk/download.ts';
import { unSource } from '../sources/un/download.ts';
import { buildLabelIndex } from './build-index.ts';
import { importFiles } from './import.ts';
import type { DatasetReport, ImportDeps, ImportProgress } from './import-report.ts';
import { type ImportSourceId, readerOf } from './import-sources.ts';
import type { BuildProgress } from './index/build-types.ts';
import { REFRESH_LOCK } from './store.ts';
import { withLock } from './store-lock.ts';

/** Sources that are downloaded, the sanctions lists first. */
const PUBLISHERS = {
  ofac: ofacSource,
  un: unSource,
  eu: euSource,
  uk: ukSource,
  ch: chSource,
  graphsense: graphsenseSource,
  pools: poolsSource,
  scams: scamsSource,
} as const satisfies Partial<Record<ImportSourceId, PublisherSource>>;

export type RefreshSourceId = keyof typeof PUBLISHERS;

export const REFRESH_SOURCES = Object.keys(PUBLISHERS) as readonly RefreshSourceId[];

/** Reads the id of a source that can be downloaded. Throws INVALID_REQUEST naming those that exist. */
export function parseRefreshSource(text: string): RefreshSourceId {
  const found = REFRESH_SOURCES.find((id) => id === text.toLowerCase());
  if (found) return found;
  throw new AssayError(
    'INVALID_REQUEST',
    `source: '${text.slice(0, 32)}' cannot be downloaded. Sources: ${REFRESH_SOURCES.join(', ')}.`,
    { field: 'source' },
  );
}

export type RefreshProgress =
  | { readonly step: 'download'; readonly source: RefreshSourceId; readonly progress: DownloadProgress }
  | { readonly step: 'import'; readonly source: RefreshSourceId; readonly progress: ImportProgress }
  | { readonly step: 'build'; readonly progress: BuildProgress };

export interface RefreshOptions {
  /** Default: all. */
  readonly sources?: readonly RefreshSourceId[];
  /** A mirror: file names are appended to this URL. */
  readonly from?: string | undefined;
  /** Accept files and lists that look implausible. */
  readonly force?: boolean;
  readonly snapshotsFolder: string;
  readonly onProgress?: (progress: RefreshProgress) => void;
  readonly signal?: AbortSignal;
  readonly bounds?: Partial<DownloadBounds>;
}

export interface SourceRefresh {
  readonly source: RefreshSourceId;
  /** Every file was confirmed or replaced by its publisher, and imported. */
  readonly ok: boolean;
  readonly downloads: readonly FileDownload[];
  readonly imports: readonly DatasetReport[];
  /** One sentence for each thing that failed. */
  readonly errors: readonly string[];
}

export interface RefreshReport {
  readonly sources: readonly SourceRefresh[];
  /** A new snapshot was published. */
  readonly rebuilt: boolean;
  readonly dataVersion: string | null;
  /** Why no snapshot could be built; null where none was needed or it was. */
  readonly buildError: string | null;
}

/**
 * Refreshes the sources one after the other. A source that fails never stops the others and leaves its last good state in
 * force. Throws STORE_BUSY where another refresh runs.
 */
export async function refreshLists(options: RefreshOptions, deps: ImportDeps): Promise<RefreshReport> {
  const lock = join(deps.store.folder, REFRESH_LOCK);
  return withLock(lock, { waitMs: 0 }, async () => {
    const sources: SourceRefresh[] = [];
    for (const source of options.sources ?? REFRESH_SOURCES) {
      options.signal?.throwIfAborted();
      sources.push(await refreshSource(source, options, deps));
    }
    return { sources, ...(await rebuild(options, deps)) };
  });
}

async function rebuild(options: RefreshOptions, deps: ImportDeps): Promise<Omit<RefreshReport, 'sources'>> {
  const { onProgress, snapshotsFolder, signal } = options;
  // Before anything was ever imported there is nothing to build, and that is no fault of the refresh.
  const { datasets, lists } = deps.store.catalogue();
  if (datasets.length + lists.length === 0) return { rebuilt: false, dataVersion: null, buildError: null };
  try {
    const { built, meta } = await buildLabelIndex(
      {
        snapshotsFolder,
        ...(onProgress ? { onProgress: (progress) => onProgress({ step: 'build', progress }) } : {}),
        ...(signal ? { signal } : {}),
      },
      deps,
    );
    return { rebuilt: built, dataVersion: meta?.dataVersion ?? null, buildError: null };
  } catch (error) {
    signal?.throwIfAborted();
    const reason = asStorageFull(error, snapshotsFolder);
    return { rebuilt: false, dataVersion: null, buildError: messageOf(reason) };
  }
}

async function refreshSource(
  source: RefreshSourceId,
  options: RefreshOptions,
  deps: ImportDeps,
): Promise<SourceRefresh> {
  const { from, force = false, signal, onProgress, bounds } = options;
  const imports: DatasetReport[] = [];
  const errors: string[] = [];
  const downloads = await downloadSource(
    PUBLISHERS[source],
    {
      folder: join(deps.store.folder, 'downloads', source),
      force,
      ...(from === undefined ? {} : { from }),
      ...(signal ? { signal } : {}),
      ...(bounds ? { bounds } : {}),
      ...(onProgress ? { onProgress: (progress) => onProgress({ step: 'download', source, progress }) } : {}),
    },
    { clock: deps.clock, log: deps.log, parse: (path) => requireRecords(source, path) },
  );
  for (const file of downloads) {
    signal?.throwIfAborted();
    if (file.status === 'failed' && !file.optional) errors.push(`${file.name}: ${file.reason}`);
    // A last good copy that an earlier run could not import, because it was stopped, is imported now.
    if (file.path === null) continue;
    try {
      const report = await importFiles(
        {
          source,
          files: [file.path],
          force,
          lastModified: file.lastModified,
          ...(file.checkedAt === null ? {} : { checkedAt: file.checkedAt }),
          ...(signal ? { signal } : {}),
          ...(onProgress
            ? { onProgress: (progress) => onProgress({ step: 'import', source, progress }) }
            : {}),
        },
        deps,
      );
      imports.push(...report.datasets);
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(`${file.name}: ${messageOf(asStorageFull(error, deps.store.folder))}`);
    }
  }
  return { source, ok: errors.length === 0, downloads, imports, errors };
}

/** Reads a fetched file to its end, as the import will. Throws INVALID_FILE where it holds nothing. */
async function requireRecords(source: RefreshSourceId, path: string): Promise<void> {
  let records = 0;
  for await (const record of readerOf(source, undefined)([path])) {
    if (record.type === 'party' || record.type === 'address') records++;
  }
  if (records === 0) throw new AssayError('INVALID_FILE', 'it holds no record.', { field: 'file' });
}

export interface RefreshingOptions {
  /** Program and arguments that refresh once and print a RefreshReport as JSON on stdout: `assay sync --json`. */
  readonly command: readonly [string, ...string[]];
  readonly intervalMs: number;
  /** Share of the interval, 0 to 1, by which each wait is drawn shorter or longer, so that installations do not ask in step. */
  readonly jitter?: number;
  /** A new snapshot has been published. */
  readonly onPublished?: (dataVersion: string | null) => void;
}

export interface RefreshingDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface Refreshing {
  /** Stops the timer and the child, and waits for its end. What it had not committed is left as it was. */
  stop(): Promise<void>;
}

/** A report has one entry a file; beyond this something else is talking. */
const STDOUT_CHARS_MAX = 4 << 20;
/** How long a child may take to end by itself once it is asked to. */
const STOP_MS = 5_000;
/** A refresh that has not ended by then hangs: downloads are bounded to minutes, imports and builds take seconds. */
const RUN_MS_MAX = 2 * 3_600_000;

/**
 * Refreshes right away, and then at every interval, in a child process of low priority. Each run costs one log line, also
 * where there is no network.
 */
export function startRefreshing(options: RefreshingOptions, deps: RefreshingDeps): Refreshing {
  const { intervalMs, jitter = 0.1, onPublished } = options;
  const { random, log } = deps;
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  function wait(): number {
    const drawn = Buffer.from(random.bytes(4)).readUInt32LE() / 2 ** 32;
    return Math.round(intervalMs * (1 + jitter * (2 * drawn - 1)));
  }

  async function run(): Promise<void> {
    const startedAt = deps.clock.monotonic();
    const seconds = (): number => Math.round((deps.clock.monotonic() - startedAt) / 1000);
    try {
      const report = await runCommand(options.command, stopping.signal, log);
      if (report.rebuilt) onPublished?.(report.dataVersion);
      const failed = report.sources.filter((one) => !one.ok);
      const line = {
        ok: report.sources.filter((one) => one.ok).map((one) => one.source),
        failed: failed.map((one) => `${one.source}: ${one.errors[0] ?? ''}`),
        rebuilt: report.rebuilt,
        ...(report.buildError === null ? {} : { buildError: report.buildError }),
        seconds: seconds(),
      };
      if (failed.length > 0 || report.buildError !== null) log.warn(line, 'lists refreshed in part');
      else log.info(line, 'lists refreshed');
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.warn({ reason: messageOf(error), seconds: seconds() }, 'lists could not be refreshed');
    }
  }

  function again(): void {
    if (stopping.signal.aborted) return;
    running = run().then(() => {
      if (stopping.signal.aborted) return;
      timer = setTimeout(again, wait());
      timer.unref();
    });
  }

  again();
  return {
    async stop() {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}

/** Runs the command to its end and reads the report from its output. Throws a sentence where there is none. */
async function runCommand(
  [program, ...args]: readonly [string, ...string[]],
  signal: AbortSignal,
  log: Logger,
): Promise<RefreshReport> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  let output = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < STDOUT_CHARS_MAX) output += text;
  });
  // The child's own log is dropped: the report says all, in one line. Its last words are kept for when there is no report.
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = `${complaint}${text}`.slice(-2_000);
  });
  const end = (): void => {
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), STOP_MS).unref();
  };
  const limit = setTimeout(end, RUN_MS_MAX);
  limit.unref();
  signal.addEventListener('abort', end, { once: true });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('spawn', () => {
        if (child.pid !== undefined) lowerPriority(child.pid, log);
      });
      child.on('close', resolve);
    });
    const report = reportIn(output);
    if (report !== null) return report;
    const words = complaint.trim().split('\n').at(-1) ?? '';
    throw new Error(words === '' ? `the refresh ended with code ${code} and no report` : words);
  } finally {
    clearTimeout(limit);
    signal.removeEventListener('abort', end);
  }
}

/** Answers come first: the refresh takes what they leave. */
function lowerPriority(pid: number, log: Logger): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // The child may have ended already, or the system may not allow it: a courtesy, not a need.
    log.debug({ reason: messageOf(error) }, 'the refresh keeps its priority');
  }
}

/** The report in what the command printed: alone, or as the `data` of an answer. */
function reportIn(output: string): RefreshReport | null {
  let value: unknown;
  try {
    value = JSON.parse(output);
  } catch {
    return null;
  }
  const isReport = (found: unknown): found is RefreshReport =>
    typeof found === 'object' && found !== null && Array.isArray((found as RefreshReport).sources);
  if (isReport(value)) return value;
  const data = typeof value === 'object' && value !== null ? (value as { data?: unknown }).data : null;
  return isReport(data) ? data : null;
}
