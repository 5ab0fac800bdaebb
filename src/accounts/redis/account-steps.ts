/** Runs the atomic steps on an account in Redis: selects the keys of a step, decodes its reply, and supplies its clock. */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import { faultOf, isWriteRejection, type RedisStore } from '../../state/redis.ts';
import type { LedgerEntry } from '../ledger.ts';
import { decodeEntry, entryId, type StoredEntry, shownEntry } from '../ledger-entry.ts';
import { accountOfBalance, poolOf } from '../pools.ts';
import { type AccountOperation, accountScript } from './account-lua.ts';
import { StepBatches } from './step-batches.ts';
import type { Reply, StepValue } from './step-codec.ts';

export type { Reply } from './step-codec.ts';

type Argument = StepValue | null;

/** Names of the keys of each balance. */
export const BALANCE_KEYS = ['log', 'holds', 'events', 'held'] as const;
export type BalanceKey = (typeof BALANCE_KEYS)[number];

/**
 * Returns the key of a balance. Both balances of an account are in its slot, so that one step can count a request and charge either. The sum
 * of the holds of `api` is in the state of the account, as in releases with one balance.
 *
 * @param balance - id of the balance in the ledger
 */
export function balanceKey(redis: Pick<RedisStore, 'key'>, balance: string, name: BalanceKey): string {
  const slot = accountOfBalance(balance);
  if (poolOf(balance) === 'api') return redis.key(slot, name === 'held' ? 'state' : name);
  return redis.key(slot, `${poolOf(balance)}:${name}`);
}

/** Names of the keys of a step, in addition to those of the balance and the account's state. */
export interface StepKeys {
  /** Slot of a stored response, 32 bytes. */
  readonly slot?: Uint8Array;
  /** Expiring record of one step or event. */
  readonly mark?: string;
  /** Rate limit window: subject and class. */
  readonly rate?: string;
}

export interface AccountStepsDeps {
  readonly redis: RedisStore;
  readonly random: Random;
  /** Replaces the server's own clock, in tests. */
  readonly time?: Clock;
}

export interface AccountSteps {
  /**
   * Runs a step on a balance in one round trip, together with the other steps of this turn of the event loop. Rejects with NOT_READY if it is
   * unknown whether the step was executed, LEDGER_UNAVAILABLE if the server rejected it, for example because it has no memory left.
   */
  run(
    operation: AccountOperation,
    balance: string,
    args: readonly Argument[],
    keys?: StepKeys,
  ): Promise<Reply>;
  /** Like `run`, but resolves only after the required number of replicas has the writes. */
  runSafely: AccountSteps['run'];
  /** Returns a number of 16 digits that identifies one step, so that it is executed once however often it is sent. */
  nonce(): string;
  readonly time: Clock | undefined;
  readonly redis: RedisStore;
  /** Returns the key of a balance's log. */
  logOf(balance: string): string;
}

/** Nothing was executed. A server without memory accepts the same step when it has some. */
const refused = (cause: unknown): AssayError =>
  new AssayError('LEDGER_UNAVAILABLE', `Accounts cannot be changed: ${messageOf(cause)}`, {
    cause,
    ...(isWriteRejection(cause) ? { retryAfterSeconds: 1 } : {}),
  });

/** Digits of a nonce. */
const NONCE_DIGITS = 16;
const NONCE_BYTES = 8;
/** Random bytes that are drawn at once: a call of the generator costs more than its bytes. */
const DRAWN_BYTES = 256 * NONCE_BYTES;

/** Returns a function that returns another nonce at each call. */
function createNonces(random: Random): () => string {
  let drawn = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === drawn.length) {
      drawn = Buffer.from(random.bytes(DRAWN_BYTES));
      at = 0;
    }
    const digits = drawn.readBigUInt64BE(at).toString();
    at += NONCE_BYTES;
    return digits.slice(-NONCE_DIGITS).padStart(NONCE_DIGITS, '0');
  };
}

