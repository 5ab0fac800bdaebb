/**
 * The publishing side of snapshot replication: keeps the newest releases of this node's state as immutable files. Other modules transfer
 * them (HTTP, an object store).
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { labelsFolderOf } from '../labels/folders.ts';
import { REFRESH_LOCK } from '../labels/store.ts';
import { writeJsonAtomically } from '../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { isLocked, withLock } from '../state/writer-lock.ts';
import { type Blobs, openBlobs } from './blobs.ts';
import { REPLICATION_LIMITS } from './limits.ts';
import {
  bytesOfRelease,
  type ClusterKeys,
  makeRelease,
  openRelease,
  type Release,
  signRelease,
} from './release.ts';
import { captureState, stateMark } from './state-files.ts';

export interface PublisherOptions {
  readonly dataDir: string;
  /** Null: releases are not signed. */
  readonly keys: ClusterKeys | null;
}

export interface PublisherDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Published {
  readonly release: Release;
  /** The bytes that readers receive. */
  readonly envelope: Buffer;
}

export interface Publisher {
  readonly blobs: Blobs;
  /** The newest release; null before the first. */
  readonly current: Published | null;
  /**
   * Creates a release of the state in force, if it differs from the newest release. Waits while the lists are being refreshed: during a
   * refresh, the list state is ahead of the labels.
   *
   * @returns true if a new release was created
   */
  capture(signal?: AbortSignal): Promise<boolean>;
}

/** Hashing a gigabyte takes a second or two. */
const LOCK_WAIT_MS = 30_000;

/** Returns the folder of snapshot replication. */
export const replicationFolderOf = (dataDir: string): string => join(dataDir, 'travel');

/** Opens the folder of earlier releases; reads and writes nothing else before `capture` is called. */
export function openPublisher({ dataDir, keys }: PublisherOptions, deps: PublisherDeps): Publisher {
  const folder = join(replicationFolderOf(dataDir), 'published');
  mkdirSync(folder, PRIVATE_FOLDER);
  const blobs = openBlobs(join(folder, 'files'));
  const keptPath = join(folder, 'releases.json');
  let mark: string | null = null;
  let current = publishedOf(readKept(keptPath, blobs)[0]);

  function publishedOf(release: Release | undefined): Published | null {
    return release === undefined ? null : { release, envelope: signRelease(release, keys) };
  }

  async function capture(signal?: AbortSignal): Promise<boolean> {
    if (stateMark(dataDir) === mark || isLocked(join(labelsFolderOf(dataDir), REFRESH_LOCK))) return false;
    return withLock(join(folder, 'LOCK'), { waitMs: LOCK_WAIT_MS, ...(signal ? { signal } : {}) }, () =>
      captureAlone(signal),
    );
  }

  /** Runs under the lock: a command beside the server publishes into the same folder. */
  async function captureAlone(signal?: AbortSignal): Promise<boolean> {
    const startedAt = deps.clock.monotonic();
    const before = current?.release.id;
    const staging = join(folder, 'capture');
    try {
      const captured = captureState(dataDir, staging);
      if (captured === null) return false;
      const taken = await blobs.take([...captured.files.values()], signal);
      const files = [...captured.files.keys()].map((path, at) => ({
        path,
        ...(taken[at] as (typeof taken)[number]),
      }));
      const { dataVersion, formats } = captured;
      const made = makeRelease({ dataVersion, formats, files, publishedAt: isoTime(deps.clock.now()) });
      const kept = readKept(keptPath, blobs);
      const release = kept[0]?.id === made.id ? kept[0] : made;
      mark = captured.mark;
      if (release === made) {
        const rows = [made, ...kept.filter(({ id }) => id !== made.id)].slice(
          0,
          REPLICATION_LIMITS.releasesKept,
        );
        writeJsonAtomically(keptPath, rows);
        blobs.keepOnly(new Set(rows.flatMap((one) => one.files.map((file) => file.sha256))));
        deps.log.info(
          {
            release: made.id,
            dataVersion,
            bytes: bytesOfRelease(made),
            milliseconds: Math.round(deps.clock.monotonic() - startedAt),
          },
          'release published',
        );
      }
      current = publishedOf(release);
      return release.id !== before;
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  }

  return {
    blobs,
    get current() {
      return current;
    },
    capture,
  };
}

/** Returns the releases of an earlier run with all files present. */
function readKept(path: string, blobs: Blobs): readonly Release[] {
  if (!existsSync(path)) return [];
  try {
    const rows = JSON.parse(readFileSync(path, 'utf8')) as readonly Release[];
    return rows
      .map((row) => openRelease(signRelease(row, null), null, path))
      .filter(({ files }) => files.every(({ sha256, bytes }) => blobs.has(sha256, bytes)));
  } catch {
    // Damaged, or of another version. Nothing is lost: the next capture writes it again.
    return [];
  }
}
