/**
 * The store of keys on LMDB: records by id, ids by the SHA-256 of the key, accounts with their plan. Several processes may change it. Each
 * process reads a generation number in the same environment once per turn of its event loop; if it has changed, the process clears its
 * cache of verified keys.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../state/live-store.ts';
import { newCounterMemo } from './counter-memo.ts';
import {
  createTokenDigest,
  isTokenShaped,
  newToken,
  TOKEN_CHARS,
  TOKEN_PREFIX,
  visibleParts,
} from './key-token.ts';
import {
  type CreatedKey,
  descendantsOf,
  type KeyReceipts,
  type KeyRecord,
  type KeyStore,
  LOCAL_ACCOUNT,
  type NewKey,
  PAY_PER_CALL_ACCOUNT,
  PERMISSIONS,
  type Permission,
} from './keys.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import { PLAN_NAMES, type PlanName, type RateOverrides, readRateOverrides } from './plans.ts';
import { VerifiedKeys } from './verified-keys.ts';

export const FORMAT_VERSION = 1;

/** How long a `lastUsedAt` waits for its batch. */
const LAST_USED_FLUSH_MS = 60_000;

/** The stored row of a key: the record without the fields that are stored elsewhere. */
interface KeyRow extends Omit<KeyRecord, 'lastUsedAt' | 'plan' | 'createdBy' | 'receipts'> {
  /** Absent in stores of an earlier version, as is `receipts`. */
  readonly createdBy?: string | null;
  readonly receipts?: KeyReceipts;
  /** SHA-256 of the key, hex. */
  readonly hash: string;
}

interface AccountRow {
  readonly plan: PlanName;
  readonly createdAt: string;
  readonly disabled?: boolean;
  readonly operator?: boolean;
}

/** The keys of an account are adjacent. */
type AccountKey = [accountId: string, keyId: string];

/**
 * The lists in which keys are found without reading those that were revoked years ago: an account may have many of them. They end with the
 * key's id.
 */
type ListKey =
  | [list: 'active', accountId: string, keyId: string]
  | [list: 'revoked', accountId: string, createdAt: string, keyId: string]
  | [list: 'created', creatorId: string, keyId: string];

const KEY_ID_PREFIX = 'key_';
/** Sorts after every id and every time in a key: both are printable ASCII. */
const PAST = '\u007f';
/** Name of the number of changes that the lists include. Versions of the program without them increment only the generation. */
const LISTED = 'listed';
/** Name of the number of times at which all keys were added to the lists. */
const LISTINGS = 'listings';
/** Keys that one transaction adds to the lists: 1 MB of a write set, and some 30 ms of the event loop. */
const LISTED_AT_ONCE = 2_000;

export interface KeyStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Default: a store on this machine. */
  readonly openStore?: OpenStore;
}

