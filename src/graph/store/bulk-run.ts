/**
 * The transfers of a bulk load that are in memory: columns that rows are added to, and their way into sorted runs on disk. Addresses
 * and assets are numbers of this load until a run is written: then they get the store's ids, in one transaction.
 */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { assetId } from './batch.ts';
import { ByteWriter } from './bytes.ts';
import {
  type ChainStore,
  type Coverage,
  joinCoverage,
  NO_COVERAGE,
  NODE_ID_MAX,
  packId,
  readState,
  writeState,
} from './chain-store.ts';
import { Fingerprinter, packedLength, positionMark } from './fingerprint.ts';
import { KeyTable } from './key-table.ts';
import {
  FLAG_LARGE,
  FLAG_PRICED,
  HALF_AMOUNT,
  HALF_ASSET,
  HALF_CENTS,
  HALF_COUNTERPARTY,
  HALF_INDEX,
  HALF_NODE,
  HALF_TIME,
  HALF_WORDS,
  MARK_WORDS,
  radixOrder,
  writeRun,
} from './runs.ts';

const TWO_32 = 2 ** 32;
const LOG_WRITE_BYTES = 1 << 20;

/** One transfer on its way in; reused from row to row. */
export class BulkTransfer {
  /** Packed transaction id, as fingerprint.ts has it. */
  readonly transaction = Buffer.alloc(1 + LIMITS.txHashTextMax);
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

  setAmount(amount: bigint): void {
    this.large = amount < 1n << 96n ? null : amount;
    this.amountLow = Number(amount & 0xffff_ffffn);
    this.amountMiddle = Number((amount >> 32n) & 0xffff_ffffn);
    this.amountHigh = Number((amount >> 64n) & 0xffff_ffffn);
  }
}

/** Names of the files of one run. */
export const runFile = (folder: string, run: number, kind: 'halves' | 'marks' | 'log'): string =>
  `${folder}/${run}.${kind}`;

export class BulkRun {
  readonly #store: ChainStore;
  readonly #fingerprint: Fingerprinter;
  #keys = new KeyTable();
  /** The store's id of each number of this load; 0 where it has none yet. */
  #ids = new Uint32Array(1024);
  #assets = new Map<string, number>();
  #assetNames: { asset: string; decimals: number | null }[] = [];

  readonly #capacity: number;
  readonly #from: Uint32Array;
  readonly #to: Uint32Array;
  readonly #asset: Uint32Array;
  readonly #times: Float64Array;
  readonly #blocks: Float64Array;
  readonly #cents: Float64Array;
  readonly #amounts: Uint32Array;
  readonly #positions: Float64Array;
  readonly #transactions: ByteWriter;
  readonly #transactionEnds: Uint32Array;
  readonly #positionTexts = new Map<number, string>();
  readonly #large = new Map<number, bigint>();
  readonly #halves: Uint32Array;
  readonly #marks: Uint32Array;
  readonly #orders: { order: Uint32Array; spare: Uint32Array };
  count = 0;

  /** `capacity`: transfers of a run. */
  constructor(store: ChainStore, capacity: number) {
    this.#store = store;
    this.#fingerprint = new Fingerprinter(store.salt);
    this.#capacity = capacity;
    this.#from = new Uint32Array(capacity);
    this.#to = new Uint32Array(capacity);
    this.#asset = new Uint32Array(capacity);
    this.#times = new Float64Array(capacity);
    this.#blocks = new Float64Array(capacity);
    this.#cents = new Float64Array(capacity);
    this.#amounts = new Uint32Array(capacity * 3);
    this.#positions = new Float64Array(capacity);
    this.#transactions = new ByteWriter(capacity * 33);
    this.#transactionEnds = new Uint32Array(capacity + 1);
    this.#halves = new Uint32Array(capacity * 2 * HALF_WORDS);
    this.#marks = new Uint32Array(capacity * MARK_WORDS);
    this.#orders = { order: new Uint32Array(capacity * 2), spare: new Uint32Array(capacity * 2) };
  }

