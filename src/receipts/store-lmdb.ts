/**
 * The store of receipts. Evidence is stored as a difference: its parts that many receipts share (policy, state of the lists, labels) are
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
import { canonicalJson } from './canonical.ts';
import type { SigningKeys } from './keys.ts';
import { KeyRing, type KeyRow } from './keys-store.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { receiptHash } from './receipt.ts';
import type {
  NewStoredReceipt,
  PartHashes,
  PartName,
  ReceiptContent,
  ReceiptStore,
  StoredReceipt,
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
    pieces: open<Buffer, PieceKey>('pieces', 'binary'),
    parts: open<PartRow, string>('parts', 'json'),
    /** Receipts by time: ids also sort by time, but not if the clock was set back. */
    times: open<string, [issuedAtMs: number, id: string]>('times', 'string'),
    /** Leaves of batches, 256 in a record. */
    leaves: open<Buffer, PieceKey>('leaves', 'binary'),
    partDays: open<string, [lastDay: number, hash: string]>('partDays', 'string'),
    keys: open<KeyRow, number>('signingKeys', 'json'),
  };
};
type Tables = ReturnType<typeof openTables>;

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Synchronous: at the fastest level, the evidence of an oracle verdict takes some 30 µs. */
const packed = (text: string): Buffer => deflateRawSync(text, { level: constants.Z_BEST_SPEED });

const unpacked = (bytes: Uint8Array): string =>
  inflateRawSync(bytes, { maxOutputLength: RECEIPT_LIMITS.evidenceBytesMax }).toString('utf8');

interface Part {
  readonly name: PartName;
  readonly hash: string;
  readonly bytes: Buffer;
}

/** A receipt and its evidence without their shared parts, and these parts. */
interface Split {
  readonly own: Buffer;
  readonly parts: readonly Part[];
}

/** Parts by the object that they were made of. Callers pass the same policy and state of the lists with every receipt. */
const made = new WeakMap<object, Part>();

function partOf(name: PartName, value: object): Part {
  const known = made.get(value);
  if (known !== undefined) return known;
  const text = canonicalJson(value);
  const part = { name, hash: sha256(text), bytes: packed(fitting(text)) };
  made.set(value, part);
  return part;
}

function split({ receipt, evidence, policy }: ReceiptContent): Split {
  const { coverage, ...facts } = receipt;
  const { labels, ...rest } = evidence;
  const parts = [partOf('coverage', coverage), partOf('policy', policy)];
  if (typeof labels === 'object' && labels !== null) parts.push(partOf('labels', labels));
  // Not canonical: its hashes are computed from its values when it is read.
  return { own: packed(fitting(JSON.stringify({ receipt: facts, evidence: rest }))), parts };
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
  readonly keys: SigningKeys;

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

  close(): Promise<void> {
    return this.#live.root.close();
  }

  add(row: NewStoredReceipt, content: ReceiptContent, leaves?: Buffer): Promise<StoredReceipt> {
    const { own, parts } = split(content);
    const hashes: PartHashes = Object.fromEntries(parts.map(({ name, hash }) => [name, hash]));
    const storedBytes = own.length + (leaves?.length ?? 0);
    const stored: StoredReceipt = { ...row, erasedAtMs: null, storedBytes, parts: hashes };
    const { receipts, times } = this.#tables;
    return this.#live.root.childTransaction(() => {
      receipts.putSync(row.id, stored);
      times.putSync([row.issuedAtMs, row.id], PRESENT);
      this.#putPieces(row.id, own);
      if (leaves !== undefined) this.#putLeaves(row.id, leaves);
      for (const part of parts) this.#usePart(part, Math.floor(row.issuedAtMs / DAY_MS));
      return stored;
    });
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
    const row = this.#tables.receipts.get(id) ?? null;
    return row === null || (accountId !== undefined && row.accountId !== accountId) ? null : row;
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
    throw new AssayError('STORE_CORRUPT', `The receipt ${row.id} is damaged.`, { cause });
  }

  #joined({ id, parts }: StoredReceipt): ReceiptContent {
    const { receipt, evidence } = JSON.parse(unpacked(this.#piecesOf(id)));
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
      if (row === undefined || row.erasedAtMs !== null) return row ?? null;
      this.#removePieces(id);
      // The signature and the account stay: neither says what was asked. Parts that no receipt uses any more end with the retention.
      const erased: StoredReceipt = { ...row, erasedAtMs: nowMs, storedBytes: 0, parts: {} };
      receipts.putSync(id, erased);
      return erased;
    });
  }

  #removePieces(owner: string): void {
    for (const table of [this.#tables.pieces, this.#tables.leaves])
      for (const key of [...table.getKeys(rangeOf(owner))]) table.removeSync(key);
  }

  async deleteIssuedBefore(beforeMs: number, limit: number): Promise<readonly StoredReceipt[]> {
    const deleted = await this.#deleteReceipts(beforeMs, limit);
    if (deleted.length < limit)
      while ((await this.#deleteParts(Math.floor(beforeMs / DAY_MS), limit)) === limit);
    return deleted;
  }

  #deleteReceipts(beforeMs: number, limit: number): Promise<readonly StoredReceipt[]> {
    const { times, receipts } = this.#tables;
    const range = { start: [0, ''] as [number, string], end: [beforeMs, ''] as [number, string] };
    return this.#live.root.childTransaction(() =>
      [...times.getKeys({ ...range, limit })].flatMap((key) => {
        const [, id] = key;
        const row = receipts.get(id);
        times.removeSync(key);
        if (row === undefined) return [];
        this.#removePieces(id);
        receipts.removeSync(id);
        return [row];
      }),
    );
  }

  /** Deletes parts that were last used before a day, and returns their number. */
  #deleteParts(beforeDay: number, limit: number): Promise<number> {
    const { partDays, parts } = this.#tables;
    const range = { start: [0, ''] as [number, string], end: [beforeDay, ''] as [number, string] };
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
    const { receipts, parts } = this.#tables;
    let [count, own, shared] = [0, 0, 0];
    for (const { value } of receipts.getRange()) {
      count++;
      own += value.storedBytes;
    }
    for (const { value } of parts.getRange()) shared += value.bytes;
    return { receipts: count, own, parts: shared };
  }
}

const rangeOf = (owner: string): { start: PieceKey; end: PieceKey } => ({
  start: [owner, 0],
  end: [owner, Number.MAX_SAFE_INTEGER],
});
