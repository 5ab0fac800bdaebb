/** Writes the values of a snapshot into a new LMDB environment and flushes it to disk. */
import { closeSync, fsyncSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { freeMemory } from '../../base/free-memory.ts';
import { noteFinishedSize } from '../../state/finished-size.ts';
import { openEnvironment } from '../../state/lmdb.ts';
import { ENVIRONMENT_FILE, partitionFiles, SIZE_FILE, type StoredMeta, VALUE_KEYS } from './format.ts';
import { syncFolder } from './segment.ts';

/** Space for LMDB's own pages, in addition to the values. */
const SLACK_BYTES = 16 * 1024 * 1024;

export interface SnapshotValues extends PartitionValues {
  readonly texts: Uint8Array;
}

export interface PartitionValues {
  readonly records: Uint8Array;
  readonly lookup: Uint8Array;
}

/**
 * Writes `folder`/labels.mdb, and frees the values. Each value has its own transaction, so that LMDB holds one copy at a time, and the
 * largest is written last, when the others are freed. Nothing reads the folder yet, so LMDB does not sync during the writes; the whole file
 * is synced once at the end.
 */
export const writeEnvironment = (folder: string, meta: StoredMeta, values: SnapshotValues): Promise<void> =>
  writeValues(folder, ENVIRONMENT_FILE, SIZE_FILE, [
    [VALUE_KEYS.texts, values.texts],
    [VALUE_KEYS.lookup, values.lookup],
    [VALUE_KEYS.records, values.records],
    [VALUE_KEYS.meta, Buffer.from(JSON.stringify(meta))],
  ]);

/** Writes the environment of one partition, and frees the values. */
export function writePartition(folder: string, partition: number, values: PartitionValues): Promise<void> {
  const { environment, size } = partitionFiles(partition);
  return writeValues(folder, environment, size, [
    [VALUE_KEYS.lookup, values.lookup],
    [VALUE_KEYS.records, values.records],
  ]);
}

/**
 * Writes the texts of the environment that partitions share, and frees them. The partitions follow, and then `writeSharedMeta`: so the texts
 * are copied into LMDB while no partition is in memory.
 */
export const writeSharedTexts = (folder: string, texts: Uint8Array): Promise<void> =>
  writeValues(folder, ENVIRONMENT_FILE, SIZE_FILE, [[VALUE_KEYS.texts, texts]]);

/** Writes the meta of the environment that partitions share, after its texts. */
export const writeSharedMeta = (folder: string, meta: StoredMeta): Promise<void> =>
  writeValues(folder, ENVIRONMENT_FILE, SIZE_FILE, [[VALUE_KEYS.meta, Buffer.from(JSON.stringify(meta))]]);

/** Writes values into a new environment, or adds them to the one that is there. Frees each value when it is written. */
async function writeValues(
  folder: string,
  name: string,
  sizeName: string,
  values: readonly (readonly [key: Buffer, value: Uint8Array])[],
): Promise<void> {
  const path = join(folder, name);
  const before = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const bytes = values.reduce((sum, [, value]) => sum + value.length, before);
  const environment = openEnvironment(path, {
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: true,
    noMemInit: true,
    mapSize: Math.ceil((bytes + SLACK_BYTES) / 4096) * 4096,
  });
  try {
    for (const [key, value] of values) {
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
