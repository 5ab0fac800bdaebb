/**
 * The transfers of a run of a bulk load in memory, as columns that two threads share. While one thread writes filled columns as sorted
 * runs, the other fills the next columns with rows.
 */

import { GRAPH_LIMITS } from '../limits.ts';
import { KeyTable } from './key-table.ts';

/** Bytes of a packed transaction id of the common form, used to size the memory. */
const TRANSACTION_BYTES = 33;
const TRANSACTION_BYTES_MAX = 1 + GRAPH_LIMITS.txHashTextMax;
/** Addresses that a row passes: two, and both again if its usual form was not enough. */
const ROW_ADDRESSES_MAX = 4;
/** Columns of 8 and of 4 bytes. */
const WIDE_COLUMNS = 4;
const NARROW_COLUMNS = 7;

/** One input transfer. The object is reused for all rows. */
export class BulkTransfer {
  /** Packed transaction id in the format of fingerprint.ts. */
  readonly transaction = Buffer.alloc(TRANSACTION_BYTES_MAX);
  transactionLength = 0;
  /** `positionCode`, or -1 if the position is in `positionText`. */
  position = 0;
  positionText = '';
  blockNumber = 0;
  timestampMs = 0;
  /** As returned by `RunFiller.addAddress`. 0 if there is no sender or receiver. */
  from = 0;
  to = 0;
  asset = 0;
  /** Whole cents. -1 if no price is known. */
  cents = -1;
  /** Words of 32 bits, used if `large` is null. */
  amountLow = 0;
  amountMiddle = 0;
  amountHigh = 0;
  large: bigint | null = null;
  /** How its transaction was started (initiation.ts). */
  initiation = 0;

  setAmount(amount: bigint): void {
    this.large = amount < 1n << 96n ? null : amount;
    this.amountLow = Number(amount & 0xffff_ffffn);
    this.amountMiddle = Number((amount >> 32n) & 0xffff_ffffn);
    this.amountHigh = Number((amount >> 64n) & 0xffff_ffffn);
  }
}

/** Allocates the memory of the columns of `capacity` transfers. */
export const columnMemory = (capacity: number): SharedArrayBuffer =>
  new SharedArrayBuffer(
    capacity * (WIDE_COLUMNS * 8 + NARROW_COLUMNS * 4 + 1 + TRANSACTION_BYTES) + 8 + TRANSACTION_BYTES_MAX,
  );

/** Views of the columns in shared memory. */
export class RunColumns {
  readonly times: Float64Array;
  readonly blocks: Float64Array;
  readonly cents: Float64Array;
  readonly positions: Float64Array;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly asset: Uint32Array;
  /** Three words each, lowest first. */
  readonly amounts: Uint32Array;
  /** End of each transaction id in `transactions`. The first id starts at 0. */
  readonly transactionEnds: Uint32Array;
  readonly transactions: Uint8Array;
  readonly initiations: Uint8Array;

  constructor(memory: SharedArrayBuffer, capacity: number) {
    let at = 0;
    const wide = (): Float64Array => {
      const column = new Float64Array(memory, at, capacity);
      at += column.byteLength;
      return column;
    };
    const narrow = (words: number): Uint32Array => {
      const column = new Uint32Array(memory, at, words);
      at += column.byteLength;
      return column;
    };
    this.times = wide();
    this.blocks = wide();
    this.cents = wide();
    this.positions = wide();
    this.from = narrow(capacity);
    this.to = narrow(capacity);
    this.asset = narrow(capacity);
    this.amounts = narrow(capacity * 3);
    this.transactionEnds = narrow(capacity + 1);
    this.initiations = new Uint8Array(memory, at, capacity);
    this.transactions = new Uint8Array(memory, at + capacity);
  }
}

/** Filled columns, and the values that do not fit into them. */
export interface FilledRun {
  /** Index of the columns. */
  readonly slot: number;
  readonly count: number;
  /** Addresses that were not in an earlier run, in the format of `keysIn`. */
  readonly keys: Uint32Array<ArrayBuffer>;
  /** Whether address numbers restart with the next run. */
  readonly isLastOfNumbers: boolean;
  /** By their numbers in this run, starting at 1. */
  readonly assets: readonly { readonly asset: string; readonly decimals: number | null }[];
  /** Positions that are not of a common form. */
  readonly positionTexts: ReadonlyMap<number, string>;
  /** Amounts of 2^96 and more. */
  readonly large: ReadonlyMap<number, bigint>;
}

