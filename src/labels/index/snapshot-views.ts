/** Opens the environments of a snapshot and checks that their values are complete: the views of the memory map that readers use. */
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { hasFinishedSize } from '../../state/finished-size.ts';
import { wrongFormat } from '../../state/format-version.ts';
import type { RootDatabase } from '../../state/lmdb.ts';
import { openMappedFile } from '../../state/mapped-file.ts';
import {
  ENVIRONMENT_FILE,
  FORMAT_VERSION,
  PARTITIONED_FORMAT,
  partitionFiles,
  RECORD_WORDS,
  SIZE_FILE,
  type StoredMeta,
  VALUE_KEYS,
} from './format.ts';

/** The values of a snapshot, as stored in its environment. */
export interface SnapshotViews {
  readonly meta: StoredMeta;
  readonly records: Uint8Array;
  readonly lookup: Uint8Array;
  readonly texts: Uint8Array;
}

/**
 * Opens all partitions of a snapshot; most snapshots have one. The meta of each has the layout of that partition, and beyond it the
 * facts of the whole snapshot.
 */
export function openPartitions(path: string): {
  readonly views: readonly SnapshotViews[];
  readonly close: () => Promise<void>;
} {
  const file = join(path, ENVIRONMENT_FILE);
  requireWhole(path, file);
  const top = openMappedFile(file, 'The label snapshot', (environment) => ({
    environment,
    meta: readMeta(environment, file),
  }));
  const { partitions } = top.meta.layout;
  if (partitions === undefined) {
    const views = [readViews(top.environment, file)];
    return { views, close: () => top.environment.close() };
  }
  const texts = valueIn(top.environment, VALUE_KEYS.texts, file);
  const opened = partitions.map((layout, partition) => {
    const names = partitionFiles(partition);
    const part = join(path, names.environment);
    if (!hasFinishedSize(part, join(path, names.size))) throw truncated(part);
    return openMappedFile(part, 'A partition of the label snapshot', (environment) => {
      const views: SnapshotViews = {
        meta: { ...top.meta, layout },
        records: valueIn(environment, VALUE_KEYS.records, part),
        lookup: valueIn(environment, VALUE_KEYS.lookup, part),
        texts,
      };
      requireSizes(views, part);
      return { environment, views };
    });
  });
  return {
    views: opened.map(({ views }) => views),
    async close() {
      for (const { environment } of opened) await environment.close();
      await top.environment.close();
    },
  };
}

/** Reads the meta of a snapshot with any number of partitions. */
export async function readSnapshotMeta(path: string): Promise<StoredMeta> {
  const file = join(path, ENVIRONMENT_FILE);
  requireWhole(path, file);
  const { environment, meta } = openMappedFile(file, 'The label snapshot', (environment) => ({
    environment,
    meta: readMeta(environment, file),
  }));
  await environment.close();
  return meta;
}

/** Opens the environment of a snapshot with one partition and reads its four values. */
export function openViews(path: string): { environment: RootDatabase; views: SnapshotViews } {
  const file = join(path, ENVIRONMENT_FILE);
  requireWhole(path, file);
  return openMappedFile(file, 'The label snapshot', (environment) => ({
    environment,
    views: readViews(environment, file),
  }));
}

/** Throws STORE_CORRUPT if the file is missing, or shorter than its recorded final size (if one was recorded). */
function requireWhole(path: string, file: string): void {
  if (!hasFinishedSize(file, join(path, SIZE_FILE))) throw truncated(file);
}

const truncated = (file: string): AssayError =>
  new AssayError(
    'STORE_CORRUPT',
    `The label snapshot ${file} is missing or truncated. Run 'assay index build --force' to rebuild it.`,
  );

function readMeta(environment: RootDatabase, file: string): StoredMeta {
  const metaBytes = environment.getBinary(VALUE_KEYS.meta);
  if (!metaBytes) throw new AssayError('STORE_CORRUPT', `${file} is not a label snapshot.`);
  const meta = JSON.parse(metaBytes.toString('utf8')) as StoredMeta;
  const wanted = meta.layout?.partitions === undefined ? FORMAT_VERSION : PARTITIONED_FORMAT;
  if (meta.formatVersion !== wanted)
    throw wrongFormat(file, meta.formatVersion, wanted, "Run 'assay index build'.");
  return meta;
}

/** Opens the texts of a snapshot that is being built: what a build reads of them later then takes no memory of its own. */
export function openTexts(path: string): { readonly texts: Uint8Array; readonly close: () => Promise<void> } {
  const file = join(path, ENVIRONMENT_FILE);
  return openMappedFile(file, 'The label snapshot', (environment) => ({
    texts: valueIn(environment, VALUE_KEYS.texts, file),
    close: () => environment.close(),
  }));
}

function valueIn(environment: RootDatabase, key: Buffer, file: string): Uint8Array {
  const view = environment.getBinaryFast(key);
  if (!view) throw new AssayError('STORE_CORRUPT', `${file} has no value '${key.toString()}'.`);
  return isMapped(view) ? view : Uint8Array.from(view.subarray(0, view.length));
}

function readViews(environment: RootDatabase, file: string): SnapshotViews {
  const meta = readMeta(environment, file);
  const value = (key: Buffer): Uint8Array => valueIn(environment, key, file);
  const views = {
    meta,
    records: value(VALUE_KEYS.records),
    lookup: value(VALUE_KEYS.lookup),
    texts: value(VALUE_KEYS.texts),
  };
  requireSizes(views, file);
  return views;
}

function requireSizes(views: SnapshotViews, file: string): void {
  const { addresses, bucketBits, overflowWords, filter } = views.meta.layout;
  if (
    views.records.length !== addresses * RECORD_WORDS * 4 ||
    views.lookup.length !== ((1 << bucketBits) + 1 + overflowWords) * 4 + filter.bytes
  ) {
    throw new AssayError(
      'STORE_CORRUPT',
      `The values of ${file} do not have the sizes that its layout states.`,
    );
  }
}

/** lmdb-js returns small values in one buffer, which the next read overwrites; large values are views of the memory map. */
const isMapped = (view: Uint8Array): boolean =>
  (view.buffer as { isSharedMap?: boolean }).isSharedMap === true;

/** Returns a view of `words` 32-bit words at a byte offset. */
export const wordsOf = (bytes: Uint8Array, offset: number, words: number): Int32Array =>
  new Int32Array(bytes.buffer, bytes.byteOffset + offset, words);
