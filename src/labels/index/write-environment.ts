/** Writes the values of a snapshot into a new LMDB environment and flushes it to disk. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { noteFinishedSize } from '../../state/finished-size.ts';
import { openEnvironment } from '../../state/lmdb.ts';
import { ENVIRONMENT_FILE, SIZE_FILE, type StoredMeta, VALUE_KEYS } from './format.ts';
import { syncFolder } from './segment.ts';

/** Space for LMDB's own pages, in addition to the values. */
const SLACK_BYTES = 16 * 1024 * 1024;

export interface SnapshotValues {
  readonly records: Uint8Array;
  readonly lookup: Uint8Array;
  readonly texts: Uint8Array;
}

/**
 * Writes `folder`/labels.mdb. Each value has its own transaction, so that LMDB holds one copy at a time. Nothing reads the
 * folder yet, so LMDB does not sync during the writes; the whole file is synced once at the end.
 */
export async function writeEnvironment(
  folder: string,
  meta: StoredMeta,
  values: SnapshotValues,
): Promise<void> {
  const path = join(folder, ENVIRONMENT_FILE);
  const bytes = values.records.length + values.lookup.length + values.texts.length;
  const environment = openEnvironment(path, {
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: true,
    noMemInit: true,
    mapSize: Math.ceil((bytes + SLACK_BYTES) / 4096) * 4096,
  });
  try {
    environment.putSync(VALUE_KEYS.records, asBuffer(values.records));
    environment.putSync(VALUE_KEYS.lookup, asBuffer(values.lookup));
    environment.putSync(VALUE_KEYS.texts, asBuffer(values.texts));
    environment.putSync(VALUE_KEYS.meta, Buffer.from(JSON.stringify(meta)));
  } finally {
    await environment.close();
  }
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  noteFinishedSize(path, join(folder, SIZE_FILE));
  syncFolder(folder);
}

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
