/**
 * Writes files atomically: a file is written under a temporary name, flushed, and renamed. JSON objects carry a checksum of their content
 * as their last member, so that a changed byte is rejected and not read as another value.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { AssayError } from '../base/errors.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER } from './data-folder.ts';
import { asStorageFull } from './storage.ts';

let writes = 0;

/** Returns the CRC-32 as eight hexadecimal digits. */
export const checksumOf = (bytes: string | Uint8Array): string => crc32(bytes).toString(16).padStart(8, '0');

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Adds the checksum as the member `crc32` to an object; arrays and numbers have none. */
const withChecksum = (value: unknown): unknown =>
  isObject(value) ? { ...value, crc32: checksumOf(JSON.stringify(value)) } : value;

/**
 * Reads a file of `writeJsonAtomically`. A file of an earlier version has no checksum, and is accepted without a check.
 *
 * @returns the value as it was written, without its checksum.
 * @throws STORE_CORRUPT naming the file, if it is not JSON or its checksum is wrong; ENOENT if there is no file.
 */
export function readJson(path: string): unknown {
  const text = readFileSync(path, 'utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AssayError('STORE_CORRUPT', `${path} is damaged: it is not JSON. ${RESTORE}`, { cause });
  }
  if (!isObject(value)) return value;
  const { crc32: written, ...content } = value;
  if (written === undefined && !hasRenamedChecksum(value)) return value;
  if (written === checksumOf(JSON.stringify(content))) return content;
  throw new AssayError(
    'STORE_CORRUPT',
    `${path} is damaged: its checksum does not match. ${RESTORE} If it was changed by hand, remove its member 'crc32'.`,
  );
}

/** True if the last member is the checksum of the others: a byte of its name was changed, and the file is none of an earlier version. */
function hasRenamedChecksum(value: Readonly<Record<string, unknown>>): boolean {
  const last = Object.keys(value).at(-1) ?? '';
  const { [last]: sum, ...content } = value;
  return typeof sum === 'string' && sum === checksumOf(JSON.stringify(content));
}

const RESTORE = 'The file was not changed: restore it from a backup (docs/OPERATIONS.md, Damaged files).';

/**
 * Replaces the file at `path` by the JSON of `value`. If the process crashes, the old file or the new one remains.
 *
 * @throws STORAGE_FULL naming the file, if the disk is full
 */
export function writeJsonAtomically(path: string, value: unknown): void {
  writeTextAtomically(path, `${JSON.stringify(withChecksum(value))}\n`);
}

/**
 * Replaces the file at `path` by `text`, readable by its owner only. If the process crashes, the old file or the new one remains.
 *
 * @throws STORAGE_FULL naming the file, if the disk is full
 */
export function writeTextAtomically(path: string, text: string): void {
  writeBytesAtomically(path, Buffer.from(text));
}

/**
 * Replaces the file at `path` by `bytes`, readable by its owner only. If the process crashes, the old file or the new one remains.
 *
 * @throws STORAGE_FULL naming the file, if the disk is full
 */
export function writeBytesAtomically(path: string, bytes: Uint8Array): void {
  mkdirSync(dirname(path), PRIVATE_FOLDER);
  let partial = '';
  try {
    const created = createPartial(path);
    partial = created.partial;
    const { handle } = created;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(partial, path);
    syncFolder(dirname(path));
  } catch (error) {
    if (partial !== '') rmSync(partial, { force: true });
    // The error of a write does not name its file.
    throw asStorageFull(error, path);
  }
}

/**
 * Creates a temporary file beside `path` under a name that no other file has. An earlier process with the same id may have left some when it
 * was killed, and a process in another container may have the same id.
 */
function createPartial(path: string): { readonly partial: string; readonly handle: number } {
  for (;;) {
    const partial = `${path}.${process.pid}-${writes++}.tmp`;
    try {
      return { partial, handle: openSync(partial, 'wx', PRIVATE_FILE) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Flushes a folder, so that renames inside it survive a power loss. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
