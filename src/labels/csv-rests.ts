/**
 * The distinct texts beside address and dates in the rows of a CSV (the rest of a row), which millions of rows share: a hash table over an
 * arena of bytes. A WebAssembly kernel that the build assembles (scripts/kernels) reads plain rows and looks up their rests; without it, or for
 * a row that is not plain, the same steps run here. Both use one memory.
 */
import { type KernelMemory, loadKernel } from '../base/kernel.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import { LABEL_LIMITS } from './limits.ts';

const COMMA = 44;
const LINE_FEED = 10;

export const NO_REST = -1;
/** Answer for a rest that sends all of its rows to the slow path. */
export const REFUSED = -1;
export const UNEXPLAINED = -2;

/** Rows that the kernel reads at a time. */
export const KERNEL_ROWS = 128;
/** Bytes that must be readable after a window, and after a rest: they are read one vector at a time. */
export const SLACK_BYTES = 16;

const PAGE_BYTES = 65_536;

/** Places of the kernel's parameters in its memory, in bytes: 32-bit numbers. */
export const ROWS_MEMORY = {
  /** Start of the window, and of the rows that the kernel writes. */
  window: 0,
  rows: 4,
  /** Bytes of a row: its rest, its end, hash and length of its rest, then the start of each column and the end of the last plus one. */
  rowBytes: 8,
  columns: 12,
  /** The column with the tail of the row as printed, with commas and quotes; -1 if absent. */
  tail: 16,
  /** Hash table: hash of a rest, and its number plus one; zero if the place is free. */
  places: 20,
  placesMask: 24,
  rests: 28,
  /** Number of runs, and first and last column of each. */
  runs: 32,
  firstRun: 36,
  /** 16 bytes of ones, then 16 of zeros: the mask of n bytes begins 16 - n after the start. */
  masks: 128,
  end: 160,
} as const;

/** Words of a row before the starts of its columns. */
export const ROW_REST = 0;
export const ROW_END = 1;
export const ROW_HASH = 2;
export const ROW_LENGTH = 3;
export const ROW_COLUMNS = 4;

/** Words of a rest: start of its bytes in the memory, their number, chain number, template. */
export const REST_WORDS = 4;
export const LENGTH = 1;
const CHAIN = 2;
const TEMPLATE = 3;

/** Multipliers of the hash: of each word, and of the four lanes when they are combined. */
export const HASH_START = 0x811c9dc5 | 0;
export const HASH_WORD = 0x9e3779b1 | 0;
export const HASH_LANE = 0x85ebca6b | 0;
export const HASH_END = 0xc2b2ae35 | 0;

const CHAIN_IDS: readonly ChainId[] = CHAINS.map((chain) => chain.id);

/** Memory for rests is added in pieces of this size, or of one rest if that is larger. */
const PIECE_BYTES = 1 << 20;
/** From this size on, no rests are added: offsets are signed numbers of 32 bits, and the tables may still be doubled once (128 MB). */
const FULL_FROM_BYTES = 1.75 * 2 ** 30;

interface Kernel extends KernelMemory {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** Reads rows of the window from an offset up to another. Returns their number: it stops before a row that is not plain. */
  readonly rows: (from: number, end: number) => number;
}

/** Memory of a machine without the kernel. */
class PlainMemory {
  buffer = new ArrayBuffer(PAGE_BYTES);

  grow(pages: number): void {
    const more = Math.max(pages * PAGE_BYTES, this.buffer.byteLength);
    const larger = new ArrayBuffer(this.buffer.byteLength + more);
    new Uint8Array(larger).set(new Uint8Array(this.buffer));
    this.buffer = larger;
  }
}

