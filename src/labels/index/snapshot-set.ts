/**
 * The snapshot in force, followed: `refresh` swaps to a newer one. A reader that was handed out goes on answering from its own
 * snapshot; its environment is closed when the collector finds that nobody can ask it any more, never earlier.
 */
import { AssayError, messageOf } from '../../base/errors.ts';
import type { FileLease } from '../../base/file-lease.ts';
import type { Logger } from '../../base/log.ts';
import { leaseCurrent, publicationMark, removeUnheld } from './folder.ts';
import type { LabelReader, SnapshotSet } from './reader.ts';
import { openSnapshotClosable } from './snapshot.ts';

export interface SnapshotSetDeps {
  readonly log: Logger;
}

interface Held {
  readonly close: () => Promise<void>;
  readonly lease: FileLease;
  readonly root: string;
  readonly log: Logger;
}

/** Runs on the thread that made the reader, after the last reference to it went: its views are out of reach by then. */
function letGo(held: Held): void {
  held
    .close()
    .then(() => {
      held.lease.release();
      removeUnheld(held.root, held.log);
    })
    .catch((error: unknown) => held.log.warn({ reason: messageOf(error) }, 'old label snapshot not closed'));
}

/** Outlives every set: a registry that is itself collected calls nobody. */
const unreachable = new FinalizationRegistry<Held>(letGo);

/**
 * Opens the snapshot in force below `root` for this thread. Every thread opens its own set; they share the memory.
 * Throws NOT_READY where none was published yet, and what `openSnapshot` throws.
 */
export function openSnapshotSet(root: string, deps: SnapshotSetDeps): SnapshotSet {
  let mark: string | null = null;
  let current: LabelReader | null = null;
  let lease: FileLease | null = null;

  const open = (): void => {
    // The mark is taken first: a publication while we open is then seen by the next refresh.
    const seen = publicationMark(root);
    const leased = leaseCurrent(root);
    if (!leased) {
      throw new AssayError('NOT_READY', `No label index was built yet in ${root}. Run 'assay index build'.`);
    }
    try {
      const { reader, close } = openSnapshotClosable(leased.path);
      unreachable.register(reader, { close, lease: leased.lease, root, log: deps.log });
      current = reader;
      lease = leased.lease;
      mark = seen;
    } catch (error) {
      leased.lease.release();
      throw error;
    }
  };
  open();

  return {
    get current(): LabelReader {
      if (!current) throw new AssayError('NOT_READY', `The label index of ${root} was closed.`);
      return current;
    },
    refresh() {
      if (!current) return false;
      const seen = publicationMark(root);
      if (seen === null || seen === mark) return false;
      try {
        open();
        return true;
      } catch (error) {
        // The old snapshot goes on answering; the same broken one is not tried again.
        mark = seen;
        deps.log.error({ root, reason: messageOf(error) }, 'newer label snapshot not opened');
        return false;
      }
    },
    close() {
      lease?.release();
      current = null;
      lease = null;
    },
  };
}
