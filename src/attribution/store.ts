/**
 * The results of the rules on a chain: one LMDB environment per chain. Deposit addresses by node of the transfer store, facts from logs by address,
 * and how far each rule has read. Labels are made from it; explanations read the evidence here.
 *
 *   attribution/ETH.mdb   deposits, facts, noted blocks, positions
 */
import { join } from 'node:path';
import type { ChainId } from '../chains/registry.ts';
import { isFormat, wrongFormat } from '../state/format-version.ts';
import { type Database, hasEnvironment, openEnvironment, type RootDatabase } from '../state/lmdb.ts';
import type { AnchorEntity } from './deposit/anchors.ts';
import type { AccountKind, Forwarding } from './deposit/judge.ts';

const FORMAT = { name: 'assay-attribution', version: 1 } as const;
/** Ten million deposit addresses of 300 bytes, and as many facts. */
const MAP_BYTES = 64 * 1024 ** 3;

/** A deposit address, or an account that may become one. */
export interface DepositRecord {
  /** Number of the entity in `DepositState.entities`, from 1. */
  readonly entity: number;
  readonly kind: AccountKind;
  readonly fundedBy: number | null;
  /** The newest ones, oldest first. */
  readonly forwardings: readonly Forwarding[];
  /** Older forwardings, which are only counted. */
  readonly older: number;
  readonly firstMs: number;
}

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

/** A block that can be reverted, with the accounts that it may have changed. */
export interface NotedBlock {
  readonly hash: string;
  readonly firstOrdinal: number;
  readonly count: number;
  readonly nodes: readonly number[];
}

/** Something that a log proves about an address. */
export interface Fact {
  /** Id of the rule. */
  readonly rule: string;
  /** Id of the factory, token or other source of the log. */
  readonly by: string;
  readonly kind: string;
  readonly blockNumber: number;
  readonly txHash: string;
  readonly logIndex: number;
  /** Milliseconds since the epoch; null if not known. */
  readonly timestampMs: number | null;
  /** Further values of the event, such as the two tokens of a pool. */
  readonly values: Readonly<Record<string, string>>;
}

/** How far logs were read for one source of facts. */
export interface LogCursor {
  readonly nextBlock: number;
  /** Hash of the block before it, if it can still be reverted; null if it is final or unknown. */
  readonly hash: string | null;
  readonly facts: number;
}

type PackedDeposit = readonly [
  entity: number,
  kind: number,
  fundedBy: number | null,
  older: number,
  firstMs: number,
  forwardings: readonly number[],
];

const KINDS: readonly AccountKind[] = ['unknown', 'account', 'contract', 'delegated'];

const packDeposit = (record: DepositRecord): PackedDeposit => [
  record.entity,
  KINDS.indexOf(record.kind),
  record.fundedBy,
  record.older,
  record.firstMs,
  record.forwardings.flatMap(({ out, in: first, timestampMs }) => [out, first, timestampMs]),
];

function unpackDeposit([entity, kind, fundedBy, older, firstMs, flat]: PackedDeposit): DepositRecord {
  const forwardings: Forwarding[] = [];
  for (let at = 0; at + 2 < flat.length; at += 3)
    forwardings.push({
      out: flat[at] as number,
      in: flat[at + 1] as number,
      timestampMs: flat[at + 2] as number,
    });
  return { entity, kind: KINDS[kind] ?? 'unknown', fundedBy, older, firstMs, forwardings };
}

/** Returns how many forwardings a record has. */
export const forwardingsOf = ({ older, forwardings }: Pick<DepositRecord, 'older' | 'forwardings'>): number =>
  older + forwardings.length;

