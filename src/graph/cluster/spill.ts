/**
 * Records of a few 32-bit words in append-only files, one file per bucket, so that data larger than memory is written and read only
 * sequentially. Words are in the byte order of the machine, like those of LMDB: the files belong to one machine.
 */
import {
  appendFileSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { AssayError } from '../../base/errors.ts';
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { asStorageFull } from '../../state/storage.ts';

/** The end of one file: bytes beyond it were written after it was recorded. */
export interface SpillEnd {
  readonly bytes: number;
  readonly crc: number;
}

/** Words buffered per bucket, 64 KB: sequential for any disk, and 256 buckets (all possible address numbers) take 16 MB. */
const BUFFER_WORDS = 16_384;
/** Words read at once: 3 MB, a multiple of every record width. */
const READ_WORDS = 3 * 2 ** 18;
const WORD_BYTES = 4;

interface Bucket {
  readonly words: Uint32Array;
  used: number;
  bytes: number;
  crc: number;
}

/** Files `<name>-<bucket>` in a folder, which records are appended to and read back from. Not safe for two writers. */
export class Spill {
  readonly #folder: string;
  readonly #name: string;
  readonly #width: number;
  readonly #buckets: (Bucket | undefined)[] = [];
  #reading: Uint32Array | null = null;

  /**
   * @param folder - created if it is missing
   * @param width - 32-bit words of a record, at most 4
   * @param ends - ends of existing files by bucket, to which they are truncated. Default: existing files of the name are removed.
   * @throws STORE_CORRUPT if a file is shorter than its recorded end
   */
  constructor(folder: string, name: string, width: 2 | 3 | 4, ends: readonly SpillEnd[] = []) {
    this.#folder = folder;
    this.#name = name;
    this.#width = width;
    mkdirSync(folder, PRIVATE_FOLDER);
    for (const [bucket, { bytes, crc }] of ends.entries()) {
      if (bytes === 0) continue;
      const path = this.#path(bucket);
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) < bytes)
        throw new AssayError('STORE_CORRUPT', `${path} is shorter than the ${bytes} bytes written to it.`);
      truncateSync(path, bytes);
      this.#buckets[bucket] = { words: new Uint32Array(BUFFER_WORDS), used: 0, bytes, crc };
    }
    for (const file of readdirSync(folder)) {
      const bucket = new RegExp(`^${name}-(\\d+)$`).exec(file)?.[1];
      if (bucket !== undefined && !this.#buckets[Number(bucket)]) rmSync(join(folder, file));
    }
  }

  /** Appends a record: the first `width` of the words. */
  add(bucket: number, a: number, b: number, c = 0, d = 0): void {
    const to = this.#buckets[bucket] ?? this.#newBucket(bucket);
    const { words, used } = to;
    words[used] = a;
    words[used + 1] = b;
    if (this.#width > 2) words[used + 2] = c;
    if (this.#width > 3) words[used + 3] = d;
    to.used = used + this.#width;
    if (to.used + this.#width > BUFFER_WORDS) this.#flush(bucket, to);
  }

  /**
   * Yields the records of a bucket in the order in which they were added, many at a time. The array is reused for the next ones.
   *
   * @throws STORE_CORRUPT if the bytes are not those that were written
   */
  *read(bucket: number): IterableIterator<Uint32Array> {
    const from = this.#buckets[bucket];
    if (!from) return;
    this.#flush(bucket, from);
    if (from.bytes === 0) return;
    this.#reading ??= new Uint32Array(READ_WORDS);
    const bytes = Buffer.from(this.#reading.buffer);
    const file = openSync(this.#path(bucket), 'r');
    let crc = 0;
    try {
      for (let at = 0; at < from.bytes; ) {
        const wanted = Math.min(bytes.length, from.bytes - at);
        const filled = fill(file, bytes, wanted);
        if (filled < wanted) break;
        crc = crc32(bytes.subarray(0, filled), crc);
        at += filled;
        yield this.#reading.subarray(0, filled / WORD_BYTES);
      }
    } finally {
      closeSync(file);
    }
    if (crc !== from.crc)
      throw new AssayError('STORE_CORRUPT', `${this.#path(bucket)} is damaged: its checksum does not match.`);
  }

  /**
   * Reads everything once.
   *
   * @throws STORE_CORRUPT if the bytes of a file are not those that were written
   */
  verify(): void {
    for (const bucket of this.#buckets.keys()) for (const _ of this.read(bucket));
  }

  /** Removes a bucket and its file. */
  remove(bucket: number): void {
    if (!this.#buckets[bucket]) return;
    this.#buckets[bucket] = undefined;
    rmSync(this.#path(bucket), { force: true });
  }

  /** Writes all buffered records to disk, and returns the end of each file, by bucket. */
  sync(): readonly SpillEnd[] {
    return Array.from(this.#buckets, (one, bucket) => {
      if (!one) return { bytes: 0, crc: 0 };
      this.#flush(bucket, one);
      if (one.bytes > 0) {
        const file = openSync(this.#path(bucket), 'r+');
        try {
          fsyncSync(file);
        } finally {
          closeSync(file);
        }
      }
      return { bytes: one.bytes, crc: one.crc };
    });
  }

  #path(bucket: number): string {
    return join(this.#folder, `${this.#name}-${bucket}`);
  }

  #newBucket(bucket: number): Bucket {
    const made = { words: new Uint32Array(BUFFER_WORDS), used: 0, bytes: 0, crc: 0 };
    this.#buckets[bucket] = made;
    return made;
  }

  #flush(bucket: number, from: Bucket): void {
    if (from.used === 0) return;
    const bytes = Buffer.from(from.words.buffer, 0, from.used * WORD_BYTES);
    const path = this.#path(bucket);
    try {
      // Opened for each write: the files of all buckets together can be more than a process may have open.
      appendFileSync(path, bytes, { mode: PRIVATE_FILE });
    } catch (error) {
      throw asStorageFull(error, path);
    }
    from.bytes += bytes.length;
    from.crc = crc32(bytes, from.crc);
    from.used = 0;
  }
}

/** Reads until `length` bytes are filled or the file ends; returns how many were. */
export function fill(file: number, bytes: Uint8Array, length: number): number {
  let filled = 0;
  while (filled < length) {
    const read = readSync(file, bytes, filled, length - filled, null);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}