/** The rests of the rows read so far. */
export class RestTable {
  /** The memory as words. Adding a rest may replace it. */
  words: Int32Array;
  /** The bytes of the window: the copy that the kernel has just read, which is in the cache and not shared with another thread. */
  window: Buffer = Buffer.alloc(0);
  /** Index of the first of `KERNEL_ROWS` rows in `words`, and the words of each. */
  readonly rowsAt: number;
  readonly rowWords: number;
  readonly #kernel: Kernel | null;
  readonly #memory: { readonly buffer: ArrayBuffer; grow(pages: number): unknown };
  #bytes: Uint8Array;
  #view: DataView;
  /** End of the memory in use. */
  #end: number = ROWS_MEMORY.end;
  /** First and last column of each run of columns that belong to the rest. */
  readonly #runs: readonly (readonly [first: number, last: number])[];
  #windowAt = 0;
  #windowBytes = 0;
  #places = 0;
  #placesMask = 0;
  #rests = 0;
  #restsMax = 0;
  #size = 0;
  /** The piece of memory that new rests are written to. */
  #arenaEnd = 0;
  #arenaLimit = 0;
  #fresh = 0;
  #explained = 0;
  #hash = 0;

  /**
   * @param columns - columns of a row, the one with the tail of the row as printed (-1 if absent), and those of the rest in ascending order
   * @param useKernel - false reads every row here. The kernel is compared with this.
   */
  constructor(
    columns: { readonly count: number; readonly tail: number; readonly rest: readonly number[] },
    useKernel = true,
  ) {
    this.#kernel = useKernel ? loadKernel<Kernel>('label-rows') : null;
    this.#memory = this.#kernel?.memory ?? new PlainMemory();
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#view = new DataView(this.#memory.buffer);
    this.words = new Int32Array(this.#memory.buffer);
    this.#runs = runsOf(columns.rest);
    this.rowWords = columns.count + 1 + ROW_COLUMNS;
    const rowsAt = this.#allocate(KERNEL_ROWS * this.rowWords * 4);
    this.rowsAt = rowsAt / 4;
    this.#bytes.fill(0xff, ROWS_MEMORY.masks, ROWS_MEMORY.masks + 16);
    this.#set(ROWS_MEMORY.rows, rowsAt);
    this.#set(ROWS_MEMORY.rowBytes, this.rowWords * 4);
    this.#set(ROWS_MEMORY.columns, columns.count);
    this.#set(ROWS_MEMORY.tail, columns.tail);
    this.#set(ROWS_MEMORY.runs, this.#runs.length);
    for (const [index, [first, last]] of this.#runs.entries()) {
      this.#set(ROWS_MEMORY.firstRun + index * 8, first);
      this.#set(ROWS_MEMORY.firstRun + index * 8 + 4, last);
    }
    this.#placeTable(1 << 16);
    this.#growRests(1 << 12);
  }

  #set(parameter: number, value: number): void {
    this.words[parameter / 4] = value;
  }

  /** Returns the offset of that many bytes, all zero, at the end of the memory in use. */
  #allocate(bytes: number): number {
    const at = (this.#end + 15) & ~15;
    const missing = at + bytes + SLACK_BYTES - this.#memory.buffer.byteLength;
    if (missing > 0) {
      this.#memory.grow(Math.ceil(missing / PAGE_BYTES));
      this.#bytes = new Uint8Array(this.#memory.buffer);
      this.#view = new DataView(this.#memory.buffer);
      this.words = new Int32Array(this.#memory.buffer);
      this.#showWindow();
    }
    this.#end = at + bytes;
    return at;
  }

  #placeTable(places: number): void {
    this.#places = this.#allocate(places * 8) / 4;
    this.#placesMask = places - 1;
    this.#set(ROWS_MEMORY.places, this.#places * 4);
    this.#set(ROWS_MEMORY.placesMask, this.#placesMask);
  }

  #growRests(rests: number): void {
    const at = this.#allocate(rests * REST_WORDS * 4) / 4;
    this.words.copyWithin(at, this.#rests, this.#rests + this.#size * REST_WORDS);
    this.#rests = at;
    this.#restsMax = rests;
    this.#set(ROWS_MEMORY.rests, at * 4);
  }

