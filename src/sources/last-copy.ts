/** The last good copy of a publisher's file, with its state beside it in `<name>.json`. Both are replaced atomically. */
import { open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isoTime } from '../base/clock.ts';

/** What is known about a copy. */
export interface CopyState {
  readonly url: string;
  readonly etag: string | null;
  /** The header as the server sent it, for conditional requests. */
  readonly lastModified: string | null;
  readonly bytes: number;
  readonly sha256: string;
  readonly checkedAt: string;
}

let writes = 0;

/**
 * Returns the state of a copy; null if there is no copy. If the stored state belongs to another copy, only the size and time of the copy
 * are known.
 *
 * @param path - the copy
 * @param url - where it comes from now: the validators of one server mean nothing to another
 */
export async function readCopyState(path: string, url: URL): Promise<CopyState | null> {
  const copy = await stat(path).catch(() => null);
  if (!copy?.isFile()) return null;
  const state = parseState(await readFile(statePath(path), 'utf8').catch(() => ''));
  if (state && state.bytes === copy.size)
    return state.url === url.href ? state : { ...state, etag: null, lastModified: null };
  return {
    url: url.href,
    etag: null,
    lastModified: null,
    bytes: copy.size,
    sha256: '',
    checkedAt: isoTime(copy.mtimeMs),
  };
}

/** Stores the state of a copy. */
export async function writeCopyState(path: string, state: CopyState): Promise<void> {
  const fresh = `${statePath(path)}.${process.pid}-${writes++}`;
  await writeFile(fresh, `${JSON.stringify(state)}\n`);
  await rename(fresh, statePath(path));
}

/** Replaces a copy by a file of the same file system, and flushes the folder, so that the rename is durable. */
export async function replaceCopy(path: string, fetched: string): Promise<void> {
  await rename(fetched, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

const statePath = (path: string): string => `${path}.json`;

function parseState(text: string): CopyState | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { url, etag, lastModified, bytes, sha256, checkedAt } = value as Record<string, unknown>;
  const textOrNull = (field: unknown): field is string | null => field === null || typeof field === 'string';
  if (typeof url !== 'string' || typeof bytes !== 'number' || typeof sha256 !== 'string') return null;
  if (typeof checkedAt !== 'string' || !textOrNull(etag) || !textOrNull(lastModified)) return null;
  return { url, etag, lastModified, bytes, sha256, checkedAt };
}
