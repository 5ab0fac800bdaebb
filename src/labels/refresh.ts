/**
 * Keeps the lists fresh: downloads them, imports changes, and rebuilds the index if labels changed. `refreshLists` does this
 * once, in the calling process. `startRefreshing` does it in child processes, so that parsing 120 MB of XML and building an
 * index takes neither CPU time nor memory from the server, and all resources are freed when the child ends.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { lowerPriority } from '../base/priority.ts';
import type { Random } from '../base/random.ts';
import {
  type DownloadBounds,
  type DownloadDeps,
  type DownloadOptions,
  type DownloadProgress,
  downloadSource,
  type FileDownload,
} from '../sources/download.ts';
import { downloadable, parseSource, readerOf, SOURCES, type SourceId, sourceById } from '../sources/index.ts';
import type { FileListing, PublisherFile } from '../sources/publisher.ts';
import type { Source } from '../sources/source.ts';
import { asStorageFull } from '../state/storage.ts';
import { withLock } from '../state/writer-lock.ts';
import { buildLabelIndex } from './build-index.ts';
import { importFiles, licenceSentence } from './import.ts';
import type { DatasetReport, ImportDeps, ImportProgress } from './import-report.ts';
import type { BuildProgress } from './index/build-types.ts';
import { REFRESH_LOCK } from './store.ts';

/** Returns the ids of the sources that are downloaded without being named, those with sanctions lists first. */
export const refreshSources = (sources: readonly Source[] = SOURCES): readonly SourceId[] =>
  downloadable(sources)
    .filter(({ byDefault }) => byDefault)
    .map(({ id }) => id as SourceId);

/**
 * Parses the id of a source that can be downloaded.
 *
 * @param others - Ids that the caller downloads by other means; the error lists them too.
 * @throws INVALID_REQUEST with the list of sources if no source has this id.
 */
export const parseRefreshSource = (
  text: string,
  others: readonly string[] = [],
  sources: readonly Source[] = SOURCES,
): SourceId => parseSource(text, others, downloadable(sources));

export type RefreshProgress =
  | { readonly step: 'download'; readonly source: SourceId; readonly progress: DownloadProgress }
  | { readonly step: 'import'; readonly source: SourceId; readonly progress: ImportProgress }
  | { readonly step: 'build'; readonly progress: BuildProgress };

export interface RefreshOptions {
  /** Default: all that are downloaded without being named. */
  readonly sources?: readonly SourceId[];
  /** Sources with a restricted licence that the operator has accepted. Default: none; the others of them fail. */
  readonly acceptedLicences?: ReadonlySet<string>;
  /** Called after each source. */
  readonly onSource?: (refreshed: SourceRefresh) => void;
  /** URL of a mirror: file names are appended to it. */
  readonly from?: string | undefined;
  /** Accept files and lists that look implausible. */
  readonly force?: boolean;
  readonly snapshotsFolder: string;
  readonly onProgress?: (progress: RefreshProgress) => void;
  readonly signal?: AbortSignal;
  readonly bounds?: Partial<DownloadBounds>;
}

export interface SourceRefresh {
  readonly source: SourceId;
  /** Whether the publisher confirmed or replaced every file, and every file was imported. */
  readonly ok: boolean;
  /** Hosts from which files were requested. */
  readonly hosts: readonly string[];
  readonly downloads: readonly FileDownload[];
  readonly imports: readonly DatasetReport[];
  /** One sentence per failure. */
  readonly errors: readonly string[];
}

export interface RefreshReport {
  readonly sources: readonly SourceRefresh[];
  /** Whether a new snapshot was published. */
  readonly rebuilt: boolean;
  readonly dataVersion: string | null;
  /** Why the build of a snapshot failed; null if it succeeded or none was needed. */
  readonly buildError: string | null;
}

/**
 * Refreshes the sources one after the other. If a source fails, the others continue and its last good state stays in force.
 *
 * @throws STORE_BUSY if another refresh runs.
 */
export async function refreshLists(options: RefreshOptions, deps: ImportDeps): Promise<RefreshReport> {
  const lock = join(deps.store.folder, REFRESH_LOCK);
  return withLock(lock, { waitMs: 0 }, async () => {
    const sources: SourceRefresh[] = [];
    for (const source of options.sources ?? refreshSources(deps.sources)) {
      options.signal?.throwIfAborted();
      const refreshed = await refreshSource(source, options, deps);
      sources.push(refreshed);
      options.onSource?.(refreshed);
    }
    return { sources, ...(await rebuild(options, deps)) };
  });
}