  templateOf(rest: number): number {
    return this.words[this.#rests + rest * REST_WORDS + TEMPLATE] as number;
  }

  chainOf(rest: number): ChainId {
    return CHAIN_IDS[this.words[this.#rests + rest * REST_WORDS + CHAIN] as number] as ChainId;
  }

  #showWindow(): void {
    if (this.#windowBytes > 0)
      this.window = Buffer.from(this.#memory.buffer, this.#windowAt, this.#windowBytes);
  }

  /** Copies a window to the memory of the kernel, for `readRows`. */
  loadWindow(bytes: Buffer, length: number): void {
    if (this.#kernel === null) {
      this.window = bytes;
      return;
    }
    if (length > this.#windowBytes) {
      this.#windowAt = this.#allocate(length + SLACK_BYTES);
      this.#windowBytes = length;
      this.#set(ROWS_MEMORY.window, this.#windowAt);
    }
    this.#showWindow();
    this.#bytes.set(bytes.subarray(0, length), this.#windowAt);
  }

  /**
   * Reads at most KERNEL_ROWS plain rows of the window, from the start of a row.
   *
   * @returns their number; 0 if the next row is not plain: it is quoted, empty, or has another number of columns
   */
  readRows(from: number, length: number): number {
    return this.#kernel === null ? 0 : this.#kernel.rows(from, length);
  }

  /**
   * Returns the number of the rest of a row with column starts from `words[columns]` on; NO_REST if the table is full. `bytes` are
   * those of the window.
   */
  find(bytes: Buffer, view: DataView, columns: number): number {
    const length = this.#measure(view, columns);
    const hash = this.#hash;
    const { words } = this;
    for (let place = hash & this.#placesMask; ; place = (place + 1) & this.#placesMask) {
      const at = this.#places + 2 * place;
      const rest = (words[at + 1] as number) - 1;
      if (rest < 0) break;
      if (words[at] === hash && this.#isSame(rest, length, view, columns)) return rest;
    }
    // A file with only distinct rests gains nothing here: once the table is full, its rows take the slow path.
    const isFull = this.#size >= LABEL_LIMITS.labelTemplatesMax || this.#end >= FULL_FROM_BYTES;
    return isFull ? NO_REST : this.#add(bytes, length, columns);
  }

  /** Hashes the rest into `#hash`, in four lanes of words as the kernel does; returns its length in the arena. */
  #measure(view: DataView, columns: number): number {
    const { words } = this;
    let a = HASH_START;
    let b = HASH_START;
    let c = HASH_START;
    let d = HASH_START;
    let length = 0;
    for (const [first, last] of this.#runs) {
      const from = words[columns + first] as number;
      // Adjacent columns are hashed together with the commas between them: the end of each run is the comma after it.
      const bytes = (words[columns + last + 1] as number) - 1 - from;
      const end = from + bytes;
      for (let at = from; at < end; at += 16) {
        a = mixed(a, wordBefore(view, at, end));
        b = mixed(b, wordBefore(view, at + 4, end));
        c = mixed(c, wordBefore(view, at + 8, end));
        d = mixed(d, wordBefore(view, at + 12, end));
      }
      length += bytes + 1;
    }
    let hash = Math.imul(a ^ length, HASH_LANE);
    hash = Math.imul(hash ^ (hash >>> 15) ^ b, HASH_END);
    hash = Math.imul(hash ^ (hash >>> 13) ^ c, HASH_LANE);
    hash = Math.imul(hash ^ (hash >>> 15) ^ d, HASH_END);
    this.#hash = hash ^ (hash >>> 16);
    return length;
  }

  #isSame(rest: number, length: number, view: DataView, columns: number): boolean {
    const { words } = this;
    if (words[this.#rests + rest * REST_WORDS + LENGTH] !== length) return false;
    let stored = words[this.#rests + rest * REST_WORDS] as number;
    for (const [first, last] of this.#runs) {
      const from = words[columns + first] as number;
      const bytes = (words[columns + last + 1] as number) - 1 - from;
      for (let at = 0; at < bytes; at += 4) {
        if (wordBefore(this.#view, stored + at, stored + bytes) !== wordBefore(view, from + at, from + bytes))
          return false;
      }
      stored += bytes;
      if (this.#bytes[stored++] !== COMMA) return false;
    }
    return true;
  }

  #add(bytes: Buffer, length: number, columns: number): number {
    const hash = this.#hash;
    if (this.#arenaEnd + length + SLACK_BYTES > this.#arenaLimit) {
      const piece = Math.max(PIECE_BYTES, length + SLACK_BYTES);
      this.#arenaEnd = this.#allocate(piece);
      this.#arenaLimit = this.#arenaEnd + piece;
    }
    if (this.#size === this.#restsMax) this.#growRests(this.#restsMax * 2);
    const rest = this.#size++;
    const at = this.#rests + rest * REST_WORDS;
    this.words[at] = this.#arenaEnd;
    this.words[at + LENGTH] = length;
    this.words[at + TEMPLATE] = UNEXPLAINED;
    for (const [first, last] of this.#runs) {
      const from = this.words[columns + first] as number;
      const end = (this.words[columns + last + 1] as number) - 1;
      this.#bytes.set(bytes.subarray(from, end), this.#arenaEnd);
      this.#arenaEnd += end - from;
      this.#bytes[this.#arenaEnd++] = COMMA;
    }
    if (this.#size * 2 > this.#placesMask + 1) this.#growPlaces();
    this.#settle(hash, rest);
    return rest;
  }

  #settle(hash: number, rest: number): void {
    const { words } = this;
    let place = hash & this.#placesMask;
    while (words[this.#places + 2 * place + 1] !== 0) place = (place + 1) & this.#placesMask;
    words[this.#places + 2 * place] = hash;
    words[this.#places + 2 * place + 1] = rest + 1;
  }

  #growPlaces(): void {
    const before = this.#places;
    const places = this.#placesMask + 1;
    this.#placeTable(places * 2);
    for (let at = before; at < before + 2 * places; at += 2) {
      const numbered = this.words[at + 1] as number;
      if (numbered !== 0) this.#settle(this.words[at] as number, numbered - 1);
    }
  }

  /** See WindowReader.takeFresh. */
  takeFresh(): Uint8Array<ArrayBuffer> | null {
    if (this.#fresh === this.#size) return null;
    let length = 0;
    for (let rest = this.#fresh; rest < this.#size; rest++)
      length += (this.words[this.#rests + rest * REST_WORDS + LENGTH] as number) + 1;
    const fresh = new Uint8Array(length);
    let end = 0;
    for (; this.#fresh < this.#size; this.#fresh++) {
      const at = this.#rests + this.#fresh * REST_WORDS;
      const start = this.words[at] as number;
      const bytes = this.words[at + LENGTH] as number;
      fresh.set(this.#bytes.subarray(start, start + bytes), end);
      end += bytes;
      fresh[end++] = LINE_FEED;
    }
    return fresh;
  }

  /** See WindowReader.explain. */
  explain(answers: Int32Array): void {
    for (let at = 0; at < answers.length; at += 2, this.#explained++) {
      this.words[this.#rests + this.#explained * REST_WORDS + CHAIN] = answers[at] as number;
      this.words[this.#rests + this.#explained * REST_WORDS + TEMPLATE] = answers[at + 1] as number;
    }
  }
}

/** Joins adjacent columns. */
function runsOf(columns: readonly number[]): readonly (readonly [first: number, last: number])[] {
  const runs: (readonly [number, number])[] = [];
  for (const column of columns) {
    const run = runs.at(-1);
    if (run && run[1] === column - 1) runs[runs.length - 1] = [run[0], column];
    else runs.push([column, column]);
  }
  return runs;
}

function mixed(lane: number, word: number): number {
  const product = Math.imul(lane ^ word, HASH_WORD);
  return product ^ (product >>> 15);
}

/** Returns the four bytes at `at` as a word, with zeros for those from `end` on. The view has SLACK_BYTES after `end`. */
function wordBefore(view: DataView, at: number, end: number): number {
  const left = end - at;
  if (left >= 4) return view.getInt32(at, true);
  return left <= 0 ? 0 : view.getInt32(at, true) & (0xffffff >>> (24 - 8 * left));
}
