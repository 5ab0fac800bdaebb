/**
 * Writes the transfers of a bulk load from columns in memory into sorted runs on disk. Addresses and assets have numbers local to this
 * load. When a run is written, they get the store's ids in one transaction.
 */
import { AssayError } from '../../base/errors.ts';
import { FLUSHED_LATER } from '../../state/lmdb.ts';
import { ADDRESS_HASH_BYTES, AddressIds, addressHash } from './address-ids.ts';
import { assetId } from './batch.ts';
import { HalvesThread } from './bulk-halves.ts';
import {
  type ChainStore,
  type Coverage,
  NO_COVERAGE,
  NODE_ID_MAX,
  readState,
  writeState,
} from './chain-store.ts';
import { Fingerprinter, positionMark } from './fingerprint.ts';
import { keysIn } from './key-table.ts';
import { columnMemory, type FilledRun, RunColumns } from './run-columns.ts';
import { writeRunLog } from './run-log.ts';
import {
  bucketBits,
  MARK_WORDS,
  orderInBuckets,
  radixOrder,
  runFile,
  tally,
  toStarts,
  writeRun,
} from './runs.ts';

const TWO_32 = 2 ** 32;
/** Ids are assigned in ascending order, so that each is greater than all stored ones. */
const APPEND = { append: true };

const NOTHING: FilledRun = {
  slot: 0,
  count: 0,
  keys: new Uint32Array(0),
  isLastOfNumbers: false,
  assets: [],
  positionTexts: new Map(),
  large: new Map(),
};

/** Buffers for sorting a run, reused for the next one. */
interface RunMemory {
  readonly marks: Uint32Array;
  readonly orders: { readonly order: Uint32Array; readonly spare: Uint32Array };
}

const createMemory = (capacity: number): RunMemory => ({
  marks: new Uint32Array(capacity * MARK_WORDS),
  orders: { order: new Uint32Array(capacity * 2), spare: new Uint32Array(capacity * 2) },
});

/** Writes the runs of one load. */
export class BulkRun {
  readonly #store: ChainStore;
  readonly #fingerprint: Fingerprinter;
  readonly #capacity: number;
  /** The store's id for each address number of this load. */
  #ids = new Uint32Array(1024);
  #memory: RunMemory | null = null;
  #halves: HalvesThread | null = null;
  #filled: FilledRun = NOTHING;
  #columns = new RunColumns(columnMemory(0), 0);

  /** `capacity`: transfers per run. */
  constructor(store: ChainStore, capacity: number) {
    this.#store = store;
    this.#fingerprint = new Fingerprinter(store.salt);
    this.#capacity = capacity;
  }

