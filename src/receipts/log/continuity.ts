/**
 * Whether the log continues the states of it that Redis has lost. If Redis went back to an earlier state, a node still has the entries after
 * it. They were promised to clients, and checkpoints over them may have been served, so they are appended again at their places, before
 * anything else is. If others stand there already, the log is forked.
 */
import { AssayError } from '../../base/errors.ts';
import { auditCheckpoints } from './audit.ts';
import { type Checkpoint, parseCheckpoint } from './checkpoint.ts';
import { LOG_LIMITS } from './limits.ts';
import type { LogStore, NewerLog } from './store.ts';
import { type TileName, TileTree } from './tiles.ts';

/** Returns the tiles of a store for a tree over them. */
export const tilesOf =
  (store: Pick<LogStore, 'tile'>) =>
  async (name: TileName): Promise<Uint8Array> => {
    const tile = store.tile(name);
    if (tile === null)
      throw new AssayError('STORE_CORRUPT', `The transparency log has no tile ${name.level}/${name.index}.`);
    return tile;
  };

export interface Continuity {
  /** Number of entries that were appended again. */
  readonly restored: number;
  /** Why the log is forked, as the end of a sentence about it; null if it is not. */
  readonly fork: string | null;
}

const rootOf = (log: Pick<LogStore, 'tile'>, size: number): Promise<Buffer> =>
  new TileTree(size, tilesOf(log)).root();

/**
 * Compares the log with all kept states of it, and appends the entries that it lacks.
 *
 * @param seen - the last checkpoint of the log that this process knows; null if it knows none
 * @throws NOT_READY, STORAGE_FULL, STORE_CORRUPT
 */
export async function restoreNewer(
  store: LogStore,
  { vkey, seen }: { readonly vkey: string; readonly seen: string | null },
): Promise<Continuity> {
  let restored = 0;
  for (const newer of store.newer()) {
    try {
      // A log that was replaced by a new one has another key.
      if (newer.identity()?.vkey !== vkey) continue;
      const added = await restoreOne(store, newer);
      if (added === null)
        return { restored, fork: `it does not continue the ${newer.size()} entries in ${newer.path}` };
      restored += added;
    } finally {
      await newer.close();
    }
  }
  const known = seen === null ? null : parseCheckpoint(seen);
  const fork =
    known === null || (await continues(store, known))
      ? null
      : `it does not continue the checkpoint of ${known.size} entries that this node has served`;
  return { restored, fork };
}

async function continues(store: LogStore, seen: Checkpoint): Promise<boolean> {
  store.refresh();
  const size = store.size();
  if (size < seen.size) return false;
  const now = { ...seen, size, root: await rootOf(store, size) };
  return (await auditCheckpoints(seen, now, tilesOf(store))) === 'consistent';
}

/** Returns the number of appended entries; null if the log has other entries. */
async function restoreOne(store: LogStore, newer: NewerLog): Promise<number | null> {
  store.refresh();
  const [size, newerSize] = [store.size(), newer.size()];
  const common = Math.min(size, newerSize);
  if (!(await rootOf(store, common)).equals(await rootOf(newer, common))) return null;
  const entries = newer.entriesFrom(common);
  for (let at = 0; at < entries.length; at += LOG_LIMITS.batchEntries) {
    const some = entries.slice(at, at + LOG_LIMITS.batchEntries);
    if (!(await store.appendAt(common + at, some))) return null;
  }
  const [cosigned, before] = [newer.witnessed(), store.witnessed()];
  const isLater = cosigned !== null && (before === null || sizeOf(before) < sizeOf(cosigned));
  if (isLater && sizeOf(cosigned) <= newerSize) await store.putWitnessed(cosigned);
  return entries.length;
}

const sizeOf = (checkpoint: string): number => parseCheckpoint(checkpoint).size;
