/**
 * Dense lists of alerts: for each alert eight bytes with the fields that pages filter by, in chunks of one page of the store. Above the chunks is a
 * tree of counts by status and severity, so that a page is counted and found in microseconds, however many alerts a list has.
 */
import type { LiveDatabase, LiveRoot } from '../state/live-store.ts';
import { ALERT_STATUSES, SEVERITIES } from './records.ts';

/** An alert in a list. `status` and `severity` are places in their tables. */
export interface AlertEntry {
  /** A number of the owner, below 2^32. */
  readonly link: number;
  readonly status: number;
  readonly severity: number;
}

/** Fields that a match has; null for any. */
export interface AlertMatch {
  readonly status: number | null;
  readonly severity: number | null;
}

/** Lists by name. Positions begin at 1. Writes must be called inside a transaction. */
export interface AlertLists {
  get(list: string, position: number): AlertEntry | null;
  /** Stores the entry at a position: one that exists, or the one after the last. */
  put(list: string, position: number, entry: AlertEntry): void;
  /** Number of matches among the first entries of a list. */
  count(list: string, entries: number, match: AlertMatch): number;
  /**
   * Returns matches from the newest down.
   *
   * @param nth - the number of the first of them among all matches of the list, counted from the oldest
   * @param limit - the most that are returned
   */
  matches(
    list: string,
    nth: number,
    limit: number,
    match: AlertMatch,
  ): readonly { readonly position: number; readonly link: number }[];
  /**
   * Returns the last position whose link is at most `link`, or 0.
   *
   * @param length - entries of the list, whose links must ascend
   */
  lastUpTo(list: string, link: number, length: number): number;
}

/** Entry of one alert: link (u32), status (u8), severity (u8), two unused bytes. */
const ENTRY_BYTES = 8;
/** Each alert rewrites its chunk, so a chunk has 4 KB, one page of the store. */
const CHUNK_ENTRIES = 512;
/** Counts of a chunk, or of all below a node: one for each status and severity. */
const CELLS = ALERT_STATUSES.length * SEVERITIES.length;
const CELL_BYTES = 4;
/** Complete children of a node. Their counts fill one page, too. */
const CHILDREN = 64;
/** Levels of nodes above the chunks: with four, the top has 8.6 billion entries below it, more than a link can number. */
const LEVELS = 4;

const chunkOf = (position: number): number => Math.floor((position - 1) / CHUNK_ENTRIES);
const placeOf = (position: number): number => ((position - 1) % CHUNK_ENTRIES) * ENTRY_BYTES;
const cellOf = (status: number, severity: number): number => status * SEVERITIES.length + severity;

/** Cells of the entries that match. */
const cellsOf = ({ status, severity }: AlertMatch): readonly number[] =>
  Array.from({ length: CELLS }, (_, cell) => cell).filter(
    (cell) =>
      (status === null || Math.floor(cell / SEVERITIES.length) === status) &&
      (severity === null || cell % SEVERITIES.length === severity),
  );

/** A stored buffer with room for at least `bytes`. */
function grown(stored: Buffer | undefined, bytes: number): Buffer {
  const buffer = Buffer.alloc(Math.max(stored?.length ?? 0, bytes));
  stored?.copy(buffer);
  return buffer;
}

