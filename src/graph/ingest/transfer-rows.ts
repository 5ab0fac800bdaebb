/**
 * Reads the plain rows of a CSV of transfers of an EVM chain, many at a time, by a WebAssembly kernel that the build assembles
 * (scripts/kernels/transfer-rows.ts). It stops before a row of any other form, which bulk-rows.ts reads. A row that the kernel accepts has
 * the values that bulk-rows.ts would read; checks that need the tables of assets and prices are left to it.
 */
import { type KernelMemory, loadKernel } from '../../base/kernel.ts';
import { batchFormOf } from '../../chains/address/parse.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { TransferColumns } from '../store/run-columns.ts';

/** Rows that the kernel reads at a time: few enough that their columns fit into the first cache of a processor. */
export const KERNEL_ROWS = 128;
/** Words of the key of an EVM address, padded with zeros, and its bytes. */
export const EVM_KEY_WORDS = 6;
export const EVM_KEY_BYTES = 22;
/** Bytes of a packed transaction id of an EVM chain. */
export const EVM_TRANSACTION_BYTES = 33;
/** The longest text of a time or an asset that the kernel compares. */
const TEXT_BYTES_MAX = 64;
/** Texts of assets that the kernel knows, a power of two. One slot for each hash: a row with an evicted text is read by bulk-rows.ts. */
export const ASSET_SLOTS = 1024;
/** Bytes of a slot: length and number of the asset, then its text. */
export const ASSET_SLOT_BYTES = 80;

/** Places in the kernel's memory, in bytes. Numbers have 32 bits, times 64. */
export const TRANSFER_ROWS_MEMORY = {
  lastColumn: 0,
  /** Places of the columns in a row, in the order of `COLUMNS`. */
  places: 4,
  /** Number of columns whose cells must be empty, and their places. */
  empties: 40,
  firstEmpty: 44,
  rowsMax: 304,
  /** First bytes of an address key. */
  keyHead: 308,
  /** The latest time that is read as digits. */
  timeMax: 312,
  /** Length, value and text of a time that is not digits. */
  timeLength: 320,
  time: 328,
  timeText: 336,
  /** Secret of the fingerprints, and the seed of the hashes of address keys. */
  secret: 400,
  seed: 408,
  /** Start and end of each cell of a row. */
  starts: 512,
  ends: 1024,
  assetSlots: 2048,
  columns: 2048 + ASSET_SLOTS * ASSET_SLOT_BYTES,
  window: 1 << 17,
} as const;

/** Columns that every row has. The kernel knows them by their order. */
export const COLUMNS = [
  'txHash',
  'position',
  'blockNumber',
  'timestamp',
  'from',
  'to',
  'asset',
  'amount',
  'valueUsd',
] as const;

const WIDE = KERNEL_ROWS * 8;
const NARROW = KERNEL_ROWS * 4;
const FIRST = TRANSFER_ROWS_MEMORY.columns;

/** Places of the columns that the kernel writes. */
export const ROW_COLUMNS_AT = {
  times: FIRST,
  blocks: FIRST + WIDE,
  cents: FIRST + 2 * WIDE,
  positions: FIRST + 3 * WIDE,
  /** Three words each, lowest first. */
  amounts: FIRST + 4 * WIDE,
  highs: FIRST + 4 * WIDE + 3 * NARROW,
  lows: FIRST + 4 * WIDE + 4 * NARROW,
  assets: FIRST + 4 * WIDE + 5 * NARROW,
  /** Offset in the window behind each row. */
  rowEnds: FIRST + 4 * WIDE + 6 * NARROW,
  /** Two keys for each row, and their hashes: the sender and the receiver. */
  hashes: FIRST + 4 * WIDE + 7 * NARROW,
  keys: FIRST + 4 * WIDE + 9 * NARROW,
  /** 0 if there is no sender or receiver. */
  present: FIRST + 4 * WIDE + (9 + 2 * EVM_KEY_WORDS) * NARROW,
  transactions: FIRST + 4 * WIDE + (9 + 2 * EVM_KEY_WORDS) * NARROW + 2 * KERNEL_ROWS,
} as const;

interface Kernel extends KernelMemory {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** Reads rows of the window from an offset up to another, at most `rowsMax`. Returns their number. */
  readonly rows: (from: number, end: number) => number;
  /** Returns the slot of the text of an asset between two offsets of the window. */
  readonly assetSlot: (start: number, end: number) => number;
}

/** The layout of a file. */
export interface RowLayout {
  readonly chain: ChainId;
  readonly names: readonly string[];
  /** Columns in which a value sends the row to bulk-rows.ts. */
  readonly empties: readonly number[];
}