async function rebuild(options: RefreshOptions, deps: ImportDeps): Promise<Omit<RefreshReport, 'sources'>> {
  const { onProgress, snapshotsFolder, signal } = options;
  // Before the first import there is nothing to build, which is not an error of the refresh.
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
  source: SourceId,
  options: RefreshOptions,
  deps: ImportDeps,
): Promise<SourceRefresh> {
  const { from, force = false, signal, onProgress, bounds } = options;
  const imports: DatasetReport[] = [];
  const errors: string[] = [];
  const described = sourceById(source, deps.sources);
  const hosts = hostsOf(source, from, deps.sources);
  const { restriction } = described;
  const isAccepted = restriction === null || options.acceptedLicences?.has(source) === true;
  if (!isAccepted) {
    const error = licenceSentence(described, restriction);
    return { source, ok: false, hosts, downloads: [], imports, errors: [error] };
  }
  const downloads = await downloadFiles(
    described,
    {
      folder: join(deps.store.folder, 'downloads', source),
      force,
      ...(from === undefined ? {} : { from }),
      ...(signal ? { signal } : {}),
      ...(bounds ? { bounds } : {}),
      ...(onProgress ? { onProgress: (progress) => onProgress({ step: 'download', source, progress }) } : {}),
    },
    { clock: deps.clock, log: deps.log, parse: (path) => requireRecords(source, path, deps.sources) },
  );
  for (const file of downloads)
    if (file.status === 'failed' && !file.optional) errors.push(`${file.name}: ${file.reason}`);
  // A publisher may lack an optional file, but not all of its files.
  const [first] = downloads;
  if (errors.length === 0 && first !== undefined && downloads.every(({ status }) => status === 'failed'))
    errors.push(`${first.name}: ${first.reason}`);
  // If an earlier run was stopped before it imported its last good copy, the copy is imported now.
  const copies = downloads.flatMap((file) => (file.path === null ? [] : [{ ...file, path: file.path }]));
  const groups = described.grouping === 'together' ? [copies] : copies.map((file) => [file]);
  for (const group of groups) {
    signal?.throwIfAborted();
    const [first] = group;
    if (first === undefined) continue;
    try {
      const report = await importFiles(
        {
          source,
          files: group.map(({ path }) => path),
          force,
          acceptLicence: isAccepted,
          lastModified: first.lastModified,
          ...(first.checkedAt === null ? {} : { checkedAt: first.checkedAt }),
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
      const names = group.map(({ name }) => name).join(', ');
      errors.push(`${names}: ${messageOf(asStorageFull(error, deps.store.folder))}`);
    }
  }
  return { source, ok: errors.length === 0, hosts, downloads, imports, errors };
}

/** Downloads the files of a source, and those that its listing names. */
async function downloadFiles(
  source: Source,
  options: DownloadOptions,
  deps: DownloadDeps,
): Promise<readonly FileDownload[]> {
  const { id, files, listing } = source;
  if (listing === null) return downloadSource(source, options, deps);
  const { parse: _, ...withoutParse } = deps;
  const list = await downloadSource({ id, files: [listing] }, options, {
    ...withoutParse,
    parse: async (path) => {
      if (listedFiles(listing, readFileSync(path, 'utf8')).length === 0)
        throw new AssayError('INVALID_FILE', 'it lists no file.', { field: 'file' });
    },
  });
  const path = list[0]?.path ?? null;
  if (path === null) return list;
  const listed = listedFiles(listing, readFileSync(path, 'utf8'));
  return [
    ...list.map(withoutCopy),
    ...(await downloadSource({ id, files: [...files, ...listed] }, options, deps)),
  ];
}

/** The download of a listing: it has no records to import. */
const withoutCopy = (file: FileDownload): FileDownload => ({ ...file, path: null });

/** Returns the files that a listing names. */
function listedFiles({ url, key }: FileListing, xml: string): PublisherFile[] {
  if (/<IsTruncated>\s*true/.test(xml))
    throw new AssayError('INVALID_FILE', 'it is truncated: it names more files than one list can.', {
      field: 'file',
    });
  const keys = [...xml.matchAll(/<Key>([^<]{1,1000})<\/Key>/g)].map(([, found]) => found as string);
  return keys
    .filter((one) => key.test(one))
    .map((one) => ({ name: one.split('/').at(-1) as string, url: new URL(`/${one}`, url).href }));
}

/** Returns the hosts of a source's files, or that of the mirror. */
function hostsOf(source: SourceId, from: string | undefined, sources?: readonly Source[]): readonly string[] {
  const { files, listing } = sourceById(source, sources);
  const urls =
    from === undefined ? [...files, ...(listing === null ? [] : [listing])].map(({ url }) => url) : [from];
  return [...new Set(urls.map((url) => new URL(url).host))];
}

/**
 * Explains a refresh without a network.
 *
 * @param sources - the refreshed sources; those without sanctions lists do not count
 * @returns one sentence with the hosts and the two remedies; null if a sanctions list could be downloaded, or none was requested
 */
export function noListSentence(
  sources: readonly Pick<SourceRefresh, 'source' | 'hosts' | 'downloads'>[],
  known: readonly Source[] = SOURCES,
): string | null {
  const ids = new Set<string>(known.filter(({ lists }) => lists.length > 0).map(({ id }) => id));
  const asked = sources.filter(({ source, downloads }) => ids.has(source) && downloads.length > 0);
  const failures = asked.flatMap(({ downloads }) => downloads);
  if (failures.length === 0 || failures.some(({ status }) => status !== 'failed')) return null;
  const hosts = [...new Set(asked.flatMap((one) => one.hosts))].join(', ');
  const reason = failures[0]?.reason.replace(/\.$/, '') ?? '';
  return (
    `no sanctions list could be downloaded from ${hosts} (${reason}): either allow this machine to reach these hosts, or a mirror in ` +
    'ASSAY_SYNC_FROM, or import the files by hand with `assay import SOURCE FILE --checked DATE` (docs/guides/air-gap.md)'
  );
}

/**
 * Reads a downloaded file to the end, as the import will.
 *
 * @throws INVALID_FILE if it has no records.
 */
async function requireRecords(
  source: SourceId,
  path: string,
  sources: readonly Source[] | undefined,
): Promise<void> {
  let records = 0;
  const read = await readerOf(source, undefined, sources);
  for await (const record of read([path])) {
    if (record.type === 'party' || record.type === 'address') records++;
  }
  if (records === 0) throw new AssayError('INVALID_FILE', 'it has no records.', { field: 'file' });
}

export interface RefreshingOptions {
  /** Program and arguments that refresh once and print a RefreshReport as JSON on stdout: `assay sync --json`. */
  readonly command: readonly [string, ...string[]];
  readonly intervalMs: number;
  /**
   * Fraction of the interval, 0 to 1, by which each wait is randomly shortened or lengthened, so that installations do not send
   * requests at the same time.
   */
  readonly jitter?: number;
  /** Milliseconds after which a missed refresh is noticed. Default: LOOK_MS. */
  readonly lookMs?: number;
  /** Called after a new snapshot was published. */
  readonly onPublished?: (dataVersion: string | null) => void;
}

export interface RefreshingDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface Refreshing {
  /** Stops the timer and the child, and waits until the child ends. Work that was not committed is discarded. */
  stop(): Promise<void>;
}

/** A report has one entry per file; a longer output is not a report. */
const STDOUT_CHARS_MAX = 4 << 20;
/** Time for a child to end by itself after SIGTERM. */
const STOP_MS = 5_000;
/**
 * Interval at which a waiting server looks at the clock. A timer does not count the time for which the machine was suspended, so lists would be older
 * than the interval by as much.
 */
const LOOK_MS = 60_000;
/** A refresh that runs longer hangs: downloads are limited to minutes, imports and builds take seconds. */
const RUN_MS_MAX = 2 * 3_600_000;

/**
 * Refreshes immediately and then at every interval, in a child process of low priority. Each run writes one log line, even if
 * there is no network.
 */
export function startRefreshing(options: RefreshingOptions, deps: RefreshingDeps): Refreshing {
  const { intervalMs, jitter = 0.1, lookMs = LOOK_MS, onPublished } = options;
  const { clock, random, log } = deps;
  const stopping = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  function wait(): number {
    const drawn = Buffer.from(random.bytes(4)).readUInt32LE() / 2 ** 32;
    return Math.round(intervalMs * (1 + jitter * (2 * drawn - 1)));
  }

  async function run(): Promise<void> {
    const startedAt = clock.monotonic();
    const seconds = (): number => Math.round((clock.monotonic() - startedAt) / 1000);
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
      const offline = noListSentence(report.sources);
      if (offline !== null) log.warn(line, offline);
      else if (failed.length > 0 || report.buildError !== null) log.warn(line, 'lists partly refreshed');
      else log.info(line, 'lists refreshed');
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.warn({ reason: messageOf(error), seconds: seconds() }, 'refresh of lists failed');
    }
  }

  function again(): void {
    if (stopping.signal.aborted) return;
    running = run().then(() => {
      const waitMs = wait();
      look(waitMs, clock.now() + waitMs);
    });
  }

  /** Refreshes after `leftMs`, or sooner if the clock has passed `dueMs`. If the clock was set forward, this is one refresh too many. */
  function look(leftMs: number, dueMs: number): void {
    if (stopping.signal.aborted) return;
    if (leftMs <= 0 || clock.now() >= dueMs) {
      again();
      return;
    }
    const stepMs = Math.min(leftMs, lookMs);
    timer = setTimeout(() => look(leftMs - stepMs, dueMs), stepMs);
    timer.unref();
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

/**
 * Runs the command to its end and reads the report from its output.
 *
 * @throws Error with the last line of stderr if there is no report.
 */
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
  // The child's log is dropped, because the report is complete. The end of it is kept in case there is no report.
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
      child.on('spawn', () => lowerPriority(child.pid, log));
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

/** Returns the report in the output of the command, either alone or as `data` of a response; null if the output has no report. */
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
