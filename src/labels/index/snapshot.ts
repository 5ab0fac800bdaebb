/** Opens a snapshot for look-ups. */
import { MappedReader } from './mapped-reader.ts';
import { PartitionedReader } from './partitioned-reader.ts';
import type { LabelReader } from './reader.ts';
import { openPartitions } from './snapshot-views.ts';
import { TemplateDecoder } from './template-decoder.ts';

export interface OpenedSnapshot {
  readonly reader: LabelReader;
  /** Closes the environment. Call it only when nothing can call the reader any more: its views would read unmapped memory. */
  close(): Promise<void>;
}

/**
 * Opens the snapshot in a folder until the process ends, for a command that reads one snapshot. A server uses a SnapshotSet.
 *
 * @throws NOT_FOUND, STORE_VERSION or STORE_CORRUPT.
 */
export function openSnapshot(path: string): LabelReader {
  return openSnapshotClosable(path).reader;
}

/** Opens the snapshot in a folder for a caller that knows when its reader is unreachable. */
export function openSnapshotClosable(path: string): OpenedSnapshot {
  const { views, close } = openPartitions(path);
  const [firstViews] = views;
  if (firstViews === undefined) throw new Error('A snapshot has at least one partition.');
  // All partitions have the same texts, and share the cache of decoded ones.
  const decoder = new TemplateDecoder(firstViews.texts, firstViews.meta.layout);
  const readers = views.map((one) => new MappedReader(one, decoder));
  const first = readers[0] as MappedReader;
  return {
    reader: readers.length === 1 ? first : new PartitionedReader(firstViews.meta, readers, decoder),
    close,
  };
}
