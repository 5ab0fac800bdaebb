/**
 * The store of receipts. Receipts that are issued at about the same time are committed together, and the small ones of a second are stored in
 * one record (groups.ts). Evidence is stored as a difference: its parts that many receipts share (policy, state of the lists, labels) are
 * stored once, by their hash, and the rest compressed beside the receipt. A part records the last day on which it was used, at most one
 * write a day, so that the retention can delete it without counting references.
 */
import { createHash } from 'node:crypto';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { ID_SHAPE } from '../base/ids.ts';
import { HASH_BYTES } from '../base/merkle.ts';
import type { Encryption } from '../state/encryption.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../state/live-store.ts';
import { LEAVES_OF_TILE } from './batches.ts';
import { canonicalJson, textSha256 } from './canonical.ts';
import {
  decodeGroup,
  encodeGroup,
  encodeGroupLater,
  erasedItem,
  type FoundItem,
  foundItem,
  type GroupItem,
  groupItem,
  groupsOf,
  type RecordTexts,
  signItem,
} from './groups.ts';
import { base64url } from './jws.ts';
import { KeyRing, type KeyRow } from './keys-store.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { receiptHash } from './receipt.ts';
import type {
  ContentTexts,
  NewStoredReceipt,
  PartHashes,
  PartName,
  ReceiptContent,
  ReceiptStore,
  StoredReceipt,
  StoreSigned,
} from './store.ts';

export const FORMAT_VERSION = 1;

const DAY_MS = 86_400_000;
const PRESENT = '1';

/** Pieces of a receipt (its id) or of a part (its hash), in their order. */
type PieceKey = [owner: string, piece: number];

/** A shared part. */
interface PartRow {
  /** Days since 1970 of the newest receipt that uses it. */
  readonly lastDay: number;
  /** Compressed. */
  readonly bytes: number;
}

const openTables = (root: LiveRoot) => {
  const open = <V, K extends string | number | PieceKey | [number, string]>(
    name: string,
    encoding: 'json' | 'string' | 'binary',
  ): LiveDatabase<V, K> => root.openDB({ name, encoding });
  return {
    receipts: open<StoredReceipt, string>('receipts', 'json'),
    /** Records of small receipts, by the id of their first one. */
    groups: open<Buffer, string>('groups', 'binary'),
    /** The record of each grouped receipt except the first. */
    places: open<string, string>('places', 'string'),
    pieces: open<Buffer, PieceKey>('pieces', 'binary'),
    parts: open<PartRow, string>('parts', 'json'),
    /** Receipts, or groups, by time: ids also sort by time, but not if the clock was set back. */
    times: open<string, [issuedAtMs: number, id: string]>('times', 'string'),
    /** Leaves of batches, 256 in a record. */
    leaves: open<Buffer, PieceKey>('leaves', 'binary'),
    partDays: open<string, [lastDay: number, hash: string]>('partDays', 'string'),
    keys: open<KeyRow, number>('signingKeys', 'json'),
  };
};
type Tables = ReturnType<typeof openTables>;

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Synchronous: at the fastest level, the evidence of an oracle verdict takes some 30 µs. It is not compressed for each receipt. */
const packed = (text: string): Buffer => deflateRawSync(text, { level: constants.Z_BEST_SPEED });

const unpacked = (bytes: Uint8Array): string =>
  inflateRawSync(bytes, { maxOutputLength: RECEIPT_LIMITS.evidenceBytesMax }).toString('utf8');

interface Part {
  readonly name: PartName;
  readonly hash: string;
  readonly bytes: Buffer;
}

/** Returns the JSON text of a receipt with records of its own. */
const ownText = ({ facts, own, evidence }: RecordTexts): string =>
  `{"receipt":${facts.slice(0, -1)},${JSON.stringify(own).slice(1)},"evidence":${evidence}}`;

/** A receipt with records of its own, because it is large or has leaves. */
interface Alone {
  readonly row: NewStoredReceipt;
  readonly hashes: PartHashes;
  /** Compressed. */
  readonly content: Buffer;
  readonly leaves: Buffer | undefined;
}

