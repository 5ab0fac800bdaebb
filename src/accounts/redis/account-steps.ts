/** Runs the atomic steps on an account in Redis: which keys a step touches, how its reply is read, and by whose clock it runs. */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { RedisStore } from '../../base/redis.ts';
import type { LedgerEntry } from '../ledger.ts';
import { decodeEntry, type StoredEntry, shownEntry } from '../ledger-entry.ts';
import { ACCOUNT_LUA, type AccountOperation } from './account-lua.ts';

/** A step's reply: numbers, texts as bytes, and lists of them. */
export type Reply = readonly (number | Buffer | Reply)[];

type Argument = string | number | Uint8Array | null;

/** Names of what a step touches beside the account's log, state, holds and events. */
export interface Touched {
  /** Key of a kept answer, of 32 bytes. */
  readonly slot?: Uint8Array;
  /** What is remembered of one step or event for a while. */
  readonly mark?: string;
  /** Window of a rate: whose and of which class. */
  readonly rate?: string;
}

export interface AccountStepsDeps {
  readonly redis: RedisStore;
  readonly random: Random;
  /** Stands in for the server's own clock, in tests. */
  readonly time?: Clock;
}

export interface AccountSteps {
  /**
   * One round trip. Rejects with NOT_READY where nobody knows whether it was done, LEDGER_UNAVAILABLE where the server refused it: one
   * that has no memory left, say.
   */
  run(
    operation: AccountOperation,
    accountId: string,
    args: readonly Argument[],
    touched?: Touched,
  ): Promise<Reply>;
  /** As `run`; and what was written is on as many replicas as are asked for once it resolves. */
  runSafely: AccountSteps['run'];
  /** A number of 16 digits that names one step, so that it is done once however often it is sent. */
  nonce(): string;
  readonly time: Clock | undefined;
  readonly redis: RedisStore;
  /** Key of an account's log. */
  logOf(accountId: string): string;
}

const refused = (cause: unknown): AssayError =>
  new AssayError('LEDGER_UNAVAILABLE', `Accounts cannot be changed: ${messageOf(cause)}`, { cause });

/** Digits of a nonce. */
const NONCE_DIGITS = 16;

export function createAccountSteps({ redis, random, time }: AccountStepsDeps): AccountSteps {
  const plain = redis.script('account', ACCOUNT_LUA, { binary: true });
  const safe = redis.script('account', ACCOUNT_LUA, { binary: true, safe: true });

  const runBy =
    (script: typeof plain): AccountSteps['run'] =>
    async (operation, accountId, args, { slot, mark, rate } = {}) => {
      const key = (name: string): string => redis.key(accountId, name);
      const log = key('log');
      const keys = [
        ...[log, key('state'), key('holds'), key('events')],
        slot === undefined ? log : key(`kept:${Buffer.from(slot).toString('hex')}`),
        mark === undefined ? log : key(`mark:${mark}`),
        rate === undefined ? log : key(`rate:${rate}`),
      ];
      const texts = args.map((each) =>
        each === null ? '' : typeof each === 'object' ? Buffer.from(each) : String(each),
      );
      const by = time === undefined ? '' : String(time.now());
      try {
        return (await script(keys, [operation, by, accountId, ...texts])) as Reply;
      } catch (error) {
        throw error instanceof AssayError ? error : refused(error);
      }
    };

  return {
    run: runBy(plain),
    runSafely: runBy(safe),
    nonce() {
      const digits = Buffer.from(random.bytes(8)).readBigUInt64BE().toString();
      return digits.slice(-NONCE_DIGITS).padStart(NONCE_DIGITS, '0');
    },
    time,
    redis,
    logOf: (accountId) => redis.key(accountId, 'log'),
  };
}

export const numberAt = (reply: Reply, position: number): number => Number(reply[position]);

export const bytesAt = (reply: Reply, position: number): Buffer => {
  const value = reply[position];
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
};

export const listAt = (reply: Reply, position: number): Reply => {
  const value = reply[position];
  return Array.isArray(value) ? (value as Reply) : [];
};

/**
 * Sequences of one account, in the length of LMDB's, and behind each the nonce of the step that made the entry. Entries that came from
 * LMDB have none: they keep the id that they had there, and its sequence, which no other account has.
 */
const ENTRY_ID = /^(\d{12})(\d{16})?$/;

/** An entry as a step replies it: its sequence, its bytes, its nonce. */
export interface AccountEntry {
  readonly stored: StoredEntry;
  readonly nonce: string;
}

export function readEntry(reply: Reply): AccountEntry {
  const sequence = numberAt(reply, 0);
  return { stored: decodeEntry(sequence, bytesAt(reply, 1)), nonce: bytesAt(reply, 2).toString('latin1') };
}

/** The entry's id: a cursor, sorted as the account's entries are, and of no other account. */
export function accountEntryId({ stored, nonce }: AccountEntry): string {
  return `${shownEntry(stored).id}${nonce}`;
}

export const shownAccountEntry = (entry: AccountEntry): LedgerEntry => ({
  ...shownEntry(entry.stored),
  id: accountEntryId(entry),
});

/** What an id names; null where the text is none. */
export function entryNamed(id: string): { readonly sequence: number; readonly nonce: string } | null {
  const found = ENTRY_ID.exec(id);
  return found === null ? null : { sequence: Number(found[1]), nonce: found[2] ?? '' };
}