export interface AttributionStore {
  depositState(): DepositState | null;
  setDepositState(state: DepositState): void;
  deposit(node: number): DepositRecord | null;
  putDeposit(node: number, record: DepositRecord): void;
  removeDeposit(node: number): void;
  /** All records, in the order of nodes. */
  deposits(): IterableIterator<readonly [node: number, record: DepositRecord]>;
  depositCount(): number;
  /** Forgets all deposit addresses, their state and the noted blocks. */
  clearDeposits(): void;
  blocks(): ReadonlyMap<number, NotedBlock>;
  setBlock(height: number, block: NotedBlock): void;
  removeBlock(height: number): void;
  /** Returns the facts about an address, oldest first. */
  facts(key: Uint8Array): readonly Fact[];
  /** Adds a fact; the same log again is a no-op. Returns true if it was new. */
  addFact(key: Uint8Array, fact: Fact): boolean;
  /** Removes the facts of `by` from blocks of `fromBlock` on. Returns how many. */
  removeFacts(by: string, fromBlock: number): number;
  /** All facts, in the order of addresses. */
  allFacts(): IterableIterator<readonly [key: Buffer, facts: readonly Fact[]]>;
  cursor(by: string): LogCursor | null;
  setCursor(by: string, cursor: LogCursor): void;
  /** Runs `work` in one transaction. */
  write<T>(work: () => T): T;
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

/** Address keys have at most 60 bytes; a fact's number follows. */
const factKey = (key: Uint8Array, number: number): Buffer => {
  const bytes = Buffer.alloc(key.length + 5);
  bytes[0] = key.length;
  bytes.set(key, 1);
  bytes.writeUInt32BE(number, key.length + 1);
  return bytes;
};

const isSameLog = (a: Fact, b: Fact): boolean =>
  a.by === b.by && a.kind === b.kind && a.txHash === b.txHash && a.logIndex === b.logIndex;

class LmdbAttributions implements AttributionStore {
  readonly #root: RootDatabase;
  readonly #meta: Database<unknown, string>;
  readonly #deposits: Database<PackedDeposit, number>;
  readonly #blocks: Database<NotedBlock, number>;
  readonly #facts: Database<Fact, Uint8Array>;

  constructor(root: RootDatabase, meta: Database<unknown, string>) {
    this.#root = root;
    this.#meta = meta;
    this.#deposits = root.openDB({ name: 'deposits', encoding: 'msgpack', keyEncoding: 'uint32' });
    this.#blocks = root.openDB({ name: 'blocks', encoding: 'msgpack', keyEncoding: 'uint32' });
    this.#facts = root.openDB({ name: 'facts', encoding: 'msgpack', keyEncoding: 'binary' });
  }

  depositState(): DepositState | null {
    return (this.#meta.get('deposits') as DepositState | undefined) ?? null;
  }

  setDepositState(state: DepositState): void {
    this.#meta.putSync('deposits', state);
  }

  deposit(node: number): DepositRecord | null {
    const packed = this.#deposits.get(node);
    return packed === undefined ? null : unpackDeposit(packed);
  }

  putDeposit(node: number, record: DepositRecord): void {
    this.#deposits.putSync(node, packDeposit(record));
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

  blocks(): ReadonlyMap<number, NotedBlock> {
    return new Map([...this.#blocks.getRange({})].map(({ key, value }) => [key, value]));
  }

  setBlock(height: number, block: NotedBlock): void {
    this.#blocks.putSync(height, block);
  }

  removeBlock(height: number): void {
    this.#blocks.removeSync(height);
  }

  #factsOf(key: Uint8Array): { readonly number: number; readonly fact: Fact }[] {
    return [...this.#facts.getRange({ start: factKey(key, 0), end: factKey(key, 0xffffffff) })].map(
      ({ key: at, value }) => ({ number: Buffer.from(at).readUInt32BE(key.length + 1), fact: value }),
    );
  }

  facts(key: Uint8Array): readonly Fact[] {
    return this.#factsOf(key)
      .map(({ fact }) => fact)
      .sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  }

  addFact(key: Uint8Array, fact: Fact): boolean {
    const known = this.#factsOf(key);
    if (known.some((one) => isSameLog(one.fact, fact))) return false;
    const number = (known.at(-1)?.number ?? 0) + 1;
    this.#facts.putSync(factKey(key, number), fact);
    return true;
  }

  removeFacts(by: string, fromBlock: number): number {
    const gone: Uint8Array[] = [];
    for (const { key, value } of this.#facts.getRange({}))
      if (value.by === by && value.blockNumber >= fromBlock) gone.push(Buffer.from(key));
    for (const key of gone) this.#facts.removeSync(key);
    return gone.length;
  }

  *allFacts(): IterableIterator<readonly [key: Buffer, facts: readonly Fact[]]> {
    let current: Buffer | null = null;
    let facts: Fact[] = [];
    for (const { key, value } of this.#facts.getRange({})) {
      const bytes = Buffer.from(key);
      const address = bytes.subarray(1, 1 + (bytes[0] as number));
      if (current !== null && !current.equals(address)) {
        yield [current, facts];
        facts = [];
      }
      current = Buffer.from(address);
      facts.push(value);
    }
    if (current !== null) yield [current, facts];
  }

  cursor(by: string): LogCursor | null {
    return (this.#meta.get(`cursor ${by}`) as LogCursor | undefined) ?? null;
  }

  setCursor(by: string, cursor: LogCursor): void {
    this.#meta.putSync(`cursor ${by}`, cursor);
  }

  write<T>(work: () => T): T {
    return this.#root.transactionSync(work);
  }

  async flushed(): Promise<void> {
    await this.#root.flushed;
  }

  close(): Promise<void> {
    return this.#root.close();
  }
}
