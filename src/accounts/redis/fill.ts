/**
 * Transfers the accounts of a standalone machine into an empty Redis: the entries of each account with their sequences and ids, named
 * bookings, quota units, and responses stored for an Idempotency-Key. Every step may be repeated, so an interrupted filling can be started
 * again. Rate limit windows are not transferred, because a stopping machine does not keep them either.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { luaScript } from '../../base/paths.ts';
import { STATE_LIMITS } from '../../state/limits.ts';
import type { RedisStore } from '../../state/redis.ts';
import { decodeEntry, entryId, sequenceOf } from '../ledger-entry.ts';
import type { AccountSum, AccountsFile } from '../ledger-file.ts';
import { accountsOf } from '../ledger-verify.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';
import { QUOTA_METERS } from '../plans.ts';
import { accountOfBalance } from '../pools.ts';
import { type BalanceKey, balanceKey } from './account-steps.ts';
import { balancesIn } from './ledger-verify.ts';

export interface AccountsFilled {
  readonly accounts: number;
  readonly entries: number;
  /** Sum of all balances. */
  readonly balance: number;
  /** Bookings, refunds and settled jobs with a name. */
  readonly events: number;
  /** Accounts that used a quota. */
  readonly quotas: number;
  /** Jobs that used a quota. */
  readonly quotaEvents: number;
  /** Responses stored for an Idempotency-Key. */
  readonly answers: number;
  /** Such responses without an account: they are not transferred, and a repeated request is charged again. */
  readonly answersLeft: number;
}

export interface AccountsFillingOptions {
  readonly file: AccountsFile;
  /** The sums of `file`. */
  readonly sums: ReadonlyMap<string, AccountSum>;
  /** Returns the account of an event that used a quota; null if the event will not be settled again. */
  readonly accountOf: (event: string) => string | null;
  readonly signal: AbortSignal;
  readonly onProgress: (stage: 'entries' | 'check', done: number, total: number) => void;
}

type Script = ReturnType<RedisStore['script']>;
type Pair = readonly [name: string, value: Buffer | string];

/** Runs `work` for each item, several at a time. Rejects with the first error, after all have ended. */
async function eachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const runner = async (): Promise<void> => {
    try {
      while (failures.length === 0) {
        const next = left.next();
        if (next.done === true) return;
        await work(next.value);
      }
    } catch (error) {
      failures.push(error);
    }
  };
  await Promise.all(Array.from({ length: ACCOUNT_LIMITS.fillAtOnce }, runner));
  if (failures.length > 0) throw failures[0];
}

function* slices<T>(items: readonly T[], bytesOf: (item: T) => number): Iterable<readonly T[]> {
  let slice: T[] = [];
  let bytes = 0;
  for (const item of items) {
    slice.push(item);
    bytes += bytesOf(item);
    if (slice.length < STATE_LIMITS.fillPageRecords && bytes < STATE_LIMITS.fillPageBytes) continue;
    yield slice;
    [slice, bytes] = [[], 0];
  }
  if (slice.length > 0) yield slice;
}

const costBytes = (...numbers: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(8 * numbers.length);
  for (const [at, number] of numbers.entries()) bytes.writeDoubleLE(number, 8 * at);
  return bytes;
};

/**
 * Writes everything to Redis and reads it back.
 *
 * @throws STORE_CORRUPT if Redis then holds other data, NOT_READY
 */
export async function fillAccounts(
  options: AccountsFillingOptions,
  deps: { readonly redis: RedisStore; readonly clock: Clock },
): Promise<AccountsFilled> {
  return new AccountsFilling(options, deps).run();
}

const corrupt = (difference: string): AssayError =>
  new AssayError('STORE_CORRUPT', `Redis differs from the ledger: ${difference}.`);

/** One filling: first the writes, then the checks. */
class AccountsFilling {
  readonly #options: AccountsFillingOptions;
  readonly #redis: RedisStore;
  readonly #clock: Clock;
  readonly #fillLog: Script;
  readonly #fillHash: Script;

