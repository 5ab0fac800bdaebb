/**
 * The transfers of a run of a bulk load while they are in memory: columns that two threads share. One fills them with rows, the other
 * writes them as sorted runs, and meanwhile the first fills the next.
 */
import { LIMITS } from '../../base/limits.ts';
import { KeyTable } from './key-table.ts';

/** Bytes of a packed transaction id of the common form, which memory is reckoned by. */
const TRANSACTION_BYTES = 33;
const TRANSACTION_BYTES_MAX = 1 + LIMITS.txHashTextMax;
/** Columns of 8 and of 4 bytes. */
const WIDE_COLUMNS = 4;
const NARROW_COLUMNS = 7;

/** One transfer on its way in; reused from row to row. */
export class BulkTransfer {
  /** Packed transaction id, as fingerprint.ts has it. */
  readonly transaction = Buffer.alloc(TRANSACTION_BYTES_MAX);
  transactionLength = 0;
  /** `positionCode`, or -1 where `positionText` says it. */
  position = 0;
  positionText = '';
  blockNumber = 0;
  timestampMs = 0;
  /** Numbers of this load; 0 is nobody. */
  from = 0;
  to = 0;
  asset = 0;
  /** Whole cents; -1 where no price is known. */
  cents = -1;
  /** Words of 32 bits, where `large` is null. */
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

/** Memory of the columns of `capacity` transfers. */
export const columnMemory = (capacity: number): SharedArrayBuffer =>
  new SharedArrayBuffer(
    capacity * (WIDE_COLUMNS * 8 + NARROW_COLUMNS * 4 + 1 + TRANSACTION_BYTES) + 8 + TRANSACTION_BYTES_MAX,
  );

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
  /** Where the id of each ends in `transactions`; the first begins at 0. */
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

/** What stands in columns, and what does not fit them. */
export interface FilledRun {
  /** Which of the columns. */
  readonly slot: number;
  readonly count: number;
  /** Addresses that were not seen in a run before, as `keysIn` reads them. */
  readonly keys: Uint32Array<ArrayBuffer>;
  /** Whether the numbers of addresses begin anew with the next run. */
  readonly isLastOfNumbers: boolean;
  /** By their numbers in this run, from 1. */
  readonly assets: readonly { readonly asset: string; readonly decimals: number | null }[];
  /** Positions of no common form. */
  readonly positionTexts: ReadonlyMap<number, string>;
  /** Amounts of 2^96 and more. */
  readonly large: ReadonlyMap<number, bigint>;
}

/** Fills one run after the other. */
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
  count = 0;

  /** `memories`: of the columns that are filled in turn, each of `capacity` transfers. */
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

  /** The number of an address by its key. */
  addressNumber(key: Uint8Array, start: number, end: number): number {
    return this.#keys.numberOf(key, start, end);
  }

  /** The number of an asset. */
  assetNumber(asset: string, decimals: number | null): number {
    const known = this.#assets.get(asset);
    if (known !== undefined) return known;
    const number = this.#assetNames.push({ asset, decimals });
    this.#assets.set(asset, number);
    return number;
  }

  /** The run must not be full. */
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

  /** Hands over what was collected, and begins the next run in the next columns. */
  take(): FilledRun {
    const isLastOfNumbers = this.#keys.count > LIMITS.bulkAddressesKept;
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
    this.count = 0;
    this.#slot = (this.#slot + 1) % this.#slots.length;
    this.#columns = this.#slots[this.#slot] as RunColumns;
    return filled;
  }
}
