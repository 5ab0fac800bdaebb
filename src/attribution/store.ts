/**
 * The results of the rules on a chain: one LMDB environment per chain. Deposit addresses by node of the transfer store, facts from logs by address,
 * and how far each rule has read. Labels are made from it; explanations read the evidence here.
 *
 *   attribution/ETH.mdb   deposits, facts, noted blocks, positions
 */
import { join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import type { ChainId } from '../chains/registry.ts';
import { isFormat, wrongFormat } from '../state/format-version.ts';
import {
  type Database,
  FLUSHED_LATER,
  hasEnvironment,
  openEnvironment,
  type RootDatabase,
} from '../state/lmdb.ts';
import type { AnchorEntity } from './deposit/anchors.ts';
import {
  addressOfFact,
  blockOfFact,
  type DepositRecord,
  type Fact,
  factsPrefix,
  type NotedBlock,
  type Origin,
  originOfFact,
  packBlock,
  packDeposit,
  packFact,
  packFactKey,
  unpackBlock,
  unpackDeposit,
  unpackFact,
  unpackNodes,
} from './records.ts';

/** Version 1 had records in MessagePack, and numbered the facts of each address. */
const FORMAT = { name: 'assay-attribution', version: 2 } as const;
/** Ten million deposit addresses of 300 bytes, and as many facts. */
const MAP_BYTES = 64 * 1024 ** 3;

/** How far the deposit rule has read, and with which inputs. */
export interface DepositState {
  /** Name of the transfer store; another store has other numbers. */
  readonly store: string;
  /** Number of the next transfer in its log. */
  readonly ordinal: number;
  readonly ruleVersion: number;
  /** Fingerprint of the collecting wallets. */
  readonly anchors: string;
  readonly entities: readonly AnchorEntity[];
  /** ISO time. */
  readonly at: string;
}

/** How far logs were read for one source of facts. */
export interface LogCursor {
  readonly nextBlock: number;
  /** Hash of the block before it, if it can still be reverted; null if it is final or unknown. */
  readonly hash: string | null;
  readonly facts: number;
  /** Facts of blocks from this one on can be removed without reading all facts; absent in positions of earlier releases. */
  readonly indexedFrom?: number;
}

/** Returns how many forwardings a record has. */
export const forwardingsOf = ({ older, forwardings }: Pick<DepositRecord, 'older' | 'forwardings'>): number =>
  older + forwardings.length;

export type { DepositRecord, Fact, NotedBlock } from './records.ts';

export interface AttributionStore {
  depositState(): DepositState | null;
  setDepositState(state: DepositState): void;
  deposit(node: number): DepositRecord | null;
  /** Whether an account has a record, without reading it. */
  hasDeposit(node: number): boolean;
  /** Stores a record. Returns false if the same one is stored. */
  putDeposit(node: number, record: DepositRecord): boolean;
  removeDeposit(node: number): void;
  /** All records, in the order of nodes. */
  deposits(): IterableIterator<readonly [node: number, record: DepositRecord]>;
  depositCount(): number;
  /** Forgets all deposit addresses, their state and the noted blocks. */
  clearDeposits(): void;
  /** The noted blocks by height, without their accounts. */
  blocks(): ReadonlyMap<number, Omit<NotedBlock, 'nodes'>>;
  /** Returns the accounts of a noted block; empty if it is not noted. */
  nodesOfBlock(height: number): readonly number[];
  setBlock(height: number, block: NotedBlock): void;
  removeBlock(height: number): void;
  /** Returns the facts about an address, oldest first. */
  facts(key: Uint8Array): readonly Fact[];
  /**
   * Adds a fact; the same log again is a no-op. Returns true if it was new.
   *
   * @param isRevertible - whether it is also listed by its block, for `removeFacts`; a bulk of old logs is not
   */
  addFact(key: Uint8Array, fact: Fact, isRevertible?: boolean): boolean;
  /**
   * Removes the facts of `by` from blocks of `fromBlock` on. If the position of `by` says that they are listed by block, nothing else is
   * read; otherwise all facts are. Returns how many were removed.
   */
  removeFacts(by: string, fromBlock: number): number;
  /** Returns the facts that `removeFacts` would remove, each with the key of its address. */
  factsFrom(by: string, fromBlock: number): readonly (readonly [key: Uint8Array, fact: Fact])[];
  /** Stores other values of a fact that is already stored: its log and block stay. */
  updateFact(key: Uint8Array, fact: Fact): void;
  /** Forgets the blocks of facts of `by` before a block, which are final. */
  settleFacts(by: string, below: number): void;
  /** All facts, in the order of addresses; those of one address oldest first. */
  allFacts(): IterableIterator<readonly [key: Buffer, facts: readonly Fact[]]>;
  cursor(by: string): LogCursor | null;
  setCursor(by: string, cursor: LogCursor): void;
  /**
   * Runs `work` in one transaction.
   *
   * @param disk - `now` returns when the changes are on disk. `later` leaves that to the next flush: after a failure of power, the store
   * is as after an earlier transaction, and the rules read again what is new since.
   */
  write<T>(work: () => T, disk?: 'now' | 'later'): T;
  flushed(): Promise<void>;
  close(): Promise<void>;
}

/** Returns the folder of attributions in the data folder. */
export const attributionFolderOf = (dataDir: string): string => join(dataDir, 'attribution');

/** Returns the file of a chain. */
export const attributionFileOf = (folder: string, chain: ChainId): string =>
  join(folder, `${chain.toLowerCase()}.mdb`);

/**
 * Opens the attributions of a chain.
 *
 * @returns null for a read-only store that does not exist
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openAttributionStore(
  folder: string,
  chain: ChainId,
  readOnly: boolean,
): AttributionStore | null {
  const path = attributionFileOf(folder, chain);
  if (readOnly && !hasEnvironment(path)) return null;
  const root = openEnvironment(path, { maxDbs: 8, readOnly, noSubdir: true, mapSize: MAP_BYTES });
  const meta: Database<unknown, string> | undefined = root.openDB({ name: 'meta', encoding: 'msgpack' });
  const format = meta?.get('format');
  if (format === undefined && readOnly) {
    void root.close();
    return null;
  }
  if (format !== undefined && !isFormat(format, FORMAT)) {
    void root.close();
    throw wrongFormat(
      `The attributions ${path}`,
      format,
      FORMAT,
      `Move it away, and run 'assay attribute ${chain}' again.`,
    );
  }
  if (format === undefined) root.transactionSync(() => meta.putSync('format', { ...FORMAT, chain }));
  return new LmdbAttributions(root, meta);
}

/** Before the key of a fact in the list by block: number of the origin, and the block. */
const BLOCK_PREFIX_BYTES = 6;
const BLOCK_MAX = 0xffff_ffff;
const NOTHING = Buffer.alloc(1);

function blockPrefix(origin: number, block: number): Buffer {
  const bytes = Buffer.allocUnsafe(BLOCK_PREFIX_BYTES);
  bytes.writeUInt16BE(origin, 0);
  bytes.writeUInt32BE(Math.min(block, BLOCK_MAX), 2);
  return bytes;
}

const oldestFirst = (a: Fact, b: Fact): number => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex;

const originName = ({ rule, by, kind }: Origin): string => `${rule}\n${by}\n${kind}`;

/** The key after all keys with a prefix: no origin has the number 65,535. */
const ORIGINS_MAX = 0xffff;
const AFTER = Buffer.alloc(2, 0xff);

class LmdbAttributions implements AttributionStore {
  readonly #root: RootDatabase;
  readonly #meta: Database<unknown, string>;
  readonly #deposits: Database<Buffer, number>;
  readonly #blocks: Database<Buffer, number>;
  readonly #facts: Database<Buffer, Uint8Array>;
  readonly #origins: Database<Origin, number>;
  /** Facts that can be reverted, by origin and block. Opened at the first write: readers do not use it. */
  #recent: Database<Buffer, Uint8Array> | null = null;
  /** Origins of facts by number and by name, as far as they were read. */
  readonly #originOf = new Map<number, Origin>();
  readonly #originNumber = new Map<string, number>();
  /** The last origin that was written: a contract's logs come together. */
  #lastOrigin: (Origin & { readonly number: number }) | null = null;

  constructor(root: RootDatabase, meta: Database<unknown, string>) {
    this.#root = root;
    this.#meta = meta;
    this.#deposits = root.openDB({ name: 'deposits', encoding: 'binary', keyEncoding: 'uint32' });
    this.#blocks = root.openDB({ name: 'blocks', encoding: 'binary', keyEncoding: 'uint32' });
    this.#facts = root.openDB({ name: 'facts', encoding: 'binary', keyEncoding: 'binary' });
    this.#origins = root.openDB({ name: 'origins', encoding: 'msgpack', keyEncoding: 'uint32' });
  }

  depositState(): DepositState | null {
    return (this.#meta.get('deposits') as DepositState | undefined) ?? null;
  }

  setDepositState(state: DepositState): void {
    this.#meta.putSync('deposits', state);
  }

  deposit(node: number): DepositRecord | null {
    const packed = this.#deposits.getBinaryFast(node);
    return packed === undefined ? null : unpackDeposit(packed);
  }

  hasDeposit(node: number): boolean {
    return this.#deposits.getBinaryFast(node) !== undefined;
  }

  putDeposit(node: number, record: DepositRecord): boolean {
    const packed = packDeposit(record);
    const stored = this.#deposits.getBinaryFast(node);
    if (stored !== undefined && packed.equals(stored.subarray(0, stored.length))) return false;
    this.#deposits.putSync(node, packed);
    return true;
  }

  removeDeposit(node: number): void {
    this.#deposits.removeSync(node);
  }

  *deposits(): IterableIterator<readonly [node: number, record: DepositRecord]> {
    for (const { key, value } of this.#deposits.getRange({})) yield [key, unpackDeposit(value)];
  }

  depositCount(): number {
    return this.#deposits.getCount();
  }

  clearDeposits(): void {
    this.#meta.removeSync('deposits');
    this.#deposits.clearSync();
    this.#blocks.clearSync();
  }

  blocks(): ReadonlyMap<number, Omit<NotedBlock, 'nodes'>> {
    const noted = new Map<number, Omit<NotedBlock, 'nodes'>>();
    for (const { key, value } of this.#blocks.getRange({})) noted.set(key, unpackBlock(value));
    return noted;
  }

  nodesOfBlock(height: number): readonly number[] {
    const packed = this.#blocks.getBinaryFast(height);
    return packed === undefined ? [] : unpackNodes(packed);
  }

  setBlock(height: number, block: NotedBlock): void {
    this.#blocks.putSync(height, packBlock(block));
  }

  removeBlock(height: number): void {
    this.#blocks.removeSync(height);
  }

  /** Returns an origin by its number. */
  #origin(number: number): Origin {
    const known = this.#originOf.get(number);
    if (known !== undefined) return known;
    const stored = this.#origins.get(number);
    if (stored === undefined)
      throw new AssayError('STORE_CORRUPT', `The attributions are damaged: the origin ${number} is missing.`);
    this.#originOf.set(number, stored);
    return stored;
  }

  /** Returns the number of an origin, and stores a new one. */
  #numberOf({ rule, by, kind }: Origin): number {
    const last = this.#lastOrigin;
    if (last !== null && last.kind === kind && last.by === by && last.rule === rule) return last.number;
    const number = this.#knownOrNew({ rule, by, kind });
    this.#lastOrigin = { rule, by, kind, number };
    return number;
  }

  #knownOrNew(origin: Origin): number {
    const name = originName(origin);
    const known = this.#originNumber.get(name);
    if (known !== undefined) return known;
    let next = 0;
    for (const { key, value } of this.#origins.getRange({})) {
      this.#originNumber.set(originName(value), key);
      next = key + 1;
    }
    const stored = this.#originNumber.get(name);
    if (stored !== undefined) return stored;
    if (next >= ORIGINS_MAX)
      throw new AssayError('INTERNAL', `The attributions are full: facts have ${next} sources and kinds.`);
    this.#origins.putSync(next, origin);
    this.#originNumber.set(name, next);
    return next;
  }

  facts(key: Uint8Array): readonly Fact[] {
    const start = factsPrefix(key);
    const facts: Fact[] = [];
    for (const { key: at, value } of this.#facts.getRange({ start, end: Buffer.concat([start, AFTER]) })) {
      const own = Buffer.from(at);
      facts.push(unpackFact(own, value, this.#origin(originOfFact(own))));
    }
    return facts.sort(oldestFirst);
  }

  #byBlock(): Database<Buffer, Uint8Array> {
    this.#recent ??= this.#root.openDB({ name: 'recent', encoding: 'binary', keyEncoding: 'binary' });
    return this.#recent;
  }

  addFact(key: Uint8Array, fact: Fact, isRevertible = false): boolean {
    const origin = this.#numberOf(fact);
    const at = packFactKey(key, origin, fact);
    // The library returns whether it wrote, but its types lack that.
    const isNew = this.#facts.putSync(at, packFact(fact), { noOverwrite: true }) as unknown as boolean;
    if (isRevertible)
      this.#byBlock().putSync(Buffer.concat([blockPrefix(origin, fact.blockNumber), at]), NOTHING);
    return isNew;
  }

  #originsOf(by: string): number[] {
    return [...this.#origins.getRange({})].flatMap(({ key, value }) => (value.by === by ? [key] : []));
  }

  /** The entries by block of an origin, from one block to before another. */
  #listed(origin: number, from: number, end: number): Buffer[] {
    const range = { start: blockPrefix(origin, from), end: blockPrefix(origin, end) };
    return [...this.#byBlock().getKeys(range)].map((key) => Buffer.from(key));
  }

  settleFacts(by: string, below: number): void {
    for (const origin of this.#originsOf(by))
      for (const entry of this.#listed(origin, 0, Math.max(0, below))) this.#byBlock().removeSync(entry);
  }

  updateFact(key: Uint8Array, fact: Fact): void {
    this.#facts.putSync(packFactKey(key, this.#numberOf(fact), fact), packFact(fact));
  }

  factsFrom(by: string, fromBlock: number): readonly (readonly [key: Uint8Array, fact: Fact])[] {
    const isListed = fromBlock >= (this.cursor(by)?.indexedFrom ?? Number.POSITIVE_INFINITY);
    const keys = isListed
      ? this.#originsOf(by).flatMap((origin) =>
          this.#listed(origin, fromBlock, BLOCK_MAX).map((entry) => entry.subarray(BLOCK_PREFIX_BYTES)),
        )
      : this.#search(by, fromBlock);
    return keys.flatMap((at) => {
      const origin = this.#origin(originOfFact(at));
      const packed = this.#facts.getBinaryFast(at);
      return packed === undefined
        ? []
        : [[Buffer.from(addressOfFact(at)), unpackFact(at, packed, origin)] as const];
    });
  }

  removeFacts(by: string, fromBlock: number): number {
    const indexedFrom = this.cursor(by)?.indexedFrom ?? Number.POSITIVE_INFINITY;
    if (fromBlock < indexedFrom) return this.#removeBySearch(by, fromBlock);
    let removed = 0;
    for (const origin of this.#originsOf(by))
      for (const entry of this.#listed(origin, fromBlock, BLOCK_MAX)) {
        this.#byBlock().removeSync(entry);
        if (this.#facts.removeSync(entry.subarray(BLOCK_PREFIX_BYTES)) as unknown as boolean) removed++;
      }
    return removed;
  }

  /** Reads all facts: for positions of earlier releases, and blocks that were final when they were read. */
  #search(by: string, fromBlock: number): Buffer[] {
    const keys: Buffer[] = [];
    for (const { key, value } of this.#facts.getRange({})) {
      const own = Buffer.from(key);
      if (blockOfFact(value) >= fromBlock && this.#origin(originOfFact(own)).by === by) keys.push(own);
    }
    return keys;
  }

  #removeBySearch(by: string, fromBlock: number): number {
    const gone = this.#search(by, fromBlock);
    for (const key of gone) this.#facts.removeSync(key);
    // An entry that stays would remove the same log once it is in an earlier block.
    for (const origin of this.#originsOf(by))
      for (const entry of this.#listed(origin, fromBlock, BLOCK_MAX)) this.#byBlock().removeSync(entry);
    return gone.length;
  }

  *allFacts(): IterableIterator<readonly [key: Buffer, facts: readonly Fact[]]> {
    let current: Buffer | null = null;
    let facts: Fact[] = [];
    for (const { key, value } of this.#facts.getRange({})) {
      const own = Buffer.from(key);
      const address = addressOfFact(own);
      if (current !== null && !current.equals(address)) {
        yield [current, facts.sort(oldestFirst)];
        facts = [];
      }
      current = address;
      facts.push(unpackFact(own, value, this.#origin(originOfFact(own))));
    }
    if (current !== null) yield [current, facts.sort(oldestFirst)];
  }

  cursor(by: string): LogCursor | null {
    return (this.#meta.get(`cursor ${by}`) as LogCursor | undefined) ?? null;
  }

  setCursor(by: string, cursor: LogCursor): void {
    this.#meta.putSync(`cursor ${by}`, cursor);
  }

  write<T>(work: () => T, disk: 'now' | 'later' = 'now'): T {
    try {
      return this.#root.transactionSync(work, disk === 'later' ? FLUSHED_LATER : undefined);
    } catch (error) {
      // Numbers of this transaction were not stored.
      this.#originNumber.clear();
      this.#originOf.clear();
      this.#lastOrigin = null;
      throw error;
    }
  }

  async flushed(): Promise<void> {
    await this.#root.flushed;
  }

  close(): Promise<void> {
    return this.#root.close();
  }
}