/** Opens the lists in the live state of monitoring. */
export function openAlertLists(root: LiveRoot): AlertLists {
  const chunks: LiveDatabase<Buffer, [list: string, chunk: number]> = root.openDB({
    name: 'alertLists',
    encoding: 'binary',
  });
  /** Counts of the complete children of each node: of chunks on level 1, of nodes of the level below on the others. */
  const nodes: LiveDatabase<Buffer, [list: string, level: number, node: number]> = root.openDB({
    name: 'alertListCounts',
    encoding: 'binary',
  });

  /** Adds counts to a child of a node, and to those above it that count it already. */
  function add(list: string, child: number, counts: ReadonlyMap<number, number>): void {
    let at = child;
    for (let level = 1; level <= LEVELS; level++) {
      const node = Math.floor(at / CHILDREN);
      const slot = at % CHILDREN;
      const stored = nodes.get([list, level, node]);
      const wasComplete = stored?.length === CHILDREN * CELLS * CELL_BYTES;
      const buffer = grown(stored, (slot + 1) * CELLS * CELL_BYTES);
      for (const [cell, count] of counts) {
        const place = (slot * CELLS + cell) * CELL_BYTES;
        buffer.writeUInt32LE(buffer.readUInt32LE(place) + count, place);
      }
      nodes.putSync([list, level, node], buffer);
      if (buffer.length < CHILDREN * CELLS * CELL_BYTES) return;
      // The last child makes the node complete: its parent gets the counts of all of them.
      if (!wasComplete) {
        const sums = new Map<number, number>();
        for (let place = 0; place < buffer.length; place += CELL_BYTES) {
          const cell = (place / CELL_BYTES) % CELLS;
          sums.set(cell, (sums.get(cell) ?? 0) + buffer.readUInt32LE(place));
        }
        counts = sums;
      }
      at = node;
    }
  }

  /** Number of matches in children `from` to `to - 1` of a node. */
  function sum(node: Buffer | undefined, from: number, to: number, cells: readonly number[]): number {
    let total = 0;
    if (node === undefined) return total;
    for (let slot = from; slot < to; slot++)
      for (const cell of cells) total += node.readUInt32LE((slot * CELLS + cell) * CELL_BYTES);
    return total;
  }

  const isMatch = (chunk: Buffer, at: number, { status, severity }: AlertMatch): boolean =>
    (status === null || chunk[at + 4] === status) && (severity === null || chunk[at + 5] === severity);

  /** Returns the chunk with the match of this number, and the number of the match in it. */
  function find(list: string, nth: number, cells: readonly number[]): { chunk: number; nth: number } {
    if (cells.length === CELLS) return { chunk: chunkOf(nth), nth: ((nth - 1) % CHUNK_ENTRIES) + 1 };
    let at = 0;
    let left = nth;
    for (let level = LEVELS; level >= 1; level--) {
      const node = nodes.get([list, level, at]);
      const children = (node?.length ?? 0) / (CELLS * CELL_BYTES);
      let slot = 0;
      // After the complete children comes one that is not.
      for (; slot < children; slot++) {
        const count = sum(node, slot, slot + 1, cells);
        if (left <= count) break;
        left -= count;
      }
      at = at * CHILDREN + slot;
    }
    return { chunk: at, nth: left };
  }

  const linkAt = (list: string, position: number): number =>
    (chunks.get([list, chunkOf(position)]) as Buffer).readUInt32LE(placeOf(position));

  return {
    get(list, position) {
      const chunk = chunks.get([list, chunkOf(position)]);
      const at = placeOf(position);
      if (chunk === undefined || at >= chunk.length) return null;
      return {
        link: chunk.readUInt32LE(at),
        status: chunk[at + 4] as number,
        severity: chunk[at + 5] as number,
      };
    },
    put(list, position, { link, status, severity }) {
      const key: [string, number] = [list, chunkOf(position)];
      const at = placeOf(position);
      const stored = chunks.get(key);
      const chunk = grown(stored, at + ENTRY_BYTES);
      const before = cellOf(chunk[at + 4] as number, chunk[at + 5] as number);
      chunk.writeUInt32LE(link, at);
      chunk[at + 4] = status;
      chunk[at + 5] = severity;
      chunks.putSync(key, chunk);
      if (chunk.length < CHUNK_ENTRIES * ENTRY_BYTES) return;
      if (stored?.length === chunk.length) {
        const after = cellOf(status, severity);
        if (after !== before)
          add(
            list,
            key[1],
            new Map([
              [before, -1],
              [after, 1],
            ]),
          );
        return;
      }
      const counts = new Map<number, number>();
      for (let each = 0; each < chunk.length; each += ENTRY_BYTES) {
        const cell = cellOf(chunk[each + 4] as number, chunk[each + 5] as number);
        counts.set(cell, (counts.get(cell) ?? 0) + 1);
      }
      add(list, key[1], counts);
    },
    count(list, entries, match) {
      if (match.status === null && match.severity === null) return entries;
      const cells = cellsOf(match);
      let total = 0;
      let at = Math.floor(entries / CHUNK_ENTRIES);
      const rest = (entries % CHUNK_ENTRIES) * ENTRY_BYTES;
      const chunk = rest === 0 ? undefined : chunks.get([list, at]);
      if (chunk !== undefined)
        for (let each = 0; each < rest; each += ENTRY_BYTES) if (isMatch(chunk, each, match)) total++;
      for (let level = 1; at > 0; level++) {
        const node = Math.floor(at / CHILDREN);
        total += sum(nodes.get([list, level, node]), 0, at % CHILDREN, cells);
        at = node;
      }
      return total;
    },
    matches(list, nth, limit, match) {
      const cells = cellsOf(match);
      const found: { position: number; link: number }[] = [];
      while (found.length < limit && nth > found.length) {
        const { chunk: number, nth: inChunk } = find(list, nth - found.length, cells);
        const chunk = chunks.get([list, number]) as Buffer;
        const places: number[] = [];
        for (let at = 0; places.length < inChunk && at < chunk.length; at += ENTRY_BYTES)
          if (isMatch(chunk, at, match)) places.push(at);
        for (const at of places.reverse().slice(0, limit - found.length))
          found.push({
            position: number * CHUNK_ENTRIES + at / ENTRY_BYTES + 1,
            link: chunk.readUInt32LE(at),
          });
      }
      return found;
    },
    lastUpTo(list, link, length) {
      let low = 0;
      let high = length;
      while (low < high) {
        const middle = Math.ceil((low + high) / 2);
        if (linkAt(list, middle) <= link) low = middle;
        else high = middle - 1;
      }
      return low;
    },
  };
}
