/**
 * The pulling side of snapshot replication: fetches the missing files of a release, resumes after a broken connection, verifies every byte,
 * and puts the release in force. Until then, and after any error, the state in force is unchanged.
 */
import { createHash, type Hash } from 'node:crypto';
import { createReadStream, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { sleep } from '../base/retry.ts';
import { readJson, syncFolder, writeJsonAtomically } from '../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { withLock } from '../state/writer-lock.ts';
import { openBlobs } from './blobs.ts';
import { replicationFolderOf } from './publish.ts';
import { type ClusterKeys, openRelease, type Release, type ReleaseFile, signRelease } from './release.ts';
import { type ReleaseSource, SourceFault } from './source.ts';
import { isInForce, type PutDeps, putInForce, requireReadable } from './state-files.ts';

export interface PullProgress {
  readonly path: string;
  /** Progress over all missing files of this release. */
  readonly bytes: number;
  readonly totalBytes: number;
}

export interface PullOptions {
  readonly dataDir: string;
  readonly keys: ClusterKeys | null;
  readonly onProgress?: (progress: PullProgress) => void;
  /** Delays before the second, third, … attempt at a file after a temporary fault. If an attempt made progress, the count starts again. */
  readonly retryWaitsMs?: readonly number[];
}

/** The release in force on this node, if it was pulled. */
export interface Installed {
  readonly release: Release;
  /** ISO time. */
  readonly installedAt: string;
}

export interface Pulled extends Installed {
  /** False if it was already in force. */
  readonly swapped: boolean;
  /** Bytes transferred. */
  readonly fetchedBytes: number;
}

const RETRY_WAITS_MS = [250, 1_000, 4_000, 10_000] as const;
/** Free disk space that a download leaves for logs, live stores and the publication itself. */
const SPARE_BYTES = 256 * 1024 * 1024;
/** Interval of progress reports. */
const PROGRESS_BYTES = 1 << 20;

export interface Puller {
  /** Null if nothing was pulled yet, or if the pulled release is no longer in force. */
  readonly installed: Installed | null;
  /** Decodes and verifies the envelope of a source. Throws SOURCE_UNAVAILABLE, STORE_VERSION. */
  read(envelope: Uint8Array, source: ReleaseSource): Release;
  /**
   * Fetches the missing files of a release and puts it in force. Fetched bytes are kept for the next attempt.
   *
   * @throws SOURCE_UNAVAILABLE if the release cannot be fetched completely, STORE_BUSY if another process is pulling on this node, and the
   * reason of an aborted signal
   */
  pull(release: Release, source: ReleaseSource, signal: AbortSignal): Promise<Pulled>;
}

/** Opens the folder of pulled files. */
export function openPuller(options: PullOptions, deps: PutDeps): Puller {
  const { dataDir, keys } = options;
  const folder = join(replicationFolderOf(dataDir), 'pulled');
  const partials = join(folder, 'partial');
  const installedPath = join(folder, 'installed.json');
  mkdirSync(partials, PRIVATE_FOLDER);
  const blobs = openBlobs(join(folder, 'files'));
  let installed = readInstalled(installedPath, dataDir);

  async function pull(release: Release, source: ReleaseSource, signal: AbortSignal): Promise<Pulled> {
    return withLock(join(folder, 'LOCK'), { waitMs: 0, signal }, async () => {
      // Another process (a command beside the server) may have pulled meanwhile.
      installed = readInstalled(installedPath, dataDir);
      if (installed?.release.id === release.id) return { ...installed, swapped: false, fetchedBytes: 0 };
      const fetchedBytes = await fetchMissing(release, source, signal);
      const before = installed?.release ?? null;
      putInForce({ dataDir, release, before, blob: blobs.path }, deps);
      installed = { release, installedAt: isoTime(deps.clock.now()) };
      writeJsonAtomically(installedPath, installed);
      blobs.keepOnly(new Set(release.files.map((file) => file.sha256)));
      rmSync(partials, { recursive: true, force: true });
      mkdirSync(partials);
      return { ...installed, swapped: true, fetchedBytes };
    });
  }

  async function fetchMissing(release: Release, source: ReleaseSource, signal: AbortSignal): Promise<number> {
    // Files of a release with equal content share one blob.
    const missing = [
      ...new Map(
        release.files
          .filter(({ sha256, bytes }) => !blobs.has(sha256, bytes))
          .map((file) => [file.sha256, file]),
      ).values(),
    ];
    const wanted = new Set(missing.map((file) => file.sha256));
    for (const name of readdirSync(partials))
      if (!wanted.has(name)) rmSync(join(partials, name), { force: true });
    const totalBytes = missing.reduce((sum, file) => sum + file.bytes, 0);
    await requireRoom(totalBytes);
    let doneBytes = 0;
    let fetched = 0;
    for (const file of missing) {
      const progress = (bytes: number): void =>
        options.onProgress?.({ path: file.path, bytes: doneBytes + bytes, totalBytes });
      fetched += await fetchFile(file, source, signal, progress);
      doneBytes += file.bytes;
    }
    syncFolder(blobs.folder);
    return fetched;
  }

  async function requireRoom(bytes: number): Promise<void> {
    const { bavail, bsize } = await statfs(folder);
    const fetched = readdirSync(partials).reduce((sum, name) => sum + statSync(join(partials, name)).size, 0);
    if (bavail * bsize + fetched >= bytes + SPARE_BYTES) return;
    throw new AssayError(
      'SOURCE_UNAVAILABLE',
      `Not enough disk space in ${dataDir}: the release needs ${bytes} bytes plus a reserve of ${SPARE_BYTES} bytes; ${bavail * bsize} bytes are free.`,
    );
  }

  /** Fetches one whole file and verifies it. Returns the number of transferred bytes. */
  async function fetchFile(
    file: ReleaseFile,
    source: ReleaseSource,
    signal: AbortSignal,
    progress: (bytes: number) => void,
  ): Promise<number> {
    const partial = join(partials, file.sha256);
    const waits = options.retryWaitsMs ?? RETRY_WAITS_MS;
    let wire = 0;
    let failures = 0;
    for (let wrong = 0; ; ) {
      const reached = await reachedBy(partial, file.bytes, signal);
      const handle = await open(partial, 'a');
      const download = new Download(handle, reached.hash, reached.bytes, file, progress);
      try {
        if (reached.bytes < file.bytes) await download.write(await source.read(file, reached.bytes, signal));
        await handle.sync();
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceFault)) throw error;
        // An attempt with progress resets the count of failures.
        if (download.bytes > reached.bytes) failures = 0;
        const wait = waits[failures++];
        if (wait === undefined) throw unavailable(source, file, messageOf(error));
        deps.log.debug(
          { file: file.path, at: download.bytes, reason: messageOf(error) },
          'download interrupted, resuming',
        );
        await sleep(wait, signal);
        signal.throwIfAborted();
        continue;
      } finally {
        wire += download.bytes - reached.bytes;
        await handle.close();
      }
      if (download.digest() === file.sha256) {
        await rename(partial, blobs.path(file.sha256));
        return wire;
      }
      // A byte was corrupted during the transfer or on this disk: fetch the file once more from the start.
      rmSync(partial, { force: true });
      deps.log.warn({ file: file.path, from: source.name }, 'downloaded file does not match its checksum');
      if (++wrong > 1) throw unavailable(source, file, 'the received file does not match its checksum');
    }
  }

  return {
    get installed() {
      return installed;
    },
    read(envelope, source) {
      const release = openRelease(envelope, keys, source.name);
      requireReadable(release, source.name);
      return release;
    },
    pull,
  };
}