const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field} must be ${expected}.`, { field });

const sha256 = (token: string): Buffer => createHash('sha256').update(token).digest();

// biome-ignore lint/suspicious/noControlCharactersInRegex: a name must not contain control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

function checkName(name: string): string {
  const trimmed = name.trim();
  const fits = trimmed.length >= 1 && trimmed.length <= ACCOUNT_LIMITS.keyNameMax && !CONTROL.test(trimmed);
  if (!fits) throw invalid('name', `a text of 1 to ${ACCOUNT_LIMITS.keyNameMax} characters on one line`);
  return trimmed;
}

function checkPermissions(permissions: readonly string[]): readonly Permission[] {
  for (const permission of permissions) {
    if (!PERMISSIONS.some((known) => known === permission))
      throw invalid('permissions', `a list of: ${PERMISSIONS.join(', ')}`);
  }
  return PERMISSIONS.filter((permission) => permissions.includes(permission));
}

/** Sets of permissions by their names. */
const permissionSets = new Map<string, readonly Permission[]>();

/** Returns the same array for the same permissions: most keys have the same ones, and every request reads them. */
function shared(permissions: readonly Permission[]): readonly Permission[] {
  const names = permissions.join();
  const known = permissionSets.get(names);
  if (known !== undefined) return known;
  permissionSets.set(names, permissions);
  return permissions;
}

function checkAccountId(accountId: string): string {
  if (accountId === PAY_PER_CALL_ACCOUNT)
    throw invalid('accountId', 'another one: this account has no keys, because it holds payments of clients');
  if (/^[0-9A-Za-z_-]{1,64}$/.test(accountId)) return accountId;
  throw invalid('accountId', '1 to 64 letters, digits, hyphens or underscores');
}

function checkPlan(plan: PlanName): PlanName {
  if (PLAN_NAMES.includes(plan)) return plan;
  throw invalid('plan', `one of ${PLAN_NAMES.join(', ')}`);
}

/** Orders the oldest first. */
const byAge = (a: KeyRow | KeyRecord, b: KeyRow | KeyRecord): number =>
  a.createdAt + a.id < b.createdAt + b.id ? -1 : 1;

const unknownKey = (): AssayError => new AssayError('NOT_FOUND', 'There is no key with this id.');

const unknownAccount = (accountId: string): AssayError =>
  new AssayError('NOT_FOUND', `There is no account '${accountId}'.`, { field: 'accountId' });

export interface KeyStoreOptions {
  readonly path: string;
  readonly lastUsedFlushMs?: number;
  /** Plan of LOCAL_ACCOUNT, set when it is created. Default: FREE. */
  readonly localPlan?: PlanName;
}

/**
 * Opens (or creates) the store file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openKeyStore(options: KeyStoreOptions, deps: KeyStoreDeps): KeyStore {
  return new LmdbKeyStore(options, deps);
}

/** Databases of keys and accounts, the cache of verified keys, and the times of last use that wait for their batch. */
class LmdbKeyStore implements KeyStore {
  readonly #deps: KeyStoreDeps;
  readonly #localPlan: PlanName;
  readonly #store: LiveStore;
  readonly #root: LiveRoot;
  readonly #meta: LiveDatabase<number, string>;
  readonly #rows: LiveDatabase<KeyRow, string>;
  readonly #idByHash: LiveDatabase<string, Buffer>;
  readonly #accounts: LiveDatabase<AccountRow, string>;
  readonly #lastUsed: LiveDatabase<number, string>;
  readonly #byAccount: LiveDatabase<true, AccountKey>;
  readonly #lists: LiveDatabase<true, ListKey>;
  readonly #digestOf: (token: string, out: Uint32Array) => void;
  readonly #digest = new Uint32Array(4);
  readonly #verified = new VerifiedKeys(ACCOUNT_LIMITS.verifiedKeysMax);
  /** Times of last use that are not written yet, by key id, in ms since the epoch. */
  readonly #unwritten = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;
  /** Adds keys to the lists; null while none is missing. */
  #listing: Promise<void> | null = null;
  #isClosing = false;
  /** The generation number as last read from the store. */
  #storedGeneration = -1;
  /** Counts how often the cache was cleared. */
  #generation = 0;
  /** Whether this turn of the event loop has read the generation number, and the time of the turn. */
  #isFresh = false;
  #turnMs = 0;

  constructor(options: KeyStoreOptions, deps: KeyStoreDeps) {
    const { openStore = openLiveStore } = deps;
    const store = openStore(options.path, FORMAT_VERSION, { name: 'keys' });
    const { root, meta } = store;
    this.#deps = deps;
    this.#localPlan = options.localPlan ?? 'FREE';
    this.#store = store;
    this.#root = root;
    this.#meta = meta;
    this.#rows = root.openDB({ name: 'keys', encoding: 'json' });
    this.#idByHash = root.openDB({ name: 'idByHash', encoding: 'json', keyEncoding: 'binary' });
    this.#accounts = root.openDB({ name: 'accounts', encoding: 'json' });
    this.#lastUsed = root.openDB({ name: 'lastUsed', encoding: 'json' });
    this.#byAccount = root.openDB({ name: 'byAccount', encoding: 'json' });
    this.#lists = root.openDB({ name: 'lists', encoding: 'json' });
    store.upgrade(() => this.#indexByAccount());
    this.#digestOf = createTokenDigest(deps.random);
    store.onApplied((writes) => {
      // The stored number is not compared after writes of other nodes: another history may have the same number.
      if (writes.some(({ database }) => database !== 'lastUsed')) this.#storedGeneration = -1;
    });
    this.#timer = setInterval(() => {
      void this.#flushUse();
      this.#beginLists();
    }, options.lastUsedFlushMs ?? LAST_USED_FLUSH_MS);
    this.#timer.unref();
    this.#beginLists();
  }

  verify(token: string): KeyRecord | null {
    if (token.length !== TOKEN_CHARS || !token.startsWith(TOKEN_PREFIX)) return null;
    if (!this.#isFresh) this.#refresh();
    this.#digestOf(token, this.#digest);
    const cached = this.#verified.use(this.#digest, this.#turnMs);
    if (cached !== undefined) return cached;
    const record = this.#verifyByHash(token);
    if (record !== null && this.#verified.isFull) {
      this.#collectUse();
      this.#verified.clear();
    }
    if (record !== null) this.#verified.add(this.#digest, record, this.#turnMs);
    return record;
  }

  generation(): number {
    if (!this.#isFresh) this.#refresh();
    return this.#generation;
  }

  get(id: string): KeyRecord | null {
    if (!this.#isFresh) this.#refresh();
    const row = this.#rows.get(id);
    return row === undefined ? null : this.#recordOf(row);
  }

  list(accountId?: string): readonly KeyRecord[] {
    if (!this.#isFresh) this.#refresh();
    this.#collectUse();
    const records: KeyRecord[] = [];
    if (accountId === undefined) {
      for (const { value } of this.#rows.getRange()) records.push(this.#recordOf(value));
    } else {
      records.push(...this.#rowsOf(accountId).map((row) => this.#recordOf(row)));
    }
    return records.sort(byAge);
  }

  active(accountId: string): readonly KeyRecord[] {
    if (!this.#isFresh) this.#refresh();
    this.#collectUse();
    return this.#activeOf(accountId).map((row) => this.#recordOf(row));
  }

  shown(accountId: string, revokedMax: number): readonly KeyRecord[] {
    if (!this.#isFresh) this.#refresh();
    this.#collectUse();
    const rows = [...this.#activeOf(accountId), ...this.#newestRevokedOf(accountId, revokedMax)];
    return rows.map((row) => this.#recordOf(row)).sort(byAge);
  }

  descendants(id: string): readonly KeyRecord[] {
    if (!this.#isFresh) this.#refresh();
    this.#collectUse();
    return this.#descendantsOf(id).map((row) => this.#recordOf(row));
  }

  planOf(accountId: string): PlanName | null {
    if (!this.#isFresh) this.#refresh();
    return this.#planOf(accountId);
  }

  isDisabled(accountId: string): boolean {
    if (!this.#isFresh) this.#refresh();
    return this.#isDisabled(accountId);
  }

  isOperator(accountId: string): boolean {
    if (!this.#isFresh) this.#refresh();
    return this.#accounts.get(accountId)?.operator ?? false;
  }

  async addAccount(accountId: string, plan: PlanName): Promise<void> {
    checkAccountId(accountId);
    checkPlan(plan);
    const createdAt = isoTime(this.#deps.clock.now());
    await this.#change(() => {
      if (this.#accounts.get(accountId) === undefined) this.#accounts.putSync(accountId, { plan, createdAt });
      return accountId;
    });
  }

  setDisabled(accountId: string, disabled: boolean): Promise<void> {
    return this.#changeAccount(accountId, { disabled });
  }

  setOperator(accountId: string, operator: boolean): Promise<void> {
    return this.#changeAccount(accountId, { operator });
  }

  async create(key: NewKey): Promise<CreatedKey> {
    const name = checkName(key.name);
    const accountId = checkAccountId(key.accountId ?? LOCAL_ACCOUNT);
    const plan = key.plan === undefined ? null : checkPlan(key.plan);
    const permissions = checkPermissions(key.permissions ?? PERMISSIONS);
    const rateLimits: RateOverrides = readRateOverrides(key.rateLimits ?? {}, 'rateLimits', invalid);
    const apiKey = newToken(this.#deps.random);
    const hash = sha256(apiKey);
    const createdAt = isoTime(this.#deps.clock.now());
    const row: KeyRow = {
      id: `${KEY_ID_PREFIX}${Buffer.from(this.#deps.random.bytes(12)).toString('hex')}`,
      name,
      ...visibleParts(apiKey),
      permissions,
      status: 'ACTIVE',
      createdAt,
      revokedAt: null,
      createdBy: key.createdBy ?? null,
      accountId,
      rateLimits,
      receipts: key.receipts ?? 'none',
      hash: hash.toString('hex'),
    };
    await this.#change(() => {
      if (key.isFirst && this.#rows.getKeysCount({ limit: 1 }) > 0)
        return invalid('isFirst', 'omitted, because the store already has a key');
      // A key that was revoked while its request ran creates nothing: the revocation has already listed its descendants.
      const creator = key.createdBy === undefined ? undefined : this.#rows.get(key.createdBy);
      if (creator !== undefined && creator.status !== 'ACTIVE')
        return new AssayError('UNAUTHENTICATED', 'The API key is invalid or was revoked.');
      const account = this.#accounts.get(accountId);
      if (account !== undefined && plan !== null && account.plan !== plan)
        return invalid('plan', `omitted or ${account.plan}, the plan of account '${accountId}'`);
      if (account === undefined) {
        const ofNew = accountId === LOCAL_ACCOUNT ? this.#localPlan : 'FREE';
        this.#accounts.putSync(accountId, { plan: plan ?? ofNew, createdAt });
      }
      this.#rows.putSync(row.id, row);
      this.#idByHash.putSync(hash, row.id);
      this.#byAccount.putSync([accountId, row.id], true);
      this.#enlist(row);
      return row;
    });
    return { record: this.#recordOf(row), apiKey };
  }

  async revoke(id: string): Promise<KeyRecord> {
    const revokedAt = isoTime(this.#deps.clock.now());
    const row = await this.#change(() => {
      const stored = this.#rows.get(id);
      return stored === undefined ? unknownKey() : this.#revoked(stored, revokedAt);
    });
    return this.#recordOf(row);
  }

  async revokeWithDescendants(id: string): Promise<readonly [KeyRecord, ...KeyRecord[]]> {
    const revokedAt = isoTime(this.#deps.clock.now());
    const [first, ...others] = await this.#change((): readonly [KeyRow, ...KeyRow[]] | AssayError => {
      const stored = this.#rows.get(id);
      if (stored === undefined) return unknownKey();
      const active = this.#descendantsOf(id).filter(({ status }) => status === 'ACTIVE');
      return [this.#revoked(stored, revokedAt), ...active.map((row) => this.#revoked(row, revokedAt))];
    });
    return [this.#recordOf(first), ...others.map((row) => this.#recordOf(row))];
  }

  /** Writes a row as revoked, unless it already is. Must run inside a transaction. */
  #revoked(row: KeyRow, revokedAt: string): KeyRow {
    if (row.status === 'REVOKED') return row;
    const revoked: KeyRow = { ...row, status: 'REVOKED', revokedAt };
    this.#rows.putSync(row.id, revoked);
    this.#enlist(revoked);
    return revoked;
  }

  /** Puts a new or changed row into its lists. Must run inside a transaction. */
  #enlist({ id, accountId, status, createdAt, createdBy }: KeyRow): void {
    if (status === 'ACTIVE') this.#lists.putSync(['active', accountId, id], true);
    else {
      this.#lists.removeSync(['active', accountId, id]);
      this.#lists.putSync(['revoked', accountId, createdAt, id], true);
    }
    // Others create keys, too: people, and the operator.
    if (createdBy?.startsWith(KEY_ID_PREFIX)) this.#lists.putSync(['created', createdBy, id], true);
  }

  /** Number of changes that the lists lack. */
  #unlisted(): number {
    return (this.#meta.get('generation') ?? 0) - (this.#meta.get(LISTED) ?? 0);
  }

  /** Returns false if a version of the program without the lists has changed keys: all keys are then read instead. */
  #isListed(): boolean {
    return this.#unlisted() === 0;
  }

  #beginLists(): void {
    this.#listing ??= this.#completeLists().finally(() => {
      this.#listing = null;
    });
  }

  /** Adds what the lists lack, in steps: one transaction of all keys would be too large to replicate. A failure is at most logged. */
  async #completeLists(): Promise<void> {
    try {
      this.#root.resetReadTxn();
      const missing = this.#unlisted();
      const listings = this.#meta.get(LISTINGS) ?? 0;
      if (missing === 0) return;
      for (let after: string | null = ''; after !== null && !this.#isClosing; ) {
        const start: string = after;
        after = await this.#root.transaction(() => this.#listSome(start, { missing, listings }));
      }
    } catch (error) {
      // Not while Redis cannot be reached, or has not been read yet: the next look completes them.
      if (error instanceof AssayError && error.code === 'NOT_READY') return;
      this.#deps.log.error({ reason: messageOf(error) }, 'lists of keys not completed');
    }
  }

  /**
   * Adds the keys after one id to the lists. Must run inside a transaction.
   *
   * @param begun - number of changes that the lists include after the last keys, and `LISTINGS` when that was read
   * @returns the last id; null if there are no further keys
   */
  #listSome(after: string, { missing, listings }: { missing: number; listings: number }): string | null {
    const rows = [...this.#rows.getRange({ start: after, limit: LISTED_AT_ONCE + 1 })];
    for (const { value } of rows) this.#enlist(value);
    const last = rows.at(-1)?.key;
    if (rows.length > LISTED_AT_ONCE && last !== undefined) return last;
    // Otherwise another process has added the same keys meanwhile.
    if (listings === (this.#meta.get(LISTINGS) ?? 0)) {
      this.#meta.putSync(LISTINGS, listings + 1);
      this.#meta.putSync(LISTED, (this.#meta.get(LISTED) ?? 0) + missing);
    }
    return null;
  }

  /** Returns the rows of keys in one list. */
  #rowsIn(start: ListKey, end: ListKey, limit: number, reverse = false): KeyRow[] {
    return [...this.#lists.getKeys({ start, end, limit, reverse })].flatMap(
      (key) => this.#rows.get(key.at(-1) as string) ?? [],
    );
  }

  /** Returns the active keys of an account, oldest first. */
  #activeOf(accountId: string): KeyRow[] {
    const rows = this.#isListed()
      ? this.#rowsIn(['active', accountId, ''], ['active', accountId, PAST], Number.MAX_SAFE_INTEGER)
      : this.#rowsOf(accountId);
    return rows.filter(({ status }) => status === 'ACTIVE').sort(byAge);
  }

  /** Returns the newest revoked keys of an account, newest first. */
  #newestRevokedOf(accountId: string, limit: number): KeyRow[] {
    const start: ListKey = ['revoked', accountId, PAST, ''];
    const end: ListKey = ['revoked', accountId, '', ''];
    if (this.#isListed()) return this.#rowsIn(start, end, limit, true);
    const revoked = this.#rowsOf(accountId).filter(({ status }) => status === 'REVOKED');
    return revoked.sort(byAge).reverse().slice(0, limit);
  }

  /** Returns the keys that a key created, those that they created, and so on, oldest first. */
  #descendantsOf(id: string): KeyRow[] {
    const accountId = this.#rows.get(id)?.accountId;
    if (accountId === undefined) return [];
    if (!this.#isListed()) return descendantsOf(this.#rowsOf(accountId), id).sort(byAge);
    const found = new Map<string, KeyRow>();
    const creators = [id];
    for (let creator = creators.pop(); creator !== undefined; creator = creators.pop())
      for (const row of this.#rowsIn(
        ['created', creator, ''],
        ['created', creator, PAST],
        Number.MAX_SAFE_INTEGER,
      )) {
        if (row.id === id || row.accountId !== accountId || found.has(row.id)) continue;
        found.set(row.id, row);
        creators.push(row.id);
      }
    return [...found.values()].sort(byAge);
  }

  async setPermission(id: string, permission: Permission, enabled: boolean): Promise<KeyRecord> {
    checkPermissions([permission]);
    return this.#changeKey(id, ({ permissions }) => {
      const wanted = enabled
        ? [...permissions, permission]
        : permissions.filter((each) => each !== permission);
      return { permissions: checkPermissions(wanted) };
    });
  }

  setReceipts(id: string, receipts: KeyReceipts): Promise<KeyRecord> {
    return this.#changeKey(id, () => ({ receipts }));
  }

  /** Changes fields of an active key. */
  async #changeKey(id: string, fields: (stored: KeyRow) => Partial<KeyRow>): Promise<KeyRecord> {
    const row = await this.#change(() => {
      const stored = this.#rows.get(id);
      if (stored === undefined) return unknownKey();
      if (stored.status === 'REVOKED')
        return new AssayError('INVALID_REQUEST', 'The key is revoked and cannot be changed.');
      const changed: KeyRow = { ...stored, ...fields(stored) };
      this.#rows.putSync(id, changed);
      return changed;
    });
    return this.#recordOf(row);
  }

  async setPlan(accountId: string, plan: PlanName): Promise<void> {
    checkPlan(plan);
    await this.#changeAccount(accountId, { plan });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#isClosing = true;
    await this.#listing;
    await this.#flushUse();
    await this.#root.close();
  }

  /** Once per turn: reads the clock, and clears the cache if the store has changed. Throws NOT_READY if the store is not current. */
  #refresh(): void {
    this.#store.requireCurrent();
    this.#isFresh = true;
    setImmediate(() => {
      this.#isFresh = false;
    });
    this.#turnMs = this.#deps.clock.now();
    this.#root.resetReadTxn();
    const stored = this.#meta.get('generation') ?? 0;
    if (stored === this.#storedGeneration) return;
    this.#collectUse();
    this.#verified.clear();
    this.#storedGeneration = stored;
    this.#generation++;
  }

  #collectUse(): void {
    this.#verified.takeUses((id, usedMs) => this.#unwritten.set(id, usedMs));
  }

  async #writeUse(): Promise<void> {
    this.#collectUse();
    if (this.#unwritten.size === 0) return;
    const batch = [...this.#unwritten];
    this.#unwritten.clear();
    try {
      await this.#root.transaction(() => {
        // Another node may have recorded a later use.
        for (const [id, usedMs] of batch)
          if (usedMs > (this.#lastUsed.get(id) ?? 0)) this.#lastUsed.putSync(id, usedMs);
      });
    } catch (error) {
      // Written with the next batch: one time per key, however long the disk is full.
      for (const [id, usedMs] of batch) if (!this.#unwritten.has(id)) this.#unwritten.set(id, usedMs);
      throw error;
    }
  }

  /** Writes the times of last use; a failure is only logged. */
  async #flushUse(): Promise<void> {
    try {
      await this.#writeUse();
    } catch (error) {
      this.#deps.log.error({ reason: messageOf(error) }, 'last use of keys not written');
    }
  }

  #recordOf(row: KeyRow): KeyRecord {
    const usedMs = this.#unwritten.get(row.id) ?? this.#lastUsed.get(row.id);
    // Written out: every request reads a record, and an object that is copied from another one is spread over the memory.
    return {
      id: row.id,
      name: row.name,
      prefix: row.prefix,
      last4: row.last4,
      permissions: shared(row.permissions),
      status: row.status,
      createdAt: row.createdAt,
      revokedAt: row.revokedAt,
      createdBy: row.createdBy ?? null,
      accountId: row.accountId,
      rateLimits: row.rateLimits,
      receipts: row.receipts ?? 'none',
      lastUsedAt: usedMs === undefined ? null : isoTime(usedMs),
      plan: this.#planOf(row.accountId) ?? 'FREE',
    };
  }

  /** Returns all keys of an account, in the order of their ids. */
  #rowsOf(accountId: string): KeyRow[] {
    const ids = this.#byAccount.getKeys({ start: [accountId, ''], end: [accountId, PAST] });
    return [...ids].flatMap(([, id]) => this.#rows.get(id) ?? []);
  }

  /** Looks up a key that is not cached, by its SHA-256. */
  #verifyByHash(token: string): KeyRecord | null {
    if (!isTokenShaped(token)) return null;
    const hash = sha256(token);
    const id = this.#idByHash.get(hash);
    const row = id === undefined ? undefined : this.#rows.get(id);
    if (row === undefined || row.status !== 'ACTIVE' || this.#isDisabled(row.accountId)) return null;
    if (!timingSafeEqual(hash, Buffer.from(row.hash, 'hex'))) return null;
    return Object.defineProperty(this.#recordOf(row), 'memo', { value: newCounterMemo() });
  }

  /** Runs a change and increments the generation number in one durable transaction. */
  async #change<T>(work: () => T | AssayError): Promise<T> {
    const result = await this.#root.transaction(() => {
      const outcome = work();
      if (outcome instanceof AssayError) return outcome;
      for (const number of ['generation', LISTED])
        this.#meta.putSync(number, (this.#meta.get(number) ?? 0) + 1);
      return outcome;
    });
    if (result instanceof AssayError) throw result;
    // The next call refreshes. Not here: it may throw, and the change was made.
    this.#isFresh = false;
    return result;
  }

  /** Builds the index by account, if the store is older than it. Must run inside a transaction. */
  #indexByAccount(): void {
    if (this.#meta.get('byAccount') !== undefined) return;
    for (const { value } of this.#rows.getRange()) this.#byAccount.putSync([value.accountId, value.id], true);
    this.#meta.putSync('byAccount', 1);
  }

  async #changeAccount(accountId: string, changes: Partial<Omit<AccountRow, 'createdAt'>>): Promise<void> {
    await this.#change(() => {
      const account = this.#accounts.get(accountId);
      if (account === undefined) return unknownAccount(accountId);
      this.#accounts.putSync(accountId, { ...account, ...changes });
      return account;
    });
  }

  #planOf(accountId: string): PlanName | null {
    return this.#accounts.get(accountId)?.plan ?? null;
  }

  #isDisabled(accountId: string): boolean {
    return this.#accounts.get(accountId)?.disabled ?? false;
  }
}