  /**
   * Writes the columns as run number `run` into `folder`, durably. `firstIndex` is the number of its first transfer. Returns the coverage
   * of the run. `stop` must be called at the end.
   */
  async spill(
    folder: string,
    run: number,
    firstIndex: number,
    filled: FilledRun,
    columns: RunColumns,
  ): Promise<Coverage> {
    this.#filled = filled;
    this.#columns = columns;
    this.#memory ??= createMemory(this.#capacity);
    const { marks, orders } = this.#memory;
    const assets = this.#store.root.transactionSync(() => this.#giveIds(), FLUSHED_LATER);
    const { count } = filled;
    const { from, to, asset, blocks, times } = columns;
    const ids = this.#ids;
    let firstBlock = Number.POSITIVE_INFINITY;
    let lastBlock = 0;
    let newestMs = 0;
    let greatest = 0;
    for (let at = 0; at < count; at++) {
      const sender = ids[from[at] as number] as number;
      const receiver = ids[to[at] as number] as number;
      from[at] = sender;
      to[at] = receiver;
      asset[at] = assets[(asset[at] as number) - 1] as number;
      greatest = Math.max(greatest, sender, receiver);
      firstBlock = Math.min(firstBlock, blocks[at] as number);
      lastBlock = Math.max(lastBlock, blocks[at] as number);
      newestMs = Math.max(newestMs, times[at] as number);
    }
    this.#halves ??= new HalvesThread();
    const written = this.#halves.write({
      path: runFile(folder, run, 'halves'),
      memory: columns.memory,
      capacity: columns.capacity,
      count,
      firstIndex,
      greatest,
      large: new Set(filled.large.keys()),
    });
    // If this thread fails first, the failure of the other one is not reported.
    written.catch(() => {});
    const markShift = 32 - bucketBits(count);
    const markEnds = this.#placeMarks(marks, markShift, firstIndex);
    writeRunLog(runFile(folder, run, 'values'), firstIndex, filled, columns);
    const byMark = orderInBuckets(marks, MARK_WORDS, 0, markEnds, markShift, orders);
    settleTies(marks, byMark, count);
    writeRun(runFile(folder, run, 'marks'), marks, MARK_WORDS, byMark, count);
    await written;
    if (filled.isLastOfNumbers) this.#ids = new Uint32Array(1024);
    this.#filled = NOTHING;
    return count > 0 ? { firstBlock, lastBlock, newestMs } : NO_COVERAGE;
  }

  /** Ends the thread that writes halves. */
  async stop(): Promise<void> {
    const halves = this.#halves;
    this.#halves = null;
    await halves?.stop();
  }

  /** Assigns the store's ids to the keys of a run, and returns the ids of its assets. Runs inside a transaction. */
  #giveIds(): number[] {
    const store = this.#store;
    const state = readState(store);
    let { nextAddress, nextAsset } = state;
    const found = [...keysIn(this.#filled.keys)];
    const hashes = Buffer.allocUnsafe(found.length * ADDRESS_HASH_BYTES);
    const hashOf = (place: number): Buffer =>
      hashes.subarray(place * ADDRESS_HASH_BYTES, (place + 1) * ADDRESS_HASH_BYTES);
    for (const [place, { key }] of found.entries()) addressHash(this.#fingerprint, key, hashOf(place));
    const order = this.#hashOrder(hashes);
    const table = new AddressIds(store, this.#fingerprint);
    const ids = new Uint32Array(found.length);
    const keyAt = (place: number): Buffer => (found[place] as { readonly key: Buffer }).key;
    // Another process may have assigned an id in the meantime.
    if (nextAddress > 1) for (const place of order) ids[place] = table.find(keyAt(place), hashOf(place));
    const firstFresh = nextAddress;
    for (const [place, { number }] of found.entries()) {
      if (ids[place] === 0) ids[place] = nextAddress++;
      this.#setId(number, ids[place] as number);
    }
    if (nextAddress > NODE_ID_MAX)
      throw new AssayError(
        'INTERNAL',
        `The transfer store of ${store.chain} is full: all address ids are used.`,
      );
    for (const [place, { key }] of found.entries())
      if ((ids[place] as number) >= firstFresh) store.keys.putSync(ids[place] as number, key, APPEND);
    table.expect(nextAddress - firstFresh);
    for (const place of order)
      if ((ids[place] as number) >= firstFresh) table.add(keyAt(place), ids[place] as number, hashOf(place));
    table.finish();
    const assets = this.#filled.assets.map(({ asset, decimals }) => {
      const id = assetId(store, asset, decimals, nextAsset);
      if (id === nextAsset) nextAsset++;
      return id;
    });
    writeState(store, { ...state, nextAddress, nextAsset });
    return assets;
  }

  /** Orders addresses by their hashes, as the table of ids does. */
  #hashOrder(hashes: Buffer): Uint32Array {
    const count = hashes.length / ADDRESS_HASH_BYTES;
    const words = new Uint32Array(count);
    for (let place = 0; place < count; place++)
      words[place] = hashes.readUInt32BE(place * ADDRESS_HASH_BYTES);
    let { orders } = this.#memory as RunMemory;
    // Addresses of rejected rows have ids, too: there may be more than two for each transfer of the run.
    if (count > orders.order.length)
      orders = { order: new Uint32Array(count), spare: new Uint32Array(count) };
    return radixOrder(words, 1, 0, count, orders).subarray(0, count);
  }

  #setId(number: number, id: number): void {
    if (number >= this.#ids.length) {
      const ids = new Uint32Array(number * 2);
      ids.set(this.#ids);
      this.#ids = ids;
    }
    this.#ids[number] = id;
  }

  /** Places the marks in buckets by the bits from `shift` on. Returns the ends of the buckets. */
  #placeMarks(words: Uint32Array, shift: number, firstIndex: number): Uint32Array {
    const fingerprint = this.#fingerprint;
    const { positionTexts, count } = this.#filled;
    const { transactions: bytes, transactionEnds: ends, positions, from, to, highs, lows } = this.#columns;
    const places = new Uint32Array(2 ** (32 - shift));
    for (let at = 0; at < count; at++) tally(places, (highs[at] as number) >>> shift);
    toStarts(places);
    for (let at = 0; at < count; at++) {
      const high = highs[at] as number;
      const code = positions[at] as number;
      const mark = code >= 0 ? code : positionMark(positionTexts.get(at) as string, fingerprint);
      const place = tally(places, high >>> shift) * MARK_WORDS;
      words[place] = high;
      words[place + 1] = lows[at] as number;
      words[place + 2] = lastWord(bytes, at === 0 ? 0 : (ends[at] as number), ends[at + 1] as number);
      words[place + 3] = firstIndex + at;
      words[place + 4] = mark >>> 0;
      words[place + 5] = Math.floor(mark / TWO_32);
      words[place + 6] = from[at] as number;
      words[place + 7] = to[at] as number;
    }
    return places;
  }
}

/** The last four bytes as a number, as in `transactionKey`. Shorter ids are padded with zeros at the end. */
function lastWord(bytes: Uint8Array, start: number, end: number): number {
  let word = 0;
  const from = Math.max(start, end - 4);
  for (let at = from; at < from + 4; at++) word = (word << 8) | (at < end ? (bytes[at] as number) : 0);
  return word >>> 0;
}

/** Orders two transactions by fingerprint, then by number in the load. */
export function compareMarks(a: Uint32Array, aAt: number, b: Uint32Array, bAt: number): number {
  for (let word = 0; word < 4; word++) {
    const order = (a[aAt + word] as number) - (b[bAt + word] as number);
    if (order !== 0) return order;
  }
  return 0;
}

/** Sorts by the whole fingerprint what is already sorted by its first word. Ties are few and short, or one long transaction. */
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
