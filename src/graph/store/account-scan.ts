/**
 * Reads accounts for rules that judge many of them after each block: the newest transfers in columns and the ids of all receivers, without
 * the exact sums that answers need.
 */
import { ChunkView } from '../edge-chunk.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import { ByteWriter } from './bytes.ts';
import { type ChainRecords, lostRecord } from './chain-records.ts';
import { forEachHead } from './delta.ts';
import { cursorAt, LOG_CHUNK_TRANSFERS } from './log.ts';
import { LogCursor } from './log-chunk.ts';
import { addTransfer, createColumns, type LogColumns } from './log-scan.ts';
import { counterpartiesIn, forEachNewest } from './node-record.ts';

const OUT = 1;
const KEPT = GRAPH_LIMITS.recentTransfersPerAddress;

/** The accounts of one chain. Create one instance, and read one account after another: the columns are shared. */
export class AccountScan {
  readonly #records: ChainRecords;
  readonly #columns: LogColumns = createColumns(KEPT);
  readonly #read = new LogCursor();
  readonly #view = new ChunkView();
  readonly #delta = new ByteWriter();
  /** The newest transfers, newest first: time and number in the log. */
  readonly #times = new Float64Array(KEPT + 1);
  readonly #numbers = new Float64Array(KEPT + 1);
  #count = 0;

  constructor(records: ChainRecords) {
    this.#records = records;
  }

  /**
   * Reads the newest 64 transfers of an account, oldest first (by time, then by number). Transfers to itself count among the 64, and are
   * left out.
   *
   * @returns columns that are valid until the next call
   * @throws STORE_CORRUPT if a record is damaged
   */
  newest(node: number): LogColumns {
    this.#count = 0;
    const stored = this.#records.node(node);
    if (stored) forEachNewest(stored, (timestampMs, ordinal) => this.#insert(timestampMs, ordinal));
    const delta = this.#records.delta(node);
    if (delta) {
      // A copy: the log may be read meanwhile.
      const copy = this.#delta;
      copy.length = 0;
      copy.copy(delta, 0, delta.length);
      forEachHead(copy.bytes.subarray(0, copy.length), (_direction, _other, timestampMs, ordinal) =>
        this.#insert(timestampMs, ordinal),
      );
    }
    const columns = this.#columns;
    columns.count = 0;
    for (let at = this.#count - 1; at >= 0; at--) {
      this.#addTransfer(columns, this.#numbers[at] as number);
      const last = columns.count - 1;
      if (last >= 0 && columns.from[last] === columns.to[last]) columns.count = last;
    }
    return columns;
  }

  /** Inserts a transfer as `addNewest` does. A time below zero is that of a merged one, which follows all that were inserted. */
  #insert(timestampMs: number, ordinal: number): void {
    const times = this.#times;
    const numbers = this.#numbers;
    let at = this.#count;
    const isNewest =
      at > 0 &&
      (timestampMs > (times[0] as number) || (timestampMs === times[0] && ordinal > (numbers[0] as number)));
    if (isNewest) at = 0;
    for (; at > 0 && timestampMs >= 0; at--) {
      const time = this.#timeAt(at - 1);
      if (time > timestampMs || (time === timestampMs && (numbers[at - 1] as number) >= ordinal)) break;
    }
    if (at >= KEPT) return;
    times.copyWithin(at + 1, at, this.#count);
    numbers.copyWithin(at + 1, at, this.#count);
    times[at] = timestampMs;
    numbers[at] = ordinal;
    if (this.#count < KEPT) this.#count++;
  }

  /** The time of a transfer of the list. That of a merged one may only be in the log. */
  #timeAt(place: number): number {
    const times = this.#times;
    if ((times[place] as number) < 0)
      times[place] = cursorAt(this.#records, this.#numbers[place] as number).timestampMs;
    return times[place] as number;
  }

  #addTransfer(columns: LogColumns, ordinal: number): void {
    const bytes = this.#records.logChunk(Math.floor(ordinal / LOG_CHUNK_TRANSFERS));
    if (!bytes) return;
    if (this.#read.open(bytes).seek(ordinal % LOG_CHUNK_TRANSFERS)) addTransfer(columns, this.#read, ordinal);
  }

  /**
   * Reads the ids of all addresses that an account ever paid, in no particular order.
   *
   * @returns Null if they are more than `limit`.
   * @throws STORE_CORRUPT if a record is damaged
   */
  receivers(node: number, limit: number): readonly number[] | null {
    const records = this.#records;
    const stored = records.node(node);
    const merged = stored ? counterpartiesIn(stored, OUT) : 0;
    if (merged > limit) return null;
    const ids: number[] = [];
    let bytes = merged > 0 ? records.chunk(node, OUT, 0) : undefined;
    if (merged > 0 && !bytes) throw lostRecord(records.chain, `neighbours of address ${node}`);
    while (bytes) {
      const { ids: own, isHub, next } = this.#view.open(bytes);
      for (const id of own) ids.push(id);
      bytes = isHub && next !== 0 ? records.chunk(node, OUT, next) : undefined;
    }
    const delta = records.delta(node);
    if (delta)
      forEachHead(delta, (direction, other) => {
        if (direction === OUT && other !== 0 && other !== node && !ids.includes(other)) ids.push(other);
      });
    return ids.length > limit ? null : ids;
  }
}
