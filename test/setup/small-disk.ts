/** A small real file system of a test's own, to be filled. Mounting needs root: tests are skipped by name where it is refused. */
import { spawnSync } from 'node:child_process';
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
import { join } from 'node:path';

export type DiskKind = 'tmpfs' | 'ext4';

export interface SmallDisk {
  /** Folder that it is mounted at. */
  readonly path: string;
  /** Takes all space that is left, but for `spare` bytes. */
  fill(spare?: number): void;
  /** Gives that space back. */
  free(): void;
  remove(): void;
}

function run(command: string, args: readonly string[]): string | null {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr).trim();
}

/** Mounts one of `mebibytes`; a sentence if that is refused. */
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
    // No blocks for root alone: the tests run as root, which would never meet the end.
    refusal = run('mkfs.ext4', ['-q', '-m', '0', image]) ?? run('mount', ['-o', 'loop', image, path]);
  }
  if (refusal !== null) {
    rmSync(folder, { recursive: true, force: true });
    return `${kind} cannot be mounted: ${refusal}`;
  }
  const filling = join(path, 'filling');

  /** Appends pieces of that many bytes until there is no room for another one. */
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
    remove() {
      // What a test left open keeps the file system until it is closed.
      run('umount', ['-l', path]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Why none of that kind can be mounted here; null if it can. */
export function smallDiskRefusal(kind: DiskKind): string | null {
  const disk = mountSmallDisk(kind, 4);
  if (typeof disk === 'string') return disk;
  disk.remove();
  return null;
}

/** Mounts one where `smallDiskRefusal` is null. */
export function smallDisk(kind: DiskKind, mebibytes: number): SmallDisk {
  const disk = mountSmallDisk(kind, mebibytes);
  if (typeof disk === 'string') throw new Error(disk);
  return disk;
}