  constructor(
    options: AccountsFillingOptions,
    { redis, clock }: { readonly redis: RedisStore; readonly clock: Clock },
  ) {
    this.#options = options;
    this.#redis = redis;
    this.#clock = clock;
    this.#fillLog = redis.script('fill_log', luaScript('accounts', 'redis', 'lua', 'fill-log'), {
      safe: true,
    });
    this.#fillHash = redis.script('fill_hash', luaScript('accounts', 'redis', 'lua', 'fill-hash'), {
      safe: true,
    });
  }

  async run(): Promise<AccountsFilled> {
    const { file, sums } = this.#options;
    const events = this.#eventsByAccount();
    const states = this.#statesByAccount();
    await this.#writeEntries();
    await eachAtOnce(events, ([balance, own]) => this.#putHash(this.#keyOf(balance, 'events'), [...own]));
    await eachAtOnce(states, ([accountId, pairs]) => this.#putHash(this.#stateOf(accountId), pairs));
    const quotaEvents = await this.#writeQuotaEvents();
    const answers = await this.#writeAnswers();

    const balance = await this.#checkEntries();
    await eachAtOnce(events, ([balance, own]) =>
      this.#checkHash(this.#keyOf(balance, 'events'), [...own], true),
    );
    await eachAtOnce(states, ([accountId, pairs]) => this.#checkHash(this.#stateOf(accountId), pairs, false));
    await this.#checkNoOthers();

    return {
      accounts: accountsOf(sums.keys()),
      entries: file.last,
      balance,
      events: [...events.values()].reduce((sum, own) => sum + own.size, 0),
      quotas: states.size,
      quotaEvents,
      ...answers,
    };
  }

  #keyOf(balance: string, name: BalanceKey): string {
    return balanceKey(this.#redis, balance, name);
  }

  #stateOf(accountId: string): string {
    return this.#redis.key(accountId, 'state');
  }

  async #putLog(accountId: string, entries: readonly (readonly [number, Buffer])[]): Promise<void> {
    for (const slice of slices(entries, ([, bytes]) => bytes.length)) {
      this.#options.signal.throwIfAborted();
      await this.#fillLog([this.#keyOf(accountId, 'log')], slice.flat());
    }
  }

  async #putHash(key: string, pairs: readonly Pair[], livesMs: number | null = null): Promise<void> {
    for (const slice of slices(pairs, ([field, value]) => field.length + value.length)) {
      this.#options.signal.throwIfAborted();
      await this.#fillHash([key], [livesMs === null ? '' : livesMs, ...slice.flat()]);
    }
  }

  async #writeEntries(): Promise<void> {
    const { file, onProgress } = this.#options;
    let ahead = new Map<string, [number, Buffer][]>();
    let bytes = 0;
    for (let sequence = 1; sequence <= file.last; sequence++) {
      const entry = file.bytesOf(sequence);
      const { accountId } = decodeEntry(sequence, entry);
      const own = ahead.get(accountId) ?? [];
      own.push([sequence, entry]);
      ahead.set(accountId, own);
      bytes += entry.length;
      if (bytes < ACCOUNT_LIMITS.fillReadAheadBytes && sequence < file.last) continue;
      await eachAtOnce(ahead, ([id, entries]) => this.#putLog(id, entries));
      onProgress('entries', sequence, file.last);
      [ahead, bytes] = [new Map(), 0];
    }
  }

  /** Returns the named events by account, with the names that the account steps use. */
  #eventsByAccount(): ReadonlyMap<string, ReadonlyMap<string, Buffer | string>> {
    const { file } = this.#options;
    const byAccount = new Map<string, Map<string, Buffer | string>>();
    const add = (accountId: string, name: string, value: Buffer | string): void => {
      const own = byAccount.get(accountId) ?? new Map<string, Buffer | string>();
      byAccount.set(accountId, own.set(name, value));
    };
    for (const [name, sequence] of file.bookings()) {
      const { accountId, type } = decodeEntry(sequence, file.bytesOf(sequence));
      // The name of a refund is that of its charge; a booking of any name makes an entry of another type.
      const charge = type === 'REFUND' ? sequenceOf(name.replace(/^refund:/, '')) : null;
      add(accountId, charge === null ? `book:${name}` : `refund:${charge}`, String(sequence));
    }
    for (const [name, { accountId, total, free, granted }] of file.costs())
      add(accountId, `cost:${name}`, costBytes(total, free, granted));
    return byAccount;
  }

  /** Returns months and units in the form of the account state. */
  #statesByAccount(): ReadonlyMap<string, readonly Pair[]> {
    const states = new Map<string, readonly Pair[]>();
    for (const [accountId, meters] of this.#options.file.quotas()) {
      const month = Math.max(...[...meters.values()].map((each) => each.month));
      const units = QUOTA_METERS.map((meter): Pair => [meter, String(meters.get(meter)?.units ?? 0)]);
      states.set(accountId, [['month', String(month)], ...units]);
    }
    return states;
  }

  async #writeQuotaEvents(): Promise<number> {
    const { file, accountOf } = this.#options;
    let written = 0;
    await eachAtOnce(file.quotaEvents(), async ([name, { month, units }]) => {
      const accountId = accountOf(name);
      if (accountId === null) return;
      written++;
      const pairs: readonly Pair[] = [
        ['month', String(month)],
        ['units', String(units)],
      ];
      const key = this.#redis.key(accountId, `mark:units:${name}`);
      await this.#putHash(key, pairs, ACCOUNT_LIMITS.quotaEventMs);
    });
    return written;
  }

  async #writeAnswers(): Promise<{ readonly answers: number; readonly answersLeft: number }> {
    const count = { answers: 0, answersLeft: 0 };
    const now = this.#clock.now();
    await eachAtOnce(this.#options.file.answers(), async ({ accountId, slot, storedAt, bodyHash, body }) => {
      const livesMs = Math.min(LIMITS.idempotencyMs, Math.floor(storedAt + LIMITS.idempotencyMs - now));
      if (livesMs <= 0) return;
      if (accountId === null) {
        count.answersLeft++;
        return;
      }
      count.answers++;
      const pairs: readonly Pair[] = [
        ['t', String(Math.floor(storedAt))],
        ['h', Buffer.from(bodyHash)],
        ['b', Buffer.from(body)],
        // No step in Redis has this nonce, so every lookup counts as a repetition.
        ['n', ''],
        ['s', '0'],
        ['r', '0'],
      ];
      const key = this.#redis.key(accountOfBalance(accountId), `kept:${slot.toString('hex')}`);
      await this.#putHash(key, pairs, livesMs);
    });
    return count;
  }

  /** Checks the entries of all accounts; returns the sum of their balances. */
  async #checkEntries(): Promise<number> {
    const { file, sums, onProgress } = this.#options;
    let checked = 0;
    let balance = 0;
    await eachAtOnce(sums, async ([accountId, sum]) => {
      await this.#checkAccount(accountId, sum);
      balance += sum.head.balance;
      checked += sum.entries;
      onProgress('check', checked, file.last);
    });
    return balance;
  }

  /** Checks that Redis has no account that the ledger does not have. */
  async #checkNoOthers(): Promise<void> {
    const accounts = await balancesIn(this.#redis, 'log');
    const other = [...accounts].find((accountId) => !this.#options.sums.has(accountId));
    if (other !== undefined) throw corrupt(`account '${other}' is not in the ledger`);
  }

  /** Checks that every entry of an account equals that of the file, and that its balance is their sum. */
  async #checkAccount(accountId: string, expected: AccountSum): Promise<void> {
    const { file } = this.#options;
    let from = '-';
    let entries = 0;
    let sum = 0;
    let balance = 0;
    for (;;) {
      this.#options.signal.throwIfAborted();
      const rows = (await this.#redis.guard(
        this.#redis.connection.xrangeBuffer(
          this.#keyOf(accountId, 'log'),
          from,
          '+',
          'COUNT',
          STATE_LIMITS.fillPageRecords,
        ),
      )) as unknown as readonly (readonly [Buffer, readonly Buffer[]])[];
      for (const [id, [, bytes]] of rows) {
        from = `(${id.toString('latin1')}`;
        const sequence = Number.parseInt(id.toString('latin1'), 10);
        if (sequence > file.last || bytes?.equals(file.bytesOf(sequence)) !== true)
          throw corrupt(`entry ${entryId(sequence)} of '${accountId}' differs`);
        const entry = decodeEntry(sequence, bytes);
        entries++;
        sum += entry.amount;
        balance = entry.balance;
      }
      if (rows.length < STATE_LIMITS.fillPageRecords) break;
    }
    if (entries !== expected.entries)
      throw corrupt(`'${accountId}' has ${entries} of ${expected.entries} entries`);
    if (sum !== balance || sum !== expected.sum || balance !== expected.head.balance)
      throw corrupt(
        `the entries of '${accountId}' add up to ${sum} credits, its balance is ${balance}, and its balance in the file is ${expected.head.balance}`,
      );
  }

  async #checkHash(key: string, expected: readonly Pair[], isAll: boolean): Promise<void> {
    if (isAll && (await this.#redis.guard(this.#redis.connection.hlen(key))) !== expected.length)
      throw corrupt(`the number of fields of ${key} differs`);
    for (const slice of slices(expected, ([field, value]) => field.length + value.length)) {
      const found = await this.#redis.guard(
        this.#redis.connection.hmgetBuffer(key, ...slice.map(([field]) => Buffer.from(field))),
      );
      for (const [at, [field, value]] of slice.entries())
        if (found[at]?.equals(Buffer.from(value)) !== true) throw corrupt(`${field} of ${key} differs`);
    }
  }
}
