/**
 * The store of keys on LMDB: records by id, ids by the SHA-256 of the key, accounts with their plan. Several processes may change it. Each
 * process reads a generation number in the same environment once per turn of its event loop; if it has changed, the process clears its
 * cache of verified keys.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../state/live-store.ts';
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
  type KeyRecord,
  type KeyStore,
  LOCAL_ACCOUNT,
  type NewKey,
  PERMISSIONS,
  type Permission,
} from './keys.ts';
import { PLAN_NAMES, type PlanName, type RateOverrides, readRateOverrides } from './plans.ts';
import { VerifiedKeys } from './verified-keys.ts';

export const FORMAT_VERSION = 1;

/** How long a `lastUsedAt` waits for its batch. */
const LAST_USED_FLUSH_MS = 60_000;

/** The stored row of a key: the record without the fields that are stored elsewhere. */
interface KeyRow extends Omit<KeyRecord, 'lastUsedAt' | 'plan'> {
  /** SHA-256 of the key, hex. */
  readonly hash: string;
}

interface AccountRow {
  readonly plan: PlanName;
  readonly createdAt: string;
  readonly disabled?: boolean;
}

/** The keys of an account are adjacent. */
type AccountKey = [accountId: string, keyId: string];

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
  const fits = trimmed.length >= 1 && trimmed.length <= LIMITS.keyNameMax && !CONTROL.test(trimmed);
  if (!fits) throw invalid('name', `a text of 1 to ${LIMITS.keyNameMax} characters on one line`);
  return trimmed;
}

function checkPermissions(permissions: readonly string[]): readonly Permission[] {
  for (const permission of permissions) {
    if (!PERMISSIONS.some((known) => known === permission))
      throw invalid('permissions', `a list of: ${PERMISSIONS.join(', ')}`);
  }
  return PERMISSIONS.filter((known) => permissions.includes(known));
}

function checkAccountId(accountId: string): string {
  if (/^[0-9A-Za-z_-]{1,64}$/.test(accountId)) return accountId;
  throw invalid('accountId', '1 to 64 letters, digits, hyphens or underscores');
}

function checkPlan(plan: PlanName): PlanName {
  if (PLAN_NAMES.includes(plan)) return plan;
  throw invalid('plan', `one of ${PLAN_NAMES.join(', ')}`);
}

