/** A small real file system of a test, which the test fills. Mounting needs root; if it is refused, the tests are skipped. */
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { spawnSync } from '../support/child-process.ts';

export type DiskKind = 'tmpfs' | 'ext4';

export interface SmallDisk {
  /** The folder at which it is mounted. */
  readonly path: string;
  /** Takes all free space except `spare` bytes. */
  fill(spare?: number): void;
  /** Frees that space again. */
  free(): void;
  /** Mounts it read-only, or for writing again. No file of it may be open for writing. */
  setReadOnly(isReadOnly: boolean): void;
  /** ext4: reports an error of the file system, after which Linux refuses all writes to it. */
  fail(): void;
  remove(): void;
}

function run(command: string, args: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr).trim();
}

/** Mounts a disk of `mebibytes`; returns a sentence if that is refused. */
export function mountSmallDisk(kind: DiskKind, mebibytes: number): SmallDisk | string {
  const folder = mkdtempSync(join(tmpdir(), 'assay-disk-'));
  const path = join(folder, 'mount');
  mkdirSync(path);
  const image = join(folder, 'image');
  let refusal: string | null;
  if (kind === 'tmpfs') refusal = run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]);
  else {
    writeFileSync(image, '');
    truncateSync(image, mebibytes * 1024 * 1024);
    // No blocks reserved for root: the tests run as root, which would never reach the limit.
    refusal = run('mkfs.ext4', ['-q', '-m', '0', image]) ?? run('mount', ['-o', 'loop', image, path]);
  }
  if (refusal !== null) {
    rmSync(folder, { recursive: true, force: true });
    return `${kind} cannot be mounted: ${refusal}`;
  }
  const filling = join(path, 'filling');

  /** Appends pieces of `bytes` until there is no room for another one. */
  function append(bytes: number): void {
    const piece = Buffer.alloc(bytes);
    const file = openSync(filling, 'a');
    try {
      while (writeSync(file, piece) === bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      closeSync(file);
    }
  }

  return {
    path,
    fill(spare = 0) {
      const kept = join(path, 'spare');
      if (spare > 0) writeFileSync(kept, Buffer.alloc(spare));
      for (const bytes of [65_536, 4_096, 1_024]) append(bytes);
      rmSync(kept, { force: true });
    },
    free: () => rmSync(filling, { force: true }),
    setReadOnly(isReadOnly) {
      const refused = run('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, path]);
      if (refused !== null) throw new Error(refused);
    },
    fail() {
      const refused = run('mount', ['-o', 'remount,errors=remount-ro', path]);
      if (refused !== null) throw new Error(refused);
      const { stdout } = spawnSync('findmnt', ['-n', '-o', 'SOURCE', path], { encoding: 'utf8' });
      writeFileSync(join('/sys/fs/ext4', basename(stdout.trim()), 'trigger_fs_error'), '1');
    },
    remove() {
      // Files that a test left open keep the file system until they are closed.
      run('umount', ['-l', path]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the reason why no disk of that kind can be mounted here; null if it can. */
export function smallDiskRefusal(kind: DiskKind): string | null {
  const disk = mountSmallDisk(kind, 4);
  if (typeof disk === 'string') return disk;
  disk.remove();
  return null;
}

/** Mounts a disk; call it only if `smallDiskRefusal` returns null. */
export function smallDisk(kind: DiskKind, mebibytes: number): SmallDisk {
  const disk = mountSmallDisk(kind, mebibytes);
  if (typeof disk === 'string') throw new Error(disk);
  return disk;
}
