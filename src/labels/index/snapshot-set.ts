/**
 * Follows the published snapshot: `refresh` switches to a newer one. A reader that the caller still holds keeps answering from
 * its own snapshot; its environment is closed when the garbage collector finds the reader unreachable, never earlier.
 */
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { FileLease } from '../../state/file-lease.ts';
import { leaseCurrent, publicationMark, removeUnheldBeside } from './folder.ts';
import type { LabelReader, SnapshotSet } from './reader.ts';
import { openSnapshotClosable } from './snapshot.ts';

export interface SnapshotSetDeps {
  readonly log: Logger;
}

/** The published snapshot, with its lease. */
interface PublishedSnapshot {
  readonly reader: LabelReader;
  readonly lease: FileLease;
  readonly close: () => Promise<void>;
}

/** Opens the published snapshot below `root`. Throws the errors of `openSnapshotSet`. */
function openPublished(root: string): PublishedSnapshot {
  const leased = leaseCurrent(root);
  if (!leased)
    throw new AssayError('NOT_READY', `There is no label index in ${root}. Run 'assay index build'.`);
  try {
    return { ...openSnapshotClosable(leased.path), lease: leased.lease };
  } catch (error) {
    leased.lease.release();
    throw error;
  }
}

/**
 * Opens the published snapshot below `root` for a process that opens no other one, and exits after `close`.
 *
 * @throws the errors of `openSnapshotSet`
 */
export function openOnlySnapshot(root: string): Pick<SnapshotSet, 'current' | 'refresh'> & {
  close(): Promise<void>;
} {
  const { reader, lease, close } = openPublished(root);
  return {
    current: reader,
    refresh: () => false,
    async close() {
      await close();
      lease.release();
    },
  };
}

interface OpenSnapshot {
  readonly close: () => Promise<void>;
  readonly lease: FileLease;
  readonly root: string;
  readonly log: Logger;
}

/** Runs on the thread that created the reader, once the last reference to it is gone: its views are unreachable then. */
function closeUnreachable(snapshot: OpenSnapshot): void {
  snapshot
    .close()
    .then(() => {
      snapshot.lease.release();
      return removeUnheldBeside(snapshot.root, snapshot.log);
    })
    .catch((error: unknown) =>
      snapshot.log.warn({ reason: messageOf(error) }, 'old label snapshot not closed'),
    );
}

/** Global, so that it outlives every set: a registry that is garbage-collected runs no callbacks. */
const unreachable = new FinalizationRegistry<OpenSnapshot>(closeUnreachable);

/**
 * Opens the published snapshot below `root` for this thread. Every thread opens its own set; they share the memory.
 *
 * @throws NOT_READY if none was published yet.
 * @throws the errors of `openSnapshot`.
 */
export function openSnapshotSet(root: string, deps: SnapshotSetDeps): SnapshotSet {
  let mark: string | null = null;
  let current: LabelReader | null = null;
  let lease: FileLease | null = null;

  const open = (): void => {
    // Read the mark first: the next refresh then sees a snapshot that is published while this one opens.
    const seen = publicationMark(root);
    const opened = openPublished(root);
    unreachable.register(opened.reader, { close: opened.close, lease: opened.lease, root, log: deps.log });
    current = opened.reader;
    lease = opened.lease;
    mark = seen;
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
        // The old snapshot stays in use, and the same broken snapshot is not tried again.
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