/**
 * Opens (or creates) the store file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openKeyStore(
  options: { path: string; lastUsedFlushMs?: number },
  deps: KeyStoreDeps,
): KeyStore {
  const { openStore = openLiveStore } = deps;
  const store = openStore(options.path, FORMAT_VERSION, { name: 'keys' });
  const { root, meta } = store;
  const rows: LiveDatabase<KeyRow, string> = root.openDB({ name: 'keys', encoding: 'json' });
  const idByHash: LiveDatabase<string, Buffer> = root.openDB({
    name: 'idByHash',
    encoding: 'json',
    keyEncoding: 'binary',
  });
  const accounts: LiveDatabase<AccountRow, string> = root.openDB({ name: 'accounts', encoding: 'json' });
  const lastUsed: LiveDatabase<number, string> = root.openDB({ name: 'lastUsed', encoding: 'json' });
  const byAccount: LiveDatabase<true, AccountKey> = root.openDB({ name: 'byAccount', encoding: 'json' });
  store.upgrade(() => {
    // The store is older than this index.
    if (meta.get('byAccount') !== undefined) return;
    for (const { value } of rows.getRange()) byAccount.putSync([value.accountId, value.id], true);
    meta.putSync('byAccount', 1);
  });

  const digestOf = createTokenDigest(deps.random);
  const digest = new Uint32Array(4);
  const verified = new VerifiedKeys(LIMITS.verifiedKeysMax);
  /** The generation number as last read from the store. */
  let storedGeneration = -1;
  /** Counts how often the cache was cleared. */
  let generation = 0;
  /** Whether this turn of the event loop has read the generation number, and the time of the turn. */
  let looked = false;
  let turnMs = 0;

  store.onApplied((writes) => {
    // The stored number is not compared after writes of other nodes: another history may have the same number.
    if (writes.some(({ database }) => database !== 'lastUsed')) storedGeneration = -1;
  });

  /** Once per turn: reads the clock, and clears the cache if the store has changed. Throws NOT_READY if the store is not current. */
  function look(): void {
    store.requireCurrent();
    looked = true;
    setImmediate(() => {
      looked = false;
    });
    turnMs = deps.clock.now();
    root.resetReadTxn();
    const stored = meta.get('generation') ?? 0;
    if (stored === storedGeneration) return;
    rememberUse();
    verified.clear();
    storedGeneration = stored;
    generation++;
  }

  /** Times of last use that are not written yet, by key id, in ms since the epoch. */
  const unwritten = new Map<string, number>();

  function rememberUse(): void {
    for (const key of verified.values()) {
      if (key.lastUsedMs <= key.writtenMs) continue;
      unwritten.set(key.record.id, key.lastUsedMs);
      key.writtenMs = key.lastUsedMs;
    }
  }

  async function writeUse(): Promise<void> {
    rememberUse();
    if (unwritten.size === 0) return;
    const batch = [...unwritten];
    unwritten.clear();
    try {
      await root.transaction(() => {
        // Another node may have recorded a later use.
        for (const [id, usedMs] of batch) if (usedMs > (lastUsed.get(id) ?? 0)) lastUsed.putSync(id, usedMs);
      });
    } catch (error) {
      // Written with the next batch: one time per key, however long the disk is full.
      for (const [id, usedMs] of batch) if (!unwritten.has(id)) unwritten.set(id, usedMs);
      throw error;
    }
  }

  const writeUseOrSay = (): Promise<void> =>
    writeUse().catch((error: unknown) =>
      deps.log.error({ reason: messageOf(error) }, 'last use of keys not written'),
    );
  const timer = setInterval(() => void writeUseOrSay(), options.lastUsedFlushMs ?? LAST_USED_FLUSH_MS);
  timer.unref();

  const planOf = (accountId: string): PlanName | null => accounts.get(accountId)?.plan ?? null;

  const isDisabled = (accountId: string): boolean => accounts.get(accountId)?.disabled ?? false;

  function recordOf(row: KeyRow): KeyRecord {
    const { hash: _, ...fields } = row;
    const usedMs = unwritten.get(row.id) ?? lastUsed.get(row.id);
    return {
      ...fields,
      lastUsedAt: usedMs === undefined ? null : isoTime(usedMs),
      plan: planOf(row.accountId) ?? 'FREE',
    };
  }

  /** Looks up a key that is not cached, by its SHA-256. */
  function verifyByHash(token: string): KeyRecord | null {
    if (!isTokenShaped(token)) return null;
    const hash = sha256(token);
    const id = idByHash.get(hash);
    const row = id === undefined ? undefined : rows.get(id);
    if (row === undefined || row.status !== 'ACTIVE' || isDisabled(row.accountId)) return null;
    return timingSafeEqual(hash, Buffer.from(row.hash, 'hex')) ? recordOf(row) : null;
  }

  /** Runs a change and increments the generation number in one durable transaction. */
  async function change<T>(work: () => T | AssayError): Promise<T> {
    const result = await root.transaction(() => {
      const outcome = work();
      if (!(outcome instanceof AssayError)) meta.putSync('generation', (meta.get('generation') ?? 0) + 1);
      return outcome;
    });
    if (result instanceof AssayError) throw result;
    look();
    return result;
  }

  const unknownKey = (): AssayError => new AssayError('NOT_FOUND', 'There is no key with this id.');

  return {
    verify(token) {
      if (token.length !== TOKEN_CHARS || !token.startsWith(TOKEN_PREFIX)) return null;
      if (!looked) look();
      digestOf(token, digest);
      const known = verified.find(digest);
      if (known !== undefined) {
        known.lastUsedMs = turnMs;
        return known.record;
      }
      const record = verifyByHash(token);
      if (record !== null && verified.isFull) {
        rememberUse();
        verified.clear();
      }
      if (record !== null) verified.add(digest, { record, lastUsedMs: turnMs, writtenMs: 0 });
      return record;
    },

    generation() {
      if (!looked) look();
      return generation;
    },

    get(id) {
      if (!looked) look();
      const row = rows.get(id);
      return row === undefined ? null : recordOf(row);
    },

    list(accountId) {
      if (!looked) look();
      rememberUse();
      const found: KeyRecord[] = [];
      if (accountId === undefined) {
        for (const { value } of rows.getRange()) found.push(recordOf(value));
      } else {
        // Ids are printable ASCII, so this range covers all keys of the account and no others.
        for (const [, id] of byAccount.getKeys({ start: [accountId, ''], end: [accountId, '\u007f'] })) {
          const row = rows.get(id);
          if (row !== undefined) found.push(recordOf(row));
        }
      }
      const place = (record: KeyRecord): string => record.createdAt + record.id;
      return found.sort((a, b) => (place(a) < place(b) ? -1 : 1));
    },

    planOf(accountId) {
      if (!looked) look();
      return planOf(accountId);
    },

    isDisabled(accountId) {
      if (!looked) look();
      return isDisabled(accountId);
    },

    async addAccount(accountId, plan) {
      checkAccountId(accountId);
      checkPlan(plan);
      const createdAt = isoTime(deps.clock.now());
      await change(() => {
        if (accounts.get(accountId) === undefined) accounts.putSync(accountId, { plan, createdAt });
        return accountId;
      });
    },

    async setDisabled(accountId, disabled) {
      await change(() => {
        const found = accounts.get(accountId);
        if (found === undefined)
          return new AssayError('NOT_FOUND', `There is no account '${accountId}'.`, { field: 'accountId' });
        accounts.putSync(accountId, { ...found, disabled });
        return found;
      });
    },

    async create(key: NewKey): Promise<CreatedKey> {
      const name = checkName(key.name);
      const accountId = checkAccountId(key.accountId ?? LOCAL_ACCOUNT);
      const plan = key.plan === undefined ? null : checkPlan(key.plan);
      const permissions = checkPermissions(key.permissions ?? PERMISSIONS);
      const rateLimits: RateOverrides = readRateOverrides(key.rateLimits ?? {}, 'rateLimits', invalid);
      const apiKey = newToken(deps.random);
      const hash = sha256(apiKey);
      const createdAt = isoTime(deps.clock.now());
      const row: KeyRow = {
        id: `key_${Buffer.from(deps.random.bytes(12)).toString('hex')}`,
        name,
        ...visibleParts(apiKey),
        permissions,
        status: 'ACTIVE',
        createdAt,
        revokedAt: null,
        accountId,
        rateLimits,
        hash: hash.toString('hex'),
      };
      await change(() => {
        if (key.isFirst && rows.getKeysCount({ limit: 1 }) > 0)
          return invalid('isFirst', 'omitted, because the store already has a key');
        const account = accounts.get(accountId);
        if (account !== undefined && plan !== null && account.plan !== plan)
          return invalid('plan', `omitted or ${account.plan}, the plan of account '${accountId}'`);
        if (account === undefined) accounts.putSync(accountId, { plan: plan ?? 'FREE', createdAt });
        rows.putSync(row.id, row);
        idByHash.putSync(hash, row.id);
        byAccount.putSync([accountId, row.id], true);
        return row;
      });
      return { record: recordOf(row), apiKey };
    },

    async revoke(id) {
      const revokedAt = isoTime(deps.clock.now());
      const row = await change(() => {
        const found = rows.get(id);
        if (found === undefined) return unknownKey();
        if (found.status === 'REVOKED') return found;
        const revoked: KeyRow = { ...found, status: 'REVOKED', revokedAt };
        rows.putSync(id, revoked);
        return revoked;
      });
      return recordOf(row);
    },

    async setPermission(id, permission, enabled) {
      checkPermissions([permission]);
      const row = await change(() => {
        const found = rows.get(id);
        if (found === undefined) return unknownKey();
        if (found.status === 'REVOKED')
          return new AssayError('INVALID_REQUEST', 'The key is revoked and cannot be changed.');
        const wanted = enabled
          ? [...found.permissions, permission]
          : found.permissions.filter((held) => held !== permission);
        const changed: KeyRow = { ...found, permissions: checkPermissions(wanted) };
        rows.putSync(id, changed);
        return changed;
      });
      return recordOf(row);
    },

    async setPlan(accountId, plan) {
      checkPlan(plan);
      await change(() => {
        const found = accounts.get(accountId);
        if (found === undefined)
          return new AssayError('NOT_FOUND', `There is no account '${accountId}'.`, { field: 'accountId' });
        accounts.putSync(accountId, { ...found, plan });
        return found;
      });
    },

    async close() {
      clearInterval(timer);
      await writeUseOrSay();
      await root.close();
    },
  };
}