/** A receipt whose content is ready to be stored: as an item of a record with others, or alone. */
interface Prepared {
  readonly issuedAtMs: number;
  readonly parts: readonly Part[];
  readonly item: GroupItem | null;
  readonly alone: Alone | null;
}

/** A receipt that waits for its transaction. */
interface Waiting extends Prepared {
  readonly signature: Uint8Array;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

type Grouped = Waiting & { readonly item: GroupItem };

/** A group and its record. */
interface Group {
  readonly members: readonly Grouped[];
  readonly record: Buffer;
}

/** Parts by the object that they were made of. Callers pass the same policy and state of the lists with every receipt. */
const made = new WeakMap<object, Part>();

function partOf(name: PartName, value: object): Part {
  const known = made.get(value);
  if (known !== undefined) return known;
  const part = newPart(name, canonicalJson(value));
  made.set(value, part);
  return part;
}

const newPart = (name: PartName, text: string): Part => ({
  name,
  hash: textSha256(text),
  bytes: packed(fitting(text)),
});

/**
 * Parts of labels by their text. Small labels become a part when a second receipt has them: those of one receipt alone are compressed with
 * the others of its record, in a fifth of the time that a part of their own takes.
 */
class LabelParts {
  /** Null: one receipt has them. */
  #parts = new Map<string, Part | null>();

  /** Returns the part; null if the labels belong into the record of the receipt. */
  of(text: string): Part | null {
    const known = this.#parts.get(text);
    if (known) return known;
    const isFirst = known === undefined && text.length <= RECEIPT_LIMITS.groupedLabelsMax;
    const part = isFirst ? null : newPart('labels', text);
    if (text.length > RECEIPT_LIMITS.groupedBytesMax) return part;
    if (this.#parts.size >= RECEIPT_LIMITS.labelPartsMax) this.#parts = new Map();
    this.#parts.set(text, part);
    return part;
  }
}

function fitting(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= RECEIPT_LIMITS.evidenceBytesMax) return text;
  throw new AssayError(
    'INVALID_REQUEST',
    `receipt: the evidence of this answer has ${bytes} bytes, and at most ${RECEIPT_LIMITS.evidenceBytesMax} are stored.`,
    { field: 'receipt' },
  );
}

/**
 * Opens or creates the store in the file `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openReceiptStore(
  { path }: { readonly path: string },
  {
    clock,
    encryption,
    openStore = openLiveStore,
  }: {
    readonly clock: Clock;
    readonly encryption: () => Encryption;
    /** Default: on this machine. */
    readonly openStore?: OpenStore;
  },
): ReceiptStore {
  return new LmdbReceiptStore(openStore(path, FORMAT_VERSION, { name: 'receipts', maxDbs: 12 }), {
    clock,
    encryption,
  });
}

class LmdbReceiptStore implements ReceiptStore {
  readonly #live: LiveStore;
  readonly #tables: Tables;
  readonly #clock: Clock;
  readonly #labelParts = new LabelParts();
  /**
   * Parts, and the day until which their record says that they are used: most receipts need not read it. No other process deletes a part
   * before that day is past its retention.
   */
  #used = new WeakMap<Part, number>();
  #waiting: Waiting[] = [];
  /** Commits what waits, transaction after transaction; null while nothing waits. */
  #running: Promise<void> | null = null;
  readonly keys: KeyRing;

