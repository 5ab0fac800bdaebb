/** Reads results: the files of the answered chunks, one after another, as one range of bytes. */
import { stat } from 'node:fs/promises';
import { AssayError, isMissingFile } from '../../base/errors.ts';
import type { FilePart } from '../bulk-jobs.ts';
import type { JobRecord, JobStore } from './job-store.ts';
import type { JobPlaces } from './places.ts';

/** Number of jobs with a cached index, at about 100 KB each. */
const INDEXES_KEPT = 16;

/** Result files of one job, from the first on, and the end offset of each in the whole result. */
export interface ResultIndex {
  readonly files: string[];
  readonly ends: number[];
}

/** Returns the file ranges that hold `[start, end)`. */
export function partsOf({ files, ends }: ResultIndex, start: number, end: number): FilePart[] {
  const parts: FilePart[] = [];
  let low = 0;
  for (let high = ends.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((ends[middle] as number) <= start) low = middle + 1;
    else high = middle;
  }
  for (let at = low; at < files.length; at++) {
    const from = at === 0 ? 0 : (ends[at - 1] as number);
    if (from >= end) break;
    const to = Math.min(end, ends[at] as number);
    if (to > Math.max(start, from))
      parts.push({ path: files[at] as string, start: Math.max(start, from) - from, end: to - from });
  }
  return parts;
}

/** Returns the error of a result of which a file was lost on the server. */
export const lostResult = (): AssayError =>
  new AssayError(
    'NOT_FOUND',
    'id: a file of the result of this job is missing on the server. If the operator cannot restore it, delete the job and send it again.',
    { field: 'id' },
  );

/** Returns the path of the first file that is missing or has fewer bytes than were written; null if there is none. */
export async function firstLost(parts: readonly FilePart[]): Promise<string | null> {
  for (const { path, end } of parts) {
    try {
      if ((await stat(path)).size < end) return path;
    } catch (error) {
      if (!isMissingFile(error)) throw error;
      return path;
    }
  }
  return null;
}

/** Cached indexes of the jobs with results that were read last. */
export class ResultIndexes {
  readonly #store: JobStore;
  readonly #places: JobPlaces;
  /** By job id, the least recently used first. */
  readonly #indexes = new Map<string, ResultIndex>();

  constructor(store: JobStore, places: JobPlaces) {
    this.#store = store;
    this.#places = places;
  }

  /** Returns the index of all answered chunks without a gap, and adds the new ones. */
  of(job: JobRecord): ResultIndex {
    const index = this.#indexes.get(job.id) ?? { files: [], ends: [] };
    this.#indexes.delete(job.id);
    this.#indexes.set(job.id, index);
    for (const oldest of this.#indexes.keys()) {
      if (this.#indexes.size <= INDEXES_KEPT) break;
      this.#indexes.delete(oldest);
    }
    for (let chunk = index.files.length; chunk < job.prefix.chunks; chunk++) {
      const answered = this.#store.chunk(job.id, chunk);
      if (answered === null) break;
      index.files.push(this.#places.answer(job.id, answered.file));
      index.ends.push((index.ends.at(-1) ?? 0) + answered.bytes);
    }
    return index;
  }

  clear(): void {
    this.#indexes.clear();
  }

  delete(id: string): void {
    this.#indexes.delete(id);
  }
}
