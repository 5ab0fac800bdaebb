/** Writes the values of a snapshot into a new LMDB environment and flushes it to disk. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { freeMemory } from '../../base/free-memory.ts';
import { noteFinishedSize } from '../../state/finished-size.ts';
import { openEnvironment } from '../../state/lmdb.ts';
import {
  ENVIRONMENT_FILE,
  MAP_BYTES,
  partitionFiles,
  SIZE_FILE,
  type StoredMeta,
  VALUE_KEYS,
} from './format.ts';
import { syncFolder } from './segment.ts';

export interface PartitionValues {
  readonly records: Uint8Array;
  readonly lookup: Uint8Array;
}

export interface SnapshotValues {
  readonly texts: Uint8Array;
  readonly lookup: Uint8Array;
  /** Awaited when the other values are written. */
  readonly records: Promise<{ readonly bytes: Uint8Array }>;
  readonly meta: Promise<StoredMeta>;
}

/**
 * Writes `folder`/labels.mdb, and frees the values. Each value has its own transaction, so that LMDB holds one copy at a time, and the
 * largest is written last, when the others are freed. Nothing reads the folder yet, so LMDB does not sync during the writes; the whole file
 * is synced once at the end.
 */
export const writeEnvironment = (
  folder: string,
  { texts, lookup, records, meta }: SnapshotValues,
): Promise<void> =>
  writeValues(folder, ENVIRONMENT_FILE, SIZE_FILE, [
    [VALUE_KEYS.lookup, () => lookup],
    [VALUE_KEYS.texts, () => texts],
    [VALUE_KEYS.records, async () => (await records).bytes],
    [VALUE_KEYS.meta, async () => jsonOf(await meta)],
  ]);

/** Writes the environment of one partition, and frees the values. */
export function writePartition(
  folder: string,
  partition: number,
  { lookup, records }: PartitionValues,
): Promise<void> {
  const { environment, size } = partitionFiles(partition);
  return writeValues(folder, environment, size, [
    [VALUE_KEYS.lookup, () => lookup],
    [VALUE_KEYS.records, () => records],
  ]);
}

/**
 * Writes the texts of the environment that partitions share, and frees them. The partitions follow, and then `writeSharedMeta`: so the texts
 * are copied into LMDB while no partition is in memory.
 */
export const writeSharedTexts = (folder: string, texts: Uint8Array): Promise<void> =>
  writeValues(folder, ENVIRONMENT_FILE, SIZE_FILE, [[VALUE_KEYS.texts, () => texts]]);

/** Writes the meta of the environment that partitions share, after its texts. */
export const writeSharedMeta = (folder: string, meta: StoredMeta): Promise<void> =>
  writeValues(folder, ENVIRONMENT_FILE, SIZE_FILE, [[VALUE_KEYS.meta, () => jsonOf(meta)]]);

const jsonOf = (meta: StoredMeta): Uint8Array => Buffer.from(JSON.stringify(meta));

/**
 * Writes values into a new environment, or adds them to the one that is there. Asks for each when those before it are written, and frees it
 * when it is written itself.
 */
async function writeValues(
  folder: string,
  name: string,
  sizeName: string,
  values: readonly (readonly [key: Buffer, ready: () => Uint8Array | Promise<Uint8Array>])[],
): Promise<void> {
  const path = join(folder, name);
  const environment = openEnvironment(path, {
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: true,
    noMemInit: true,
    // Address space only: the file has the size of its values.
    mapSize: MAP_BYTES,
  });
  try {
    for (const [key, ready] of values) {
      const value = await ready();
      environment.putSync(key, asBuffer(value));
      freeMemory([value]);
      // The memory is free in the next turn of the event loop.
      await setImmediate();
    }
  } finally {
    await environment.close();
  }
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  noteFinishedSize(path, join(folder, sizeName));
  syncFolder(folder);
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