  constructor(
    live: LiveStore,
    { clock, encryption }: { readonly clock: Clock; readonly encryption: () => Encryption },
  ) {
    this.#live = live;
    this.#clock = clock;
    this.#tables = openTables(live.root);
    this.keys = new KeyRing({ root: live.root, rows: this.#tables.keys, encryption, clock });
  }

  ready(): Promise<void> {
    return this.#live.ready();
  }

  async close(): Promise<void> {
    await this.#running;
    await this.keys.close();
    await this.#live.root.close();
  }

  prepare(row: NewStoredReceipt, content: ContentTexts, leaves?: Buffer): StoreSigned {
    const prepared = this.#prepared(row, content, leaves);
    return (signature) => this.#add(prepared, signature);
  }

  #prepared(row: NewStoredReceipt, content: ContentTexts, leaves: Buffer | undefined): Prepared {
    const { coverage, policy, labels, own, facts } = content;
    const parts = [partOf('coverage', coverage), partOf('policy', policy)];
    const labelPart = labels === null ? null : this.#labelParts.of(labels);
    if (labelPart !== null) parts.push(labelPart);
    const hashes: { -readonly [Name in PartName]?: string } = {};
    for (const { name, hash } of parts) hashes[name] = hash;
    // Not canonical: its hashes are computed from its values when it is read.
    const evidence =
      labels === null || labelPart !== null
        ? content.evidence
        : `{"labels":${labels},${content.evidence.slice(1)}`;
    const { issuedAtMs } = row;
    const texts = { own, facts, evidence };
    const item = leaves === undefined ? groupItem(row, texts, hashes) : null;
    if (item !== null) return { issuedAtMs, parts, item, alone: null };
    const alone = { row, hashes, content: packed(fitting(ownText(texts))), leaves };
    return { issuedAtMs, parts, item, alone };
  }

  #add({ issuedAtMs, parts, item, alone }: Prepared, signature: Uint8Array): Promise<void> {
    if (item !== null) signItem(item, signature);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ issuedAtMs, parts, item, alone, signature, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // Receipts of the same turn of the event loop share a transaction, and so do those that come while one is written.
    await Promise.resolve();
    while (this.#waiting.length > 0)
      await this.#commit(this.#waiting.splice(0, RECEIPT_LIMITS.receiptsCommittedAtOnceMax));
    this.#running = null;
  }

  async #commit(batch: readonly Waiting[]): Promise<void> {
    try {
      const groups = await Promise.all(
        groupsOf(batch.filter((one): one is Grouped => one.item !== null)).map(async (members) => ({
          members,
          record: await encodeGroupLater(members.map(({ item }) => item)),
        })),
      );
      const days = this.#daysOf(batch);
      await this.#live.root.childTransaction(() => {
        for (const group of groups) this.#putGroup(group);
        for (const { alone, signature } of batch) if (alone !== null) this.#putAlone(alone, signature);
        for (const [part, day] of days) this.#usePart(part, day);
      });
      for (const [part, day] of days) this.#used.set(part, day);
      for (const { resolve } of batch) resolve();
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  #putGroup({ members, record }: Group): void {
    const { groups, places, times } = this.#tables;
    const [first, ...others] = members;
    if (first === undefined) return;
    const { id } = first.item;
    groups.putSync(id, record);
    times.putSync([first.issuedAtMs, id], PRESENT);
    for (const { item } of others) places.putSync(item.id, id);
  }

  #putAlone({ row, hashes, content, leaves }: Alone, signature: Uint8Array): void {
    const { receipts, times } = this.#tables;
    receipts.putSync(row.id, {
      ...row,
      signature: base64url(signature),
      erasedAtMs: null,
      storedBytes: content.length + (leaves?.length ?? 0),
      parts: hashes,
    });
    times.putSync([row.issuedAtMs, row.id], PRESENT);
    this.#putPieces(row.id, content);
    if (leaves !== undefined) this.#putLeaves(row.id, leaves);
  }

  /** Returns the parts of a transaction whose record must be read, each with the last of its days. */
  #daysOf(batch: readonly Waiting[]): ReadonlyMap<Part, number> {
    const days = new Map<Part, number>();
    for (const { parts, issuedAtMs } of batch) {
      const day = Math.floor(issuedAtMs / DAY_MS);
      for (const part of parts)
        if ((this.#used.get(part) ?? -1) < day) days.set(part, Math.max(day, days.get(part) ?? day));
    }
    return days;
  }

  #putLeaves(id: string, leaves: Buffer): void {
    const size = LEAVES_OF_TILE * HASH_BYTES;
    for (let tile = 0, at = 0; at < leaves.length; tile++, at += size)
      this.#tables.leaves.putSync([id, tile], leaves.subarray(at, at + size));
  }

  leaves(id: string, tile: number): Buffer {
    const found = this.#tables.leaves.get([id, tile]);
    if (found === undefined)
      throw new AssayError('STORE_CORRUPT', `The receipt ${id} has no leaves ${tile}.`);
    return found;
  }

  #putPieces(owner: string, bytes: Buffer): void {
    const size = RECEIPT_LIMITS.pieceBytes;
    for (let piece = 0, at = 0; at < bytes.length; piece++, at += size)
      this.#tables.pieces.putSync([owner, piece], bytes.subarray(at, at + size));
  }

  /** Stores a part if it is new, and records the day. */
  #usePart({ hash, bytes }: Part, day: number): void {
    const { parts, partDays } = this.#tables;
    const known = parts.get(hash);
    if (known !== undefined && known.lastDay >= day) return;
    if (known === undefined) this.#putPieces(hash, bytes);
    else partDays.removeSync([known.lastDay, hash]);
    parts.putSync(hash, { lastDay: day, bytes: bytes.length });
    partDays.putSync([day, hash], PRESENT);
  }

  get(id: string, accountId?: string): StoredReceipt | null {
    if (!ID_SHAPE.test(id)) return null;
    this.#live.root.resetReadTxn();
    const row = this.#tables.receipts.get(id) ?? this.#grouped(id)?.stored ?? null;
    return row === null || (accountId !== undefined && row.accountId !== accountId) ? null : row;
  }

  /**
   * Returns the key and the items of the record of a grouped receipt, and its place there; null if absent.
   *
   * @throws STORE_CORRUPT
   */
  #groupOf(id: string): { key: string; items: GroupItem[]; at: number; record: Buffer } | null {
    const key = this.#tables.places.get(id) ?? id;
    const record = this.#tables.groups.get(key);
    if (record === undefined) return null;
    try {
      const items = decodeGroup(record);
      const at = items.findIndex((item) => item.id === id);
      if (at < 0) throw new Error('it is not in its record');
      return { key, items, at, record };
    } catch (cause) {
      throw damaged(id, cause);
    }
  }

  #grouped(id: string): FoundItem | null {
    const group = this.#groupOf(id);
    if (group === null) return null;
    const { items, at, record } = group;
    return foundItem(items[at] as GroupItem, shareOf(record, items.length));
  }

  content(row: StoredReceipt): ReceiptContent | null {
    if (row.erasedAtMs !== null) return null;
    let content: ReceiptContent | null = null;
    let cause: unknown;
    try {
      content = this.#joined(row);
    } catch (error) {
      cause = error;
    }
    if (content !== null && receiptHash(content.receipt).toString('hex') === row.sha256) return content;
    throw damaged(row.id, cause);
  }

  #joined({ id, parts }: StoredReceipt): ReceiptContent {
    const { receipt, evidence } = this.#grouped(id)?.content ?? JSON.parse(unpacked(this.#piecesOf(id)));
    const part = (name: PartName) => this.#partOf(id, parts[name]);
    return {
      receipt: { ...receipt, coverage: part('coverage') },
      evidence: parts.labels === undefined ? evidence : { ...evidence, labels: part('labels') },
      policy: part('policy'),
    };
  }

  #partOf(id: string, hash = '') {
    const text = unpacked(this.#piecesOf(hash));
    if (sha256(text) !== hash)
      throw new AssayError('STORE_CORRUPT', `The evidence of the receipt ${id} is damaged.`);
    return JSON.parse(text);
  }

  #piecesOf(owner: string): Buffer {
    return Buffer.concat([...this.#tables.pieces.getRange(rangeOf(owner))].map(({ value }) => value));
  }

  erase(id: string): Promise<StoredReceipt | null> {
    const { receipts } = this.#tables;
    const nowMs = this.#clock.now();
    return this.#live.root.childTransaction(() => {
      const row = receipts.get(id);
      if (row === undefined) return this.#eraseGrouped(id, nowMs);
      if (row.erasedAtMs !== null) return row;
      this.#removePieces(id);
      // The signature and the account stay: neither says what was asked. Parts that no receipt uses any more end with the retention.
      const erased: StoredReceipt = { ...row, erasedAtMs: nowMs, storedBytes: 0, parts: {} };
      receipts.putSync(id, erased);
      return erased;
    });
  }

  /** Writes the record of a receipt again without its content. */
  #eraseGrouped(id: string, nowMs: number): StoredReceipt | null {
    const group = this.#groupOf(id);
    if (group === null) return null;
    const { key, items, at } = group;
    const item = items[at] as GroupItem;
    if (item.content === null) return foundItem(item, 0).stored;
    const erased = erasedItem(item, nowMs);
    items[at] = erased;
    this.#tables.groups.putSync(key, encodeGroup(items));
    return foundItem(erased, 0).stored;
  }

  #removePieces(owner: string): void {
    for (const table of [this.#tables.pieces, this.#tables.leaves])
      for (const key of [...table.getKeys(rangeOf(owner))]) table.removeSync(key);
  }

  async deleteIssuedBefore(beforeMs: number, limit: number): Promise<readonly StoredReceipt[]> {
    const deleted = await this.#deleteReceipts(beforeMs, limit);
    // Receipts first: one that is still there needs its parts.
    if (deleted.length < limit)
      while ((await this.#deleteParts(Math.floor(beforeMs / DAY_MS), limit)) === limit);
    return deleted;
  }

  #deleteReceipts(beforeMs: number, limit: number): Promise<readonly StoredReceipt[]> {
    const { times, receipts } = this.#tables;
    const range = { start: [0, ''] as [number, string], end: [beforeMs, ''] as [number, string] };
    return this.#live.root.childTransaction(() => {
      const deleted: StoredReceipt[] = [];
      for (const key of [...times.getKeys({ ...range, limit })]) {
        if (deleted.length >= limit) break;
        const [, id] = key;
        times.removeSync(key);
        const row = receipts.get(id);
        if (row === undefined) deleted.push(...this.#deleteGroup(id));
        else {
          this.#removePieces(id);
          receipts.removeSync(id);
          deleted.push(row);
        }
      }
      return deleted;
    });
  }

  #deleteGroup(key: string): readonly StoredReceipt[] {
    const { groups, places } = this.#tables;
    const group = this.#groupOf(key);
    if (group === null) return [];
    groups.removeSync(key);
    return group.items.map((item) => {
      if (item.id !== key) places.removeSync(item.id);
      return foundItem(item, 0).stored;
    });
  }

  /** Deletes parts that were last used before a day, and returns their number. */
  #deleteParts(beforeDay: number, limit: number): Promise<number> {
    const { partDays, parts } = this.#tables;
    const range = { start: [0, ''] as [number, string], end: [beforeDay, ''] as [number, string] };
    this.#used = new WeakMap();
    return this.#live.root.childTransaction(() => {
      const keys = [...partDays.getKeys({ ...range, limit })];
      for (const key of keys) {
        const [, hash] = key;
        this.#removePieces(hash);
        parts.removeSync(hash);
        partDays.removeSync(key);
      }
      return keys.length;
    });
  }

  bytes(): ReturnType<ReceiptStore['bytes']> {
    this.#live.root.resetReadTxn();
    const { receipts, groups, parts } = this.#tables;
    let [count, own, shared] = [0, 0, 0];
    for (const { value } of receipts.getRange()) {
      count++;
      own += value.storedBytes;
    }
    for (const { value } of groups.getRange()) {
      count += decodeGroup(value).length;
      own += value.length;
    }
    for (const { value } of parts.getRange()) shared += value.bytes;
    return { receipts: count, own, parts: shared };
  }
}

/** Returns the bytes of a record for each of its receipts. */
const shareOf = (record: Buffer, receipts: number): number => Math.ceil(record.length / receipts);

const damaged = (id: string, cause: unknown): AssayError =>
  new AssayError('STORE_CORRUPT', `The receipt ${id} is damaged.`, { cause });

const rangeOf = (owner: string): { start: PieceKey; end: PieceKey } => ({
  start: [owner, 0],
  end: [owner, Number.MAX_SAFE_INTEGER],
});
