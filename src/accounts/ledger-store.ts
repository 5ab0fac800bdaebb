/**
 * The file of the ledger on LMDB: entries in one global sequence, the last entry of each account in memory, and the index of last entries,
 * which is written later in large slices. It applies no rules of credits: ledger-changes.ts does.
 */
import { openLiveStore } from '../state/live-store.ts';
import type { Database, RootDatabase } from '../state/lmdb.ts';
import type { LedgerReport } from './ledger.ts';
import { decodeEntry, EMPTY_HEAD, encodeEntry, type Head, type StoredEntry } from './ledger-entry.ts';
import { checkLedger } from './ledger-verify.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export const FORMAT_VERSION = 1;

/** The credits that an event took, and from which pools. */
export interface EventCost {
  readonly accountId: string;
  readonly total: number;
  readonly free: number;
  readonly granted: number;
}

/** A write of the index in slices that is in progress. */
interface IndexWrite {
  readonly accounts: readonly string[];
  /** Position of the next account. */
  at: number;
  /** The index covers all entries up to this sequence once the write is complete. */
  readonly through: number;
}

export interface LedgerStoreDeps {
  /** Called when the entries of a transaction of this process were read from the disk before its promise resolved. */
  readonly onOwnCommitRead: () => void;
}

/** Entries, heads and index of one ledger file. */
export class LedgerStore {
  readonly #root: RootDatabase;
  readonly #meta: Database<number, string>;
  readonly #entries: Database<Buffer, number>;
  /** Account → sequence of its last entry, at least as of `#indexedThrough`. */
  readonly #index: Database<number, string>;
  readonly #onOwnCommitRead: () => void;
  /** Name of an event → sequence of its entry. */
  readonly once: Database<number, string>;
  /** Name of an event that may be settled again → its cost so far. */
  readonly costs: Database<EventCost, string>;
  /** Slot → stored response. */
  readonly answers: Database<Buffer, Buffer>;
  /** Time and slot of each stored response → its account. */
  readonly endings: Database<Buffer, Buffer>;

  /** Accounts as of `#applied`. An account that is missing here has no entry after `#indexedThrough`. */
  readonly #heads = new Map<string, Head>();
  /** Accounts with entries after the index. */
  #unindexed = new Set<string>();
  #indexWrite: IndexWrite | null = null;
  /** All entries up to this sequence are in `#heads` or in the index. */
  #applied = 0;
  #indexedThrough = 0;
  /** Whether indexed accounts may be evicted after the transaction is on the disk. */
  #evictNext = false;
  /** Whether this turn of the event loop has read the entries of other processes. */
  #isFresh = false;
  /** Heads of the current transaction, which shadow the committed ones until it is on the disk. */
  #pending = new Map<string, StoredEntry>();
  #lastPending = 0;

  /**
   * Opens (or creates) the file at `path`, and reads the entries after its index.
   *
   * @throws STORE_VERSION, STORE_CORRUPT
   */
  constructor(path: string, deps: LedgerStoreDeps) {
    const { root, meta } = openLiveStore(path, FORMAT_VERSION);
    const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
    this.#root = root;
    this.#meta = meta;
    this.#onOwnCommitRead = deps.onOwnCommitRead;
    this.#entries = root.openDB({ name: 'entries', encoding: 'binary', keyEncoding: 'uint32' });
    this.#index = root.openDB({ name: 'index', encoding: 'json' });
    this.once = root.openDB({ name: 'once', encoding: 'json' });
    this.costs = root.openDB({ name: 'costs', encoding: 'json' });
    this.answers = root.openDB({ name: 'answers', ...binary });
    this.endings = root.openDB({ name: 'endings', ...binary });
    this.reload();
  }

  /** Sequence of the last committed entry that is known. */
  get applied(): number {
    return this.#applied;
  }

  /** Sequence of the last entry, including those of the current transaction. */
  get lastPending(): number {
    return this.#lastPending;
  }