const unavailable = (source: ReleaseSource, file: ReleaseFile, why: string): AssayError =>
  new AssayError('SOURCE_UNAVAILABLE', `${source.name}: ${file.path} could not be fetched: ${why}.`);

/** Returns how many bytes earlier attempts fetched, and their hash. If the partial file is too long, it is deleted. */
async function reachedBy(
  partial: string,
  bytesMax: number,
  signal: AbortSignal,
): Promise<{ bytes: number; hash: Hash }> {
  const hash = createHash('sha256');
  const size = statSync(partial, { throwIfNoEntry: false })?.size ?? 0;
  if (size > bytesMax) rmSync(partial, { force: true });
  if (size === 0 || size > bytesMax) return { bytes: 0, hash };
  for await (const chunk of createReadStream(partial, { highWaterMark: 1 << 20 })) {
    signal.throwIfAborted();
    hash.update(chunk as Uint8Array);
  }
  return { bytes: size, hash };
}

/** Writes, counts and hashes the incoming bytes of one file, up to its announced size. */
class Download {
  bytes: number;
  readonly #handle: FileHandle;
  readonly #hash: Hash;
  readonly #file: ReleaseFile;
  readonly #progress: (bytes: number) => void;
  #reported: number;

  constructor(
    handle: FileHandle,
    hash: Hash,
    bytes: number,
    file: ReleaseFile,
    progress: (bytes: number) => void,
  ) {
    this.#handle = handle;
    this.#hash = hash;
    this.bytes = bytes;
    this.#reported = bytes;
    this.#file = file;
    this.#progress = progress;
  }

  async write(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of chunks) {
      if (this.bytes + chunk.length > this.#file.bytes)
        throw new SourceFault(`received more than the announced ${this.#file.bytes} bytes`);
      await this.#handle.appendFile(chunk);
      this.#hash.update(chunk);
      this.bytes += chunk.length;
      if (this.bytes - this.#reported >= PROGRESS_BYTES || this.bytes === this.#file.bytes) {
        this.#reported = this.bytes;
        this.#progress(this.bytes);
      }
    }
    if (this.bytes < this.#file.bytes)
      throw new SourceFault(`the connection ended after ${this.bytes} of ${this.#file.bytes} bytes`);
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

function readInstalled(path: string, dataDir: string): Installed | null {
  if (!existsSync(path)) return null;
  let found: Installed;
  try {
    found = readJson(path) as Installed;
    openRelease(signRelease(found.release, null), null, path);
  } catch {
    // The release is pulled again; complete files are not fetched again.
    return null;
  }
  return isInForce(dataDir, found.release.dataVersion) ? found : null;
}