/** Returns the keys that a step may use. */
const keysOf = (redis: RedisStore, balance: string, names: readonly string[]): readonly string[] => [
  ...BALANCE_KEYS.map((name) => balanceKey(redis, balance, name)),
  ...['state', ...names]
    .filter((name) => name !== '')
    .map((name) => redis.key(accountOfBalance(balance), name)),
];

/** Defines the account script in Redis, and returns the functions that run its steps. */
export function createAccountSteps({ redis, random, time }: AccountStepsDeps): AccountSteps {
  const lua = accountScript();
  const plain = new StepBatches(redis.script('account', lua, { binary: true }));
  const safe =
    redis.replicas === 0
      ? plain
      : new StepBatches(redis.script('account', lua, { binary: true, safe: true }));
  const isCluster = redis.place.kind === 'cluster';

  const runBy =
    (batches: StepBatches): AccountSteps['run'] =>
    async (operation, balance, args, { slot, mark, rate } = {}) => {
      const accountId = accountOfBalance(balance);
      const values: StepValue[] = [operation, time === undefined ? '' : time.now(), balance];
      for (const each of args) values.push(each ?? '');
      const names = [
        slot === undefined ? '' : `kept:${Buffer.from(slot).toString('hex')}`,
        mark === undefined ? '' : `mark:${mark}`,
        rate === undefined ? '' : `rate:${rate}`,
      ];
      values.push(...names, poolOf(balance), redis.key(accountId, ''));
      const keys = isCluster ? keysOf(redis, balance, names) : [];
      try {
        return await batches.run(isCluster ? accountId : '', { keys, values });
      } catch (error) {
        // An error reply of one step of a script arrives unguarded.
        const fault = faultOf(error);
        throw fault instanceof AssayError ? fault : refused(fault);
      }
    };

  return {
    run: runBy(plain),
    runSafely: runBy(safe),
    nonce: createNonces(random),
    time,
    redis,
    logOf: (balance) => balanceKey(redis, balance, 'log'),
  };
}

/** Returns the number at a position of a reply. */
export const numberAt = (reply: Reply, position: number): number => Number(reply[position]);

/** Returns the bytes at a position of a reply; empty if there are none. */
export const bytesAt = (reply: Reply, position: number): Buffer => {
  const value = reply[position];
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
};

/** Returns the list at a position of a reply; empty if absent. */
export const listAt = (reply: Reply, position: number): Reply => {
  const value = reply[position];
  return Array.isArray(value) ? (value as Reply) : [];
};

/**
 * An entry id: the account's sequence, with the same length as in LMDB, followed by the nonce of the step that wrote the entry. Entries
 * that were transferred from LMDB have no nonce: they keep their id and its sequence, which no other account has.
 */
const ENTRY_ID = /^(\d{12})(\d{16})?$/;

/** An entry in the reply of a step: its sequence, its bytes, its nonce. */
export interface AccountEntry {
  readonly stored: StoredEntry;
  readonly nonce: string;
}

/**
 * Decodes an entry of a reply.
 *
 * @throws STORE_CORRUPT
 */
export function readEntry(reply: Reply): AccountEntry {
  const sequence = numberAt(reply, 0);
  return { stored: decodeEntry(sequence, bytesAt(reply, 1)), nonce: bytesAt(reply, 2).toString('latin1') };
}

/** Returns the entry's id, which is also a cursor: ids sort like the account's entries, and no two accounts share one. */
export const accountEntryId = ({ stored, nonce }: AccountEntry): string =>
  accountEntryIdOf(stored.sequence, nonce);

/** Returns the id of the entry with a sequence, which the step with a nonce wrote. */
export const accountEntryIdOf = (sequence: number, nonce: string): string => entryId(sequence) + nonce;

/** Returns an entry in the form of the API, with its id in Redis. */
export const shownAccountEntry = (entry: AccountEntry): LedgerEntry => ({
  ...shownEntry(entry.stored),
  id: accountEntryId(entry),
});

/** Parses an entry id; returns null if the text is not an id. */
export function entryNamed(id: string): { readonly sequence: number; readonly nonce: string } | null {
  const match = ENTRY_ID.exec(id);
  return match === null ? null : { sequence: Number(match[1]), nonce: match[2] ?? '' };
}
