/**
 * The folder of snapshots: `CURRENT` names the published one; every other entry is a snapshot in use, one being built, or
 * waste. A snapshot is published by renaming a file. Removing unused snapshots never races with readers that open one.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { isoTime } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { type FileLease, isLeaseLive, leaseText, sweepLeases, takeLease } from '../../state/file-lease.ts';
import type { BuildDeps } from './build-types.ts';
import { syncFolder } from './segment.ts';

const CURRENT = 'CURRENT';
const BUILD_LOCK = 'build.lock';
const BUILDING = 'building-';
const SNAPSHOT = 'snapshot-';
const WASTE = 'waste-';
const LEASES = 'leases';

/** Returns the path of the published snapshot; null if none was published yet. */
export function currentSnapshot(root: string): string | null {
  let name: string;
  try {
    name = readFileSync(join(root, CURRENT), 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  if (!name.startsWith(SNAPSHOT) || name.includes('/') || name.includes('..')) {
    throw new AssayError(
      'STORE_CORRUPT',
      `${join(root, CURRENT)} does not name a snapshot. Remove it: the index is then built or pulled again.`,
    );
  }
  return join(root, name);
}

/**
 * Returns a value that changes whenever another snapshot is published, for the cost of one system call; null if none was
 * published yet.
 */
export function publicationMark(root: string): string | null {
  const state = statSync(join(root, CURRENT), { bigint: true, throwIfNoEntry: false });
  return state ? `${state.ino}.${state.mtimeNs}.${state.ctimeNs}` : null;
}

/**
 * Returns the data version in the name of a snapshot's folder.
 *
 * @throws STORE_CORRUPT for another name.
 */
export function dataVersionOf(path: string): string {
  const found = /^snapshot-\d+-([0-9a-f]{16})(?:-\d+)?$/.exec(basename(path))?.[1];
  if (found === undefined) throw new AssayError('STORE_CORRUPT', `${path} does not name a data version.`);
  return found;
}

/** A snapshot in its folder. */
export interface KeptSnapshot {
  readonly dataVersion: string;
  /** ISO time of its publication. */
  readonly publishedAt: string;
  readonly isCurrent: boolean;
}

/** Name of a snapshot: the time of its publication without separators, and its data version. */
const SNAPSHOT_NAME = /^snapshot-(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})-([0-9a-f]{16})(?:-\d+)?$/;

/**
 * Returns the snapshots in the folder, newest first: the published one, and earlier ones that a process still reads.
 *
 * @param max - maximum number of snapshots
 */
export function keptSnapshots(root: string, max: number): readonly KeptSnapshot[] {
  const current = currentSnapshot(root);
  if (current === null) return [];
  return readdirSync(root)
    .flatMap((name): KeptSnapshot[] => {
      const parts = SNAPSHOT_NAME.exec(name);
      if (parts === null) return [];
      const [, year, month, day, hour, minute, second, ms, dataVersion = ''] = parts;
      const publishedAt = `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`;
      return [{ dataVersion, publishedAt, isCurrent: join(root, name) === current }];
    })
    .sort((a, b) => (a.publishedAt < b.publishedAt ? 1 : -1))
    .slice(0, max);
}

let leasesTaken = 0;

/**
 * Takes a lease on the published snapshot. Removal checks leases after `CURRENT` has changed: if the snapshot is still
 * published once its lease exists, the removal will see the lease.
 *
 * @returns Null if none was published yet.
 * @throws STORE_CORRUPT if `CURRENT` names a snapshot that does not exist.
 * @throws STORE_BUSY if snapshots are published faster than one can be opened.
 */
export function leaseCurrent(root: string): { path: string; lease: FileLease } | null {
  // Each repetition means that another snapshot was published meanwhile.
  for (let round = 0; round < 100; round++) {
    const path = currentSnapshot(root);
    if (path === null) return null;
    let lease: FileLease;
    try {
      lease = takeOwnLease(join(path, LEASES));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      if (currentSnapshot(root) !== path || makeLeases(path)) continue;
      throw new AssayError(
        'STORE_CORRUPT',
        `${join(root, CURRENT)} names a snapshot that does not exist: ${path}.`,
      );
    }
    if (currentSnapshot(root) === path) return { path, lease };
    lease.release();
  }
  throw new AssayError('STORE_BUSY', `Snapshots of ${root} are published faster than they can be opened.`);
}

/**
 * Takes a lease under the next free number of this thread. An earlier process with the same id may have left some: in a container, each
 * start has the id of the one that was killed.
 */
function takeOwnLease(folder: string): FileLease {
  for (;;) {
    try {
      return takeLease(join(folder, `${process.pid}-${threadId}-${leasesTaken++}`));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/**
 * Creates the folder of the leases of a snapshot that was copied or restored without it. Backups leave leases out.
 *
 * @returns false if the snapshot does not exist
 */
function makeLeases(path: string): boolean {
  try {
    // Not its parents: the snapshot may have been removed.
    mkdirSync(join(path, LEASES), PRIVATE_FOLDER.mode);
    return true;
  } catch (error) {
    // EEXIST: another thread created it since.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return true;
    if (code === 'ENOENT') return false;
    throw error;
  }
}

/** Makes every snapshot waste that is neither published nor leased. Returns the folders of waste, also those of an interrupted removal. */
function wasteIn(root: string, log: Logger): readonly string[] {
  const current = currentSnapshot(root);
  const wastes: string[] = [];
  for (const name of readdirSync(root)) {
    const path = join(root, name);
    if (name.startsWith(WASTE)) wastes.push(path);
    if (!name.startsWith(SNAPSHOT) || path === current || sweepLeases(join(path, LEASES))) continue;
    // The rename makes it unreachable in one step; deletion can then take its time. A half-removed snapshot is never opened.
    const waste = join(root, `${WASTE}${name}`);
    try {
      renameSync(path, waste);
      wastes.push(waste);
    } catch (error) {
      noteNotRemoved(path, error, log);
    }
  }
  return wastes;
}

/** Another process removed it first; the next run removes the rest. */
const noteNotRemoved = (path: string, error: unknown, log: Logger): void =>
  log.debug({ path, reason: messageOf(error) }, 'snapshot not removed');

/** Removes every snapshot that is neither published nor leased. */
export function removeUnheld(root: string, log: Logger): void {
  for (const waste of wasteIn(root, log)) {
    try {
      rmSync(waste, { recursive: true, force: true });
    } catch (error) {
      noteNotRemoved(waste, error, log);
    }
  }
}

/** Does the same beside the thread, for one that answers requests: freeing the blocks of 200 MB takes 15 ms. */
export async function removeUnheldBeside(root: string, log: Logger): Promise<void> {
  for (const waste of wasteIn(root, log))
    await rm(waste, { recursive: true, force: true }).catch((error: unknown) =>
      noteNotRemoved(waste, error, log),
    );
}

/** A build in progress. */
export interface Building {
  /** Empty folder for the snapshot's files, on the same file system. */
  readonly folder: string;
  /** Publishes the finished folder: flushes it to disk first, then renames one file. */
  publish(dataVersion: string): void;
  /** Removes the folder if it was not published, and old snapshots without a lease. Always call it. */
  end(): void;
}

/**
 * Locks the folder for one build and removes the leftovers of builds that crashed.
 *
 * @throws STORE_BUSY if another build runs in the folder.
 */
export function beginBuild(root: string, deps: BuildDeps): Building {
  mkdirSync(root, PRIVATE_FOLDER);
  const lock = claimBuild(root);
  for (const name of readdirSync(root)) {
    const path = join(root, name);
    // A lock that was moved aside by a build that was killed then.
    const isDeadLock = name.startsWith(`${BUILD_LOCK}.`) && !isLeaseLive(path);
    if (name.startsWith(BUILDING) || isDeadLock) rmSync(path, { recursive: true, force: true });
  }
  const folder = join(root, `${BUILDING}${process.pid}`);
  mkdirSync(join(folder, LEASES), PRIVATE_FOLDER);
  return {
    folder,
    publish(dataVersion) {
      const stamp = isoTime(deps.clock.now()).replace(/\D/g, '');
      let name = `${SNAPSHOT}${stamp}-${dataVersion}`;
      for (let again = 2; existsSync(join(root, name)); again++)
        name = `${SNAPSHOT}${stamp}-${dataVersion}-${again}`;
      renameSync(folder, join(root, name));
      syncFolder(root);
      point(root, name);
    },
    end() {
      rmSync(folder, { recursive: true, force: true });
      try {
        removeUnheld(root, deps.log);
      } finally {
        lock.release();
      }
    },
  };
}

function point(root: string, name: string): void {
  const next = join(root, `${CURRENT}.next`);
  const file = openSync(next, 'w');
  try {
    writeSync(file, `${name}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, join(root, CURRENT));
  syncFolder(root);
}

function claimBuild(root: string): FileLease {
  const path = join(root, BUILD_LOCK);
  for (let round = 0; round < 3; round++) {
    try {
      return takeLease(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const found = leaseText(path);
    if (found === null) continue;
    if (isLeaseLive(path)) break;
    clearDeadLock(path, found);
  }
  throw new AssayError('STORE_BUSY', `Another process is building a label index in ${root}.`);
}

/**
 * Removes the lock of a dead process. It is moved aside first, and moved back if it turns out to be the lock of another,
 * newer claimant.
 */
function clearDeadLock(path: string, deadText: string): void {
  const aside = `${path}.${process.pid}-${threadId}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (leaseText(aside) === deadText) rmSync(aside, { force: true });
  else renameSync(aside, path);
}