  get isFull(): boolean {
    return this.count === this.#capacity;
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

  add(transfer: BulkTransfer): void {
    const at = this.count++;
    this.#from[at] = transfer.from;
    this.#to[at] = transfer.to;
    this.#asset[at] = transfer.asset;
    this.#times[at] = transfer.timestampMs;
    this.#blocks[at] = transfer.blockNumber;
    this.#cents[at] = transfer.cents;
    this.#amounts[at * 3] = transfer.amountLow;
    this.#amounts[at * 3 + 1] = transfer.amountMiddle;
    this.#amounts[at * 3 + 2] = transfer.amountHigh;
    if (transfer.large !== null) this.#large.set(at, transfer.large);
    this.#positions[at] = transfer.position;
    if (transfer.position < 0) this.#positionTexts.set(at, transfer.positionText);
    this.#transactions.copy(transfer.transaction, 0, transfer.transactionLength);
    this.#transactionEnds[at + 1] = this.#transactions.length;
  }

  /**
   * Writes what was collected as run number `run` of `folder`, durably, with `firstIndex` as the number of its first transfer, and
   * begins anew. Returns what the run covers.
   */
  spill(folder: string, run: number, firstIndex: number): Coverage {
    const assets = this.#store.root.transactionSync(() => this.#giveIds());
    let coverage = NO_COVERAGE;
    const { count } = this;
    let halves = 0;
    for (let at = 0; at < count; at++) {
      this.#from[at] = this.#idOf(this.#from[at] as number);
      this.#to[at] = this.#idOf(this.#to[at] as number);
      this.#asset[at] = assets[(this.#asset[at] as number) - 1] as number;
      halves = this.#addHalves(at, halves, firstIndex + at);
      this.#addMark(at, firstIndex + at);
    }
    let firstBlock = Number.POSITIVE_INFINITY;
    let lastBlock = 0;
    let newestMs = 0;
    for (let at = 0; at < count; at++) {
      firstBlock = Math.min(firstBlock, this.#blocks[at] as number);
      lastBlock = Math.max(lastBlock, this.#blocks[at] as number);
      newestMs = Math.max(newestMs, this.#times[at] as number);
    }
    if (count > 0) coverage = joinCoverage(coverage, { firstBlock, lastBlock, newestMs });

    this.#writeLog(runFile(folder, run, 'log'));
    const byNode = radixOrder(this.#halves, HALF_WORDS, HALF_NODE, halves, this.#orders);
    writeRun(runFile(folder, run, 'halves'), this.#halves, HALF_WORDS, byNode, halves);
    const byMark = radixOrder(this.#marks, MARK_WORDS, 0, count, this.#orders);
    settleTies(this.#marks, byMark, count);
    writeRun(runFile(folder, run, 'marks'), this.#marks, MARK_WORDS, byMark, count);
    this.#clear();
    return coverage;
  }

  #clear(): void {
    this.count = 0;
    this.#transactions.length = 0;
    this.#positionTexts.clear();
    this.#large.clear();
    this.#assets.clear();
    this.#assetNames = [];
    if (this.#keys.count <= LIMITS.bulkAddressesKept) return;
    this.#keys = new KeyTable();
    this.#ids = new Uint32Array(1024);
  }

  #idOf(number: number): number {
    return number === 0 ? 0 : (this.#ids[number] as number);
  }

  /** Gives the store's ids to every number that has none; returns those of the run's assets. Runs inside a transaction. */
  #giveIds(): number[] {
    const store = this.#store;
    const state = readState(store);
    let { nextAddress, nextAsset } = state;
    if (this.#ids.length <= this.#keys.count) {
      const ids = new Uint32Array(this.#keys.count * 2);
      ids.set(this.#ids);
      this.#ids = ids;
    }
    const fresh: { key: Buffer; id: number }[] = [];
    for (let number = 1; number <= this.#keys.count; number++) {
      if (this.#ids[number] !== 0) continue;
      const key = this.#keys.keyOf(number);
      // Another process may have given it an id since.
      let id = nextAddress === 1 ? undefined : store.ids.getBinaryFast(key)?.readUInt32BE(0);
      if (id === undefined) {
        id = nextAddress + fresh.length;
        fresh.push({ key, id });
      }
      this.#ids[number] = id;
    }
    nextAddress += fresh.length;
    if (nextAddress > NODE_ID_MAX)
      throw new AssayError('INTERNAL', `The transfer store of ${store.chain} has no address id left.`);
    for (const { key, id } of fresh) store.keys.putSync(id, key);
    fresh.sort((a, b) => Buffer.compare(a.key, b.key));
    for (const { key, id } of fresh) store.ids.putSync(key, packId(id));
    const assets = this.#assetNames.map(({ asset, decimals }) => {
      const id = assetId(store, asset, decimals, nextAsset);
      if (id === nextAsset) nextAsset++;
      return id;
    });
    writeState(store, { ...state, nextAddress, nextAsset });
    return assets;
  }

  #addHalves(at: number, halves: number, index: number): number {
    const from = this.#from[at] as number;
    const to = this.#to[at] as number;
    let next = halves;
    if (from !== 0) this.#addHalf(next++, at, index, from * 2 + 1, to);
    if (to !== 0 && to !== from) this.#addHalf(next++, at, index, to * 2, from);
    return next;
  }

  #addHalf(half: number, at: number, index: number, node: number, counterparty: number): void {
    const words = this.#halves;
    const place = half * HALF_WORDS;
    const time = this.#times[at] as number;
    const cents = this.#cents[at] as number;
    words[place + HALF_NODE] = node;
    words[place + HALF_COUNTERPARTY] = counterparty;
    words[place + HALF_ASSET] = this.#asset[at] as number;
    words[place + HALF_INDEX] = index;
    words[place + HALF_TIME] = time >>> 0;
    words[place + HALF_TIME + 1] =
      Math.floor(time / TWO_32) | (cents >= 0 ? FLAG_PRICED : 0) | (this.#large.has(at) ? FLAG_LARGE : 0);
    words[place + HALF_CENTS] = cents >= 0 ? cents >>> 0 : 0;
    words[place + HALF_CENTS + 1] = cents >= 0 ? Math.floor(cents / TWO_32) : 0;
    for (let word = 0; word < 3; word++)
      words[place + HALF_AMOUNT + word] = this.#amounts[at * 3 + word] as number;
  }

  #addMark(at: number, index: number): void {
    const fingerprint = this.#fingerprint;
    const { bytes } = this.#transactions;
    const start = at === 0 ? 0 : (this.#transactionEnds[at] as number);
    const end = this.#transactionEnds[at + 1] as number;
    const code = this.#positions[at] as number;
    const mark = code >= 0 ? code : positionMark(this.#positionTexts.get(at) as string, fingerprint);
    fingerprint.hash(bytes, start, end);
    const words = this.#marks;
    const place = at * MARK_WORDS;
    words[place] = fingerprint.high;
    words[place + 1] = fingerprint.low;
    words[place + 2] = lastWord(bytes, start, end);
    words[place + 3] = index;
    words[place + 4] = mark >>> 0;
    words[place + 5] = Math.floor(mark / TWO_32);
    words[place + 6] = this.#from[at] as number;
    words[place + 7] = this.#to[at] as number;
  }

  /** The transfers of the run as the log has them, in their order. */
  #writeLog(path: string): void {
    const file = openSync(path, 'w');
    const out = new ByteWriter(LOG_WRITE_BYTES + 4096);
    try {
      for (let at = 0; at < this.count; at++) {
        this.#packRecord(out, at);
        if (out.length < LOG_WRITE_BYTES) continue;
        writeSync(file, out.bytes, 0, out.length);
        out.length = 0;
      }
      writeSync(file, out.bytes, 0, out.length);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  /** As `packTransfer` of log.ts, from columns. */
  #packRecord(out: ByteWriter, at: number): void {
    const start = out.length;
    out.byte(0);
    out.byte(0);
    const { bytes } = this.#transactions;
    const from = at === 0 ? 0 : (this.#transactionEnds[at] as number);
    const end = this.#transactionEnds[at + 1] as number;
    const tag = bytes[from] as number;
    out.byte(tag);
    if (packedLength(tag) === null) out.byte(end - from - 1);
    out.copy(bytes, from + 1, end);
    const code = this.#positions[at] as number;
    out.varint(Math.max(code, 0));
    if (code < 0) {
      const text = Buffer.from(this.#positionTexts.get(at) as string, 'utf8');
      out.byte(text.length);
      out.copy(text, 0, text.length);
    }
    out.varint(this.#blocks[at] as number);
    out.time(this.#times[at] as number);
    out.varint(this.#from[at] as number);
    out.varint(this.#to[at] as number);
    out.varint(this.#asset[at] as number);
    out.varint((this.#cents[at] as number) + 1);
    const large = this.#large.get(at);
    if (large !== undefined) out.amount(large);
    else {
      const amounts = this.#amounts;
      const [low, middle, high] = [amounts[at * 3], amounts[at * 3 + 1], amounts[at * 3 + 2]];
      out.amountWords(low as number, middle as number, high as number);
    }
    out.bytes.writeUInt16LE(out.length - start - 2, start);
  }
}

/** The last four bytes as a number, as `transactionKey` has them; shorter ids are filled with zeros behind. */
function lastWord(bytes: Uint8Array, start: number, end: number): number {
  let word = 0;
  const from = Math.max(start, end - 4);
  for (let at = from; at < from + 4; at++) word = (word << 8) | (at < end ? (bytes[at] as number) : 0);
  return word >>> 0;
}

/** Order of two transactions by fingerprint, then by number in the load. */
export function compareMarks(a: Uint32Array, aAt: number, b: Uint32Array, bAt: number): number {
  for (let word = 0; word < 4; word++) {
    const order = (a[aAt + word] as number) - (b[bAt + word] as number);
    if (order !== 0) return order;
  }
  return 0;
}

/** Orders by all of the fingerprint what is in the order of its first word: ties are few and short, or one long transaction. */
function settleTies(marks: Uint32Array, order: Uint32Array, count: number): void {
  for (let at = 1; at < count; at++) {
    const place = order[at] as number;
    let to = at;
    while (
      to > 0 &&
      compareMarks(marks, (order[to - 1] as number) * MARK_WORDS, marks, place * MARK_WORDS) > 0
    ) {
      order[to] = order[to - 1] as number;
      to--;
    }
    order[to] = place;
  }
}