  /** Reads an entry. Throws STORE_CORRUPT if it does not exist or is damaged. */
  readEntry(sequence: number): StoredEntry {
    return decodeEntry(sequence, this.#entries.getBinaryFast(sequence));
  }

  /** Reads the entries of other processes, at most once in each turn of the event loop. */
  refresh(): void {
    if (this.#isFresh) return;
    this.#isFresh = true;
    setImmediate(() => {
      this.#isFresh = false;
    });
    this.#root.resetReadTxn();
    this.#catchUp();
  }

  /** Returns the last committed entry of an account. */
  headOf(accountId: string): Head {
    const cached = this.#heads.get(accountId);
    if (cached !== undefined) return cached;
    const sequence = this.#index.get(accountId);
    const head = sequence === undefined ? EMPTY_HEAD : this.readEntry(sequence);
    this.#heads.set(accountId, head);
    return head;
  }

  /** Rebuilds the state in memory from the file. */
  reload(): void {
    this.#root.resetReadTxn();
    this.#heads.clear();
    this.#unindexed = new Set();
    this.#indexWrite = null;
    this.#indexedThrough = this.#meta.get('indexedThrough') ?? 0;
    this.#applied = this.#indexedThrough;
    this.#catchUp();
  }

  /** Runs `work` in a durable transaction. */
  transaction(work: () => void): Promise<void> {
    return this.#root.transaction(work);
  }

  // Until `settle` or `rollBack`, the methods below run inside a transaction.

  /** Begins a batch of changes: reads the entries of other processes, so that the newest balances decide. */
  begin(): void {
    this.#pending = new Map();
    this.#catchUp();
    this.#lastPending = this.#applied;
  }

  /** Returns the last entry of an account, including those of the current transaction. */
  pendingHead(accountId: string): Head {
    return this.#pending.get(accountId) ?? this.headOf(accountId);
  }

  /** Writes the next entry; its sequence must be `lastPending + 1`. */
  append(entry: StoredEntry): void {
    this.#entries.putSync(entry.sequence, encodeEntry(entry), { append: true });
    this.#lastPending = entry.sequence;
    this.#pending.set(entry.accountId, entry);
  }

  /** Ends a batch: writes a slice of the index if it is due, and the last sequence. */
  finish(): void {
    this.#writeIndex(false);
    if (this.#lastPending > this.#applied) this.#meta.putSync('last', this.#lastPending);
  }

  /** Takes over the entries of the transaction, after it is on the disk. */
  settle(): void {
    for (const entry of this.#pending.values()) this.#takeOver(entry);
    this.#applied = Math.max(this.#applied, this.#lastPending);
    this.#root.resetReadTxn();
    if (this.#evictNext) this.#evict();
    this.#pending = new Map();
  }

  /** Discards the entries of a transaction that was not written. */
  rollBack(): void {
    this.#pending = new Map();
  }

  /** Checks every entry and the index. Safe while servers are running. */
  verify(onProgress: (checked: number, total: number) => void): Promise<LedgerReport> {
    return checkLedger(
      {
        last: () => {
          this.#root.resetReadTxn();
          return this.#meta.get('last') ?? 0;
        },
        read: (sequence) => this.readEntry(sequence),
        indexed: () => ({
          through: this.#meta.get('indexedThrough') ?? 0,
          rows: this.#index.getRange(),
        }),
        extraEntry: (last) => this.#entries.get(last + 1) !== undefined,
      },
      onProgress,
    );
  }

  /** Writes the whole index in one durable transaction. */
  writeWholeIndex(): Promise<void> {
    return this.#root.transaction(() => {
      this.#catchUp();
      this.#lastPending = this.#applied;
      this.#writeIndex(true);
      if (this.#indexWrite === null && this.#unindexed.size > 0) this.#writeIndex(true);
    });
  }

  close(): Promise<void> {
    return this.#root.close();
  }

  /** Reads the entries after `#applied`: those of other processes, or at startup those after the index. */
  #catchUp(): void {
    const last = this.#meta.get('last') ?? 0;
    for (let sequence = this.#applied + 1; sequence <= last; sequence++)
      this.#takeOver(this.readEntry(sequence));
    if (last > this.#applied) this.#applied = last;
    if (this.#pending.size > 0 && this.#applied >= this.#lastPending) this.#onOwnCommitRead();
  }

  /**
   * Adds a committed entry to `#heads`, unless a later entry of its account is there: a commit resolves some time after it is on the disk,
   * and `#catchUp` may have read it before, together with later entries of other processes.
   */
  #takeOver(entry: StoredEntry): void {
    const { accountId } = entry;
    if (entry.sequence > (this.#heads.get(accountId)?.sequence ?? 0)) this.#heads.set(accountId, entry);
    this.#unindexed.add(accountId);
  }

  /** Writes the next slice of the index if it lags far behind, or all of it. Must run inside a transaction. */
  #writeIndex(all: boolean): void {
    const isFull = this.#heads.size > ACCOUNT_LIMITS.ledgerHeadsMax;
    const lags = this.#lastPending - this.#indexedThrough > ACCOUNT_LIMITS.ledgerIndexLagMax || isFull;
    // Until all slices are written, their accounts are known only in memory, so none may be evicted.
    if (isFull && this.#unindexed.size === 0 && this.#indexWrite === null) this.#evictNext = true;
    if (this.#indexWrite === null && this.#unindexed.size > 0 && (lags || all)) {
      this.#indexWrite = { accounts: [...this.#unindexed].sort(), at: 0, through: this.#applied };
      this.#unindexed = new Set();
    }
    const write = this.#indexWrite;
    if (write === null) return;
    const { accounts, through } = write;
    const end = all
      ? accounts.length
      : Math.min(accounts.length, write.at + ACCOUNT_LIMITS.ledgerIndexSliceMax);
    for (; write.at < end; write.at++) {
      const accountId = accounts[write.at] as string;
      const head = this.#heads.get(accountId);
      if (head !== undefined && head.sequence > 0) this.#index.putSync(accountId, head.sequence);
    }
    if (end < accounts.length) return;
    this.#indexWrite = null;
    this.#indexedThrough = Math.max(this.#indexedThrough, through, this.#meta.get('indexedThrough') ?? 0);
    this.#meta.putSync('indexedThrough', this.#indexedThrough);
    this.#evictNext = this.#heads.size > ACCOUNT_LIMITS.ledgerHeadsMax;
  }

  #evict(): void {
    this.#evictNext = false;
    for (const accountId of this.#heads.keys())
      if (!this.#unindexed.has(accountId)) this.#heads.delete(accountId);
  }
}
