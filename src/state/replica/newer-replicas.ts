/**
 * States of a replica that Redis has lost: if Redis goes back to an earlier state, the replica is copied aside before it follows. Each is a
 * file of the same format, from which an operator restores what was lost.
 */
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../data-folder.ts';
import type { NewerState } from '../live-store.ts';
import { REPLICA_LIMITS } from './limits.ts';
import type { Position, ReplicaFile } from './replica-file.ts';

/** Folder of the states that Redis has lost, beside the replicas. */
export const NEWER_FOLDER = 'newer';

/** The copies beside one replica. Several processes of one machine may keep the same state: it has one name. */
export class NewerReplicas {
  readonly #replica: string;
  readonly #folder: string;
  readonly #prefix: string;

  /** @param replica - path of the replica */
  constructor(replica: string) {
    this.#replica = replica;
    this.#folder = join(dirname(replica), NEWER_FOLDER);
    this.#prefix = `${basename(replica, '.mdb')}.v`;
  }

  /** Returns the copies, the oldest first. */
  list(): readonly NewerState[] {
    return namesIn(this.#folder)
      .filter((name) => name.startsWith(this.#prefix) && name.endsWith('.mdb'))
      .flatMap((name) => {
        const path = join(this.#folder, name);
        const stats = statSync(path, { throwIfNoEntry: false });
        if (stats === undefined) return [];
        return [
          { path, version: Number.parseInt(name.slice(this.#prefix.length), 10), keptAtMs: stats.mtimeMs },
        ];
      })
      .sort((a, b) => a.keptAtMs - b.keptAtMs || a.version - b.version);
  }

  /** Copies the replica aside, and deletes the oldest copy if there are too many. Returns the path of the copy. */
  async keep(file: ReplicaFile, { version, last }: Position): Promise<string> {
    const path = join(this.#folder, `${this.#prefix}${version}-${last.replace(/[^\w-]/g, '_')}.mdb`);
    if (this.list().some((kept) => kept.path === path)) return path;
    // The name of a copy that is staged: an ended process does not leave it behind.
    const partial = `${this.#replica}.copy-${process.pid}-newer`;
    try {
      await file.copyTo(partial);
      chmodSync(partial, PRIVATE_FILE);
      mkdirSync(this.#folder, PRIVATE_FOLDER);
      renameSync(partial, path);
    } finally {
      for (const left of [partial, `${partial}-lock`]) rmSync(left, { force: true });
    }
    for (const { path: oldest } of this.list().slice(0, -REPLICA_LIMITS.newerReplicasMax))
      for (const part of [oldest, `${oldest}-lock`, `${oldest}-sums`]) rmSync(part, { force: true });
    return path;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