/** Fills one run after another. */
export class RunFiller {
  readonly #slots: readonly RunColumns[];
  readonly #capacity: number;
  #slot = 0;
  #columns: RunColumns;
  #keys = new KeyTable();
  #assets = new Map<string, number>();
  #assetNames: { asset: string; decimals: number | null }[] = [];
  #positionTexts = new Map<number, string>();
  #large = new Map<number, bigint>();
  #bytes = 0;
  /** Transfers of the run whose addresses have been looked up. */
  #settled = 0;
  count = 0;

  /** `memories`: the memory of the columns that are filled in turn, each for `capacity` transfers. */
  constructor(memories: readonly SharedArrayBuffer[], capacity: number) {
    this.#slots = memories.map((memory) => new RunColumns(memory, capacity));
    this.#capacity = capacity;
    this.#columns = this.#slots[0] as RunColumns;
  }

  get isFull(): boolean {
    return (
      this.count === this.#capacity || this.#bytes + TRANSACTION_BYTES_MAX > this.#columns.transactions.length
    );
  }

  /** Called before each row. Addresses are looked up many at a time, and all of a row together. */
  beginRow(): void {
    if (!this.#keys.hasRoomFor(ROW_ADDRESSES_MAX)) this.#settle();
  }

  /** Passes the key of an address. Returns its number for the transfer of the same row. */
  addAddress(key: Uint8Array, start: number, end: number): number {
    return this.#keys.add(key, start, end) + 1;
  }

  /** Looks up the addresses that wait. The transfers of the run then have numbers of this load. */
  #settle(): void {
    const numbers = this.#keys.settle();
    const { from, to } = this.#columns;
    for (let at = this.#settled; at < this.count; at++) {
      const sender = from[at] as number;
      const receiver = to[at] as number;
      if (sender !== 0) from[at] = numbers[sender - 1] as number;
      if (receiver !== 0) to[at] = numbers[receiver - 1] as number;
    }
    this.#settled = this.count;
  }

  /** Returns the number of an asset. */
  assetNumber(asset: string, decimals: number | null): number {
    const known = this.#assets.get(asset);
    if (known !== undefined) return known;
    const number = this.#assetNames.push({ asset, decimals });
    this.#assets.set(asset, number);
    return number;
  }

  /** Adds a transfer. The run must not be full. */
  add(transfer: BulkTransfer): void {
    const at = this.count++;
    const columns = this.#columns;
    columns.from[at] = transfer.from;
    columns.to[at] = transfer.to;
    columns.asset[at] = transfer.asset;
    columns.times[at] = transfer.timestampMs;
    columns.blocks[at] = transfer.blockNumber;
    columns.cents[at] = transfer.cents;
    columns.initiations[at] = transfer.initiation;
    columns.amounts[at * 3] = transfer.amountLow;
    columns.amounts[at * 3 + 1] = transfer.amountMiddle;
    columns.amounts[at * 3 + 2] = transfer.amountHigh;
    if (transfer.large !== null) this.#large.set(at, transfer.large);
    columns.positions[at] = transfer.position;
    if (transfer.position < 0) this.#positionTexts.set(at, transfer.positionText);
    const { transaction, transactionLength } = transfer;
    const { transactions } = columns;
    const start = this.#bytes;
    for (let byte = 0; byte < transactionLength; byte++)
      transactions[start + byte] = transaction[byte] as number;
    this.#bytes = start + transactionLength;
    columns.transactionEnds[at + 1] = this.#bytes;
  }

  /** Returns the filled run, and starts the next one in the next columns. */
  take(): FilledRun {
    this.#settle();
    const isLastOfNumbers = this.#keys.count > GRAPH_LIMITS.bulkAddressesKept;
    const filled: FilledRun = {
      slot: this.#slot,
      count: this.count,
      keys: this.#keys.takeFresh(),
      isLastOfNumbers,
      assets: this.#assetNames,
      positionTexts: this.#positionTexts,
      large: this.#large,
    };
    if (isLastOfNumbers) this.#keys = new KeyTable();
    this.#assets = new Map();
    this.#assetNames = [];
    this.#positionTexts = new Map();
    this.#large = new Map();
    this.#bytes = 0;
    this.#settled = 0;
    this.count = 0;
    this.#slot = (this.#slot + 1) % this.#slots.length;
    this.#columns = this.#slots[this.#slot] as RunColumns;
    return filled;
  }
}
