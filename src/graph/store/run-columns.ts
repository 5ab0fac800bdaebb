/**
 * The transfers of a run of a bulk load in memory, as columns that two threads share. While one thread writes filled columns as sorted
 * runs, the other fills the next columns with rows.
 */

import { GRAPH_LIMITS } from '../limits.ts';
import { Fingerprinter } from './fingerprint.ts';
import { UNKNOWN_INITIATION } from './initiation.ts';
import { KeyTable } from './key-table.ts';

/** Bytes of a packed transaction id of the common form, used to size the memory. */
const TRANSACTION_BYTES = 33;
const TRANSACTION_BYTES_MAX = 1 + GRAPH_LIMITS.txHashTextMax;
/** Addresses that a row passes: two, and both again if its usual form was not enough. */
const ROW_ADDRESSES_MAX = 4;
/** Columns of 8 and of 4 bytes. */
const WIDE_COLUMNS = 4;
const NARROW_COLUMNS = 9;

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
  /** Fingerprints of the transactions (`Fingerprinter`). */
  readonly highs: Uint32Array;
  readonly lows: Uint32Array;
  readonly transactions: Uint8Array;
  readonly initiations: Uint8Array;

  readonly memory: SharedArrayBuffer;
  readonly capacity: number;

  constructor(memory: SharedArrayBuffer, capacity: number) {
    this.memory = memory;
    this.capacity = capacity;
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
    this.highs = narrow(capacity);
    this.lows = narrow(capacity);
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

/** Transfers as columns, each with a transaction id of the common form and the keys of both sides, all of one length. */
export interface TransferColumns {
  readonly times: Float64Array;
  readonly blocks: Float64Array;
  readonly cents: Float64Array;
  readonly positions: Float64Array;
  readonly amounts: Uint32Array;
  readonly highs: Uint32Array;
  readonly lows: Uint32Array;
  readonly transactions: Uint8Array;
  /** Numbers of `assetNumber`. */
  readonly assets: Uint32Array;
  /** Sender and receiver of each transfer, as for `KeyTable.numberAll`. */
  readonly keys: Uint32Array;
  readonly hashes: Uint32Array;
  readonly present: Uint8Array;
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
  readonly #fingerprint: Fingerprinter;
  #numbers = new Uint32Array(0);
  count = 0;

  /**
   * @param memories - memory of the columns that are filled in turn, each for `capacity` transfers
   * @param secret - of the fingerprints
   */
  constructor(memories: readonly SharedArrayBuffer[], capacity: number, secret: Uint8Array) {
    this.#fingerprint = new Fingerprinter(secret);
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
    if (known !== undefined) {
      if (decimals !== null && this.#assetNames[known - 1]?.decimals === null)
        this.#assetNames[known - 1] = { asset, decimals };
      return known;
    }
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
    this.#fingerprint.hash(transaction, 0, transactionLength);
    columns.highs[at] = this.#fingerprint.high;
    columns.lows[at] = this.#fingerprint.low;
  }

  /** Of the hashes of the next keys for `addAll`. */
  get seed(): number {
    return this.#keys.seed;
  }

  /** The most transfers with ids of the common form that the run has room for: with these it is full. */
  get room(): number {
    const bytes = this.#columns.transactions.length - TRANSACTION_BYTES_MAX - this.#bytes;
    return Math.min(this.#capacity - this.count, Math.floor(bytes / TRANSACTION_BYTES) + 1);
  }

  /**
   * Adds the transfers from `from` to `to - 1`. The run must have room for them.
   *
   * @param keyLength - bytes of each key
   */
  addAll(added: TransferColumns, from: number, to: number, keyLength: number): void {
    if (to === from) return;
    this.#settle();
    if (this.#numbers.length < added.hashes.length) this.#numbers = new Uint32Array(added.hashes.length);
    const numbers = this.#numbers;
    this.#keys.numberAll(added, { from: from * 2, to: to * 2, length: keyLength }, numbers);
    const { count } = this;
    const columns = this.#columns;
    let bytes = this.#bytes;
    for (let place = from, at = count; place < to; place++, at++) {
      columns.from[at] = numbers[place * 2] as number;
      columns.to[at] = numbers[place * 2 + 1] as number;
      bytes += TRANSACTION_BYTES;
      columns.transactionEnds[at + 1] = bytes;
    }
    columns.asset.set(added.assets.subarray(from, to), count);
    columns.times.set(added.times.subarray(from, to), count);
    columns.blocks.set(added.blocks.subarray(from, to), count);
    columns.cents.set(added.cents.subarray(from, to), count);
    columns.positions.set(added.positions.subarray(from, to), count);
    columns.amounts.set(added.amounts.subarray(from * 3, to * 3), count * 3);
    columns.highs.set(added.highs.subarray(from, to), count);
    columns.lows.set(added.lows.subarray(from, to), count);
    columns.initiations.fill(UNKNOWN_INITIATION, count, count + to - from);
    columns.transactions.set(
      added.transactions.subarray(from * TRANSACTION_BYTES, to * TRANSACTION_BYTES),
      this.#bytes,
    );
    this.#bytes = bytes;
    this.count += to - from;
    this.#settled = this.count;
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
