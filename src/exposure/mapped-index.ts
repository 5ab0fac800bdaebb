/** The mapped part of an index, opened for reading: one lookup in a table that all threads and processes share. */
import { join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { placeHash, SLOT_WORDS, writeSlot } from '../labels/index/slot.ts';
import type { PlainEntry } from '../screening/exposure-port.ts';
import { hasFinishedSize } from '../state/finished-size.ts';
import { wrongFormat } from '../state/format-version.ts';
import type { RootDatabase } from '../state/lmdb.ts';
import { openMappedFile } from '../state/mapped-file.ts';
import {
  checksumOf,
  ENTRY_WORD,
  FORMAT_VERSION,
  INDEX_FILE,
  type IndexMeta,
  NODE_WORD,
  PLACE_WORDS,
  SIZE_FILE,
  VALUE_KEYS,
} from './format.ts';
import { readPlainEntry } from './plain-entry.ts';
import { type ExposureRecord, isSilent, RECORD_CATEGORIES, readRecord } from './record.ts';
import { firstPlace } from './write-index.ts';

/** Reads the table and the entries of one index. Not re-entrant: `find` stores its result in the object. */
export class MappedIndex {
  readonly meta: IndexMeta;
  readonly #table: Int32Array;
  readonly #entries: Buffer;
  readonly #slot = new Int32Array(SLOT_WORDS);
  readonly #places: number;
  /** Result of the last `find`: the id in the graph (0: not in the index), and the offset of the entry (0: none). */
  node = 0;
  entry = 0;

  constructor(meta: IndexMeta, table: Int32Array, entries: Buffer) {
    this.meta = meta;
    this.#table = table;
    this.#entries = entries;
    this.#places = meta.tablePlaces;
  }

  /** Looks up the address with the key `key[0, length)`; the result is in `node` and `entry`. */
  find(key: Uint8Array, length: number): void {
    const slot = this.#slot;
    writeSlot(key, 0, length, slot, 0);
    const a = slot[0] as number;
    const b = slot[1] as number;
    const c = slot[2] as number;
    const d = slot[3] as number;
    const e = slot[4] as number;
    const f = slot[5] as number;
    const table = this.#table;
    const places = this.#places;
    let place = firstPlace(placeHash(a, b, c, d, e, f), places);
    for (;;) {
      const at = place * PLACE_WORDS;
      const node = table[at + NODE_WORD] as number;
      if (node === 0) break;
      if (
        table[at] === a &&
        table[at + 1] === b &&
        table[at + 2] === c &&
        table[at + 3] === d &&
        table[at + 4] === e &&
        table[at + 5] === f
      ) {
        this.node = node;
        this.entry = table[at + ENTRY_WORD] as number;
        return;
      }
      place = place + 1 === places ? 0 : place + 1;
    }
    this.node = 0;
    this.entry = 0;
  }

  /** Returns true if the checksums of both values match. Reads all of them: about a nanosecond per 4 bytes. */
  isIntact(): boolean {
    const { buffer, byteOffset, byteLength } = this.#table;
    const table = new Uint8Array(buffer, byteOffset, byteLength);
    return (
      checksumOf(this.#entries) === this.meta.entryChecksum && checksumOf(table) === this.meta.tableChecksum
    );
  }

  /** Returns true if the entry at an offset adds nothing to a response. */
  isSilent(entry: number): boolean {
    return isSilent(this.#entries, entry * 4);
  }

  /** Reads the entry at an offset into `plain`. Returns false if it is not a plain entry. */
  readPlain(entry: number, plain: PlainEntry): boolean {
    return readPlainEntry(this.#entries, entry * 4, plain);
  }

  /** Reads the entry at an offset. */
  record(entry: number): ExposureRecord {
    return readRecord(this.#entries, entry * 4, this.meta.parties);
  }
}

export interface OpenedIndex {
  readonly index: MappedIndex;
  /** Closes the environment. Call it only when nothing can use the index any more: its views would read unmapped memory. */
  close(): Promise<void>;
}

/**
 * Opens the index in a folder.
 *
 * @throws STORE_CORRUPT if it is missing or damaged
 * @throws STORE_VERSION if this program does not support its format
 */
export function openMappedIndex(folder: string): OpenedIndex {
  const file = join(folder, INDEX_FILE);
  if (!hasFinishedSize(file, join(folder, SIZE_FILE)))
    throw new AssayError('STORE_CORRUPT', `The exposure index ${file} is missing or truncated.`);
  return openMappedFile(file, 'The exposure index', (environment) => ({
    index: viewOf(environment, file),
    close: () => environment.close(),
  }));
}

function viewOf(environment: RootDatabase, file: string): MappedIndex {
  const bytes = environment.getBinary(VALUE_KEYS.meta);
  if (!bytes) throw new AssayError('STORE_CORRUPT', `${file} is not an exposure index.`);
  const meta = JSON.parse(bytes.toString('utf8')) as IndexMeta;
  if (meta.formatVersion !== FORMAT_VERSION || meta.categories.join() !== RECORD_CATEGORIES.join())
    throw wrongFormat(file, meta.formatVersion, FORMAT_VERSION, 'The index will be rebuilt.');
  const value = (key: Buffer, length: number): Buffer => {
    const view = environment.getBinaryFast(key);
    if (view?.length !== length)
      throw new AssayError('STORE_CORRUPT', `The array sizes of ${file} do not match its metadata.`);
    // lmdb-js returns small values in one shared buffer, which the next read overwrites; large values are views of the memory map.
    const isMapped = (view.buffer as { isSharedMap?: boolean }).isSharedMap === true;
    return isMapped && view.byteOffset % 4 === 0 ? view : copyOf(view, length);
  };
  const entries = value(VALUE_KEYS.entries, meta.entryBytes);
  const table = value(VALUE_KEYS.table, meta.tableBytes);
  return new MappedIndex(meta, new Int32Array(table.buffer, table.byteOffset, table.length / 4), entries);
}

/** Copies a view to memory of its own: small buffers are slices of a shared buffer and may be unaligned. */
function copyOf(view: Buffer, length: number): Buffer {
  const copy = Buffer.from(new ArrayBuffer(length));
  copy.set(view.subarray(0, length));
  return copy;
}