/** Reads plain rows of a window. Its columns are those of the rows that were read last. */
export class TransferRows implements TransferColumns {
  /** The memory of the window, which the caller fills. */
  readonly window: Buffer;
  readonly times: Float64Array;
  readonly blocks: Float64Array;
  readonly cents: Float64Array;
  readonly positions: Float64Array;
  readonly amounts: Uint32Array;
  readonly highs: Uint32Array;
  readonly lows: Uint32Array;
  /** As passed to `learnAsset`. */
  readonly assets: Uint32Array;
  readonly rowEnds: Uint32Array;
  readonly hashes: Uint32Array;
  readonly keys: Uint32Array;
  readonly present: Uint8Array;
  readonly transactions: Uint8Array;
  readonly #kernel: Kernel;
  readonly #view: DataView;
  readonly #bytes: Uint8Array;

  private constructor(
    kernel: Kernel,
    { chain, names, empties }: RowLayout,
    secret: Uint8Array,
    bytes: number,
  ) {
    const { memory } = kernel;
    const at = TRANSFER_ROWS_MEMORY;
    memory.grow(Math.ceil((at.window + bytes + 64 - memory.buffer.byteLength) / 65_536));
    const { buffer } = memory;
    this.#kernel = kernel;
    this.#view = new DataView(buffer);
    this.#bytes = new Uint8Array(buffer);
    this.window = Buffer.from(buffer, at.window, bytes);
    const columns = ROW_COLUMNS_AT;
    const rows = KERNEL_ROWS;
    this.times = new Float64Array(buffer, columns.times, rows);
    this.blocks = new Float64Array(buffer, columns.blocks, rows);
    this.cents = new Float64Array(buffer, columns.cents, rows);
    this.positions = new Float64Array(buffer, columns.positions, rows);
    this.amounts = new Uint32Array(buffer, columns.amounts, rows * 3);
    this.highs = new Uint32Array(buffer, columns.highs, rows);
    this.lows = new Uint32Array(buffer, columns.lows, rows);
    this.assets = new Uint32Array(buffer, columns.assets, rows);
    this.rowEnds = new Uint32Array(buffer, columns.rowEnds, rows);
    this.hashes = new Uint32Array(buffer, columns.hashes, rows * 2);
    this.keys = new Uint32Array(buffer, columns.keys, rows * 2 * EVM_KEY_WORDS);
    this.present = new Uint8Array(buffer, columns.present, rows * 2);
    this.transactions = new Uint8Array(buffer, columns.transactions, rows * EVM_TRANSACTION_BYTES);
    const set = (place: number, value: number): void => this.#view.setInt32(place, value, true);
    set(at.lastColumn, names.length - 1);
    for (const [index, name] of COLUMNS.entries()) set(at.places + index * 4, names.indexOf(name));
    set(at.empties, empties.length);
    for (const [index, empty] of empties.entries()) set(at.firstEmpty + index * 4, empty);
    const form = batchFormOf(chain) as { readonly keyByte: number; readonly kind: number };
    set(at.keyHead, form.keyByte | (form.kind << 8));
    this.#bytes.set(secret.subarray(0, 8), at.secret);
  }

  /**
   * Returns a reader for a file, or null if the chain has other addresses or the kernel cannot run.
   *
   * @param secret - of the fingerprints of the store
   * @param windowBytes - size of the window
   */
  static of(layout: RowLayout, secret: Uint8Array, windowBytes: number): TransferRows | null {
    if (batchFormOf(layout.chain)?.type !== 'evm') return null;
    const kernel = loadKernel<Kernel>('transfer-rows');
    return kernel && new TransferRows(kernel, layout, secret, windowBytes);
  }

  /**
   * Reads rows from an offset of the window up to another, at which a row ends.
   *
   * @param rowsMax - the most rows to read
   * @param seed - of the hashes of address keys
   * @param timeMaxMs - latest time of a row
   * @returns the number of rows; 0 if the next one is not plain
   */
  read(
    from: number,
    end: number,
    { rowsMax, seed, timeMaxMs }: { rowsMax: number; seed: number; timeMaxMs: number },
  ): number {
    const at = TRANSFER_ROWS_MEMORY;
    this.#view.setInt32(at.rowsMax, Math.min(rowsMax, KERNEL_ROWS), true);
    this.#view.setInt32(at.seed, seed, true);
    this.#view.setFloat64(at.timeMax, timeMaxMs, true);
    return this.#kernel.rows(from, end);
  }

  /** The rows with this text of an asset between two offsets of the window get its number from now on. */
  learnAsset(start: number, end: number, number: number): void {
    if (end - start > TEXT_BYTES_MAX) return;
    const slot = this.#kernel.assetSlot(start, end);
    this.#view.setInt32(slot, end - start, true);
    this.#view.setInt32(slot + 4, number, true);
    this.#bytes.set(this.window.subarray(start, end), slot + 8);
  }

  /** Rows with this text of a time have this time from now on. Text that is all digits is read without it. */
  learnTime(start: number, end: number, timeMs: number): void {
    if (end - start > TEXT_BYTES_MAX) return;
    const at = TRANSFER_ROWS_MEMORY;
    this.#view.setInt32(at.timeLength, end - start, true);
    this.#view.setFloat64(at.time, timeMs, true);
    this.#bytes.set(this.window.subarray(start, end), at.timeText);
  }
}
