/**
 * Reads the ledger and the quotas of a standalone machine from their files, to transfer them elsewhere. It writes nothing, and no other
 * process may write the files meanwhile.
 */
import { join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { type LiveFile, openLiveFile } from '../state/live-file.ts';
import type { StoredAnswer } from './ledger.ts';
import { decodeAnswer } from './ledger-changes.ts';
import { decodeEntry, EMPTY_HEAD, entryId, type Head, type StoredEntry } from './ledger-entry.ts';
import { type EventCost, FORMAT_VERSION as LEDGER_FORMAT } from './ledger-store.ts';
import { faultOf } from './ledger-verify.ts';
import type { QuotaMeterName } from './plans.ts';
import { FORMAT_VERSION as QUOTA_FORMAT } from './quota-lmdb.ts';

/** The state of an account according to its entries. */
export interface AccountSum {
  readonly entries: number;
  /** Sum of the amounts of all entries. */
  readonly sum: number;
  readonly head: Head;
}

/** A stored response for an Idempotency-Key. */
export interface AnswerRecord extends StoredAnswer {
  /** Null if an earlier version of the program stored the response without its account. */
  readonly accountId: string | null;
  readonly slot: Buffer;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
}

/** Units of one month; the month is counted from year 0, as in `monthOf` of credits.ts. */
export interface MonthUnits {
  readonly month: number;
  readonly units: number;
}

export interface AccountsFile {
  readonly files: readonly LiveFile[];
  /** Sequence of the last entry of all accounts: sequences begin at 1, without gaps. */
  readonly last: number;
  /** Throws STORE_CORRUPT if the entry does not exist. */
  bytesOf(sequence: number): Buffer;
  /** Reads all entries, and checks that links, sums and balances agree. Throws STORE_CORRUPT naming the first entry with a fault. */
  sums(onProgress: (done: number) => void): Promise<ReadonlyMap<string, AccountSum>>;
  /** Events that were booked or refunded once, by name, with the sequence of their entry. */
  bookings(): Iterable<readonly [name: string, sequence: number]>;
  costs(): Iterable<readonly [name: string, cost: EventCost]>;
  answers(): Iterable<AnswerRecord>;
  /** Units that each account took, in the newest month in which it took any. */
  quotas(): ReadonlyMap<string, ReadonlyMap<QuotaMeterName, MonthUnits>>;
  /** Events that took units of a quota, by name. */
  quotaEvents(): Iterable<readonly [name: string, taken: MonthUnits]>;
}

/** Entries between two turns of the event loop. */
const STRIDE = 5_000;

/** Converts `2026-11` to a month counted from year 0. */
const monthNumber = (name: string): number => Number(name.slice(0, 4)) * 12 + Number(name.slice(5)) - 1;

/**
 * Opens the ledger and the quotas in the folder of accounts; a missing file counts as empty.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openAccountsFile({ folder }: { readonly folder: string }): AccountsFile {
  const ledger = openLiveFile({ path: join(folder, 'ledger.mdb'), formatVersion: LEDGER_FORMAT });
  const quota = openLiveFile({ path: join(folder, 'quotas.mdb'), formatVersion: QUOTA_FORMAT });
  const meta = ledger?.open<number, string>({ name: 'meta', encoding: 'json' });
  const entries = ledger?.open<Buffer, number>({
    name: 'entries',
    encoding: 'binary',
    keyEncoding: 'uint32',
  });
  const once = ledger?.open<number, string>({ name: 'once', encoding: 'json' });
  const costs = ledger?.open<EventCost, string>({ name: 'costs', encoding: 'json' });
  const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const answers = ledger?.open<Buffer, Buffer>({ name: 'answers', ...binary });
  const endings = ledger?.open<Buffer, Buffer>({ name: 'endings', ...binary });
  type TakenKey = [month: string, accountId: string, meter: QuotaMeterName];
  const taken = quota?.open<number, TakenKey>({ name: 'taken', encoding: 'json' });
  const events = quota?.open<{ readonly month: string; readonly units: number }, string>({
    name: 'events',
    encoding: 'json',
  });
  const last = meta?.get('last') ?? 0;

  function bytesOf(sequence: number): Buffer {
    const bytes = entries?.get(sequence);
    if (bytes === undefined)
      throw new AssayError('STORE_CORRUPT', `Entry ${entryId(sequence)} of the ledger is missing.`);
    return bytes;
  }

  return {
    files: [ledger, quota].filter((file) => file !== null),
    last,
    bytesOf,
    async sums(onProgress) {
      const sums = new Map<string, AccountSum>();
      for (let sequence = 1; sequence <= last; sequence++) {
        const entry: StoredEntry = decodeEntry(sequence, bytesOf(sequence));
        const before = sums.get(entry.accountId) ?? { entries: 0, sum: 0, head: EMPTY_HEAD };
        const fault = faultOf(entry, before.head);
        if (fault !== null)
          throw new AssayError(
            'STORE_CORRUPT',
            `The ledger is damaged: entry ${entryId(sequence)} of '${entry.accountId}' ${fault}.`,
          );
        sums.set(entry.accountId, {
          entries: before.entries + 1,
          sum: before.sum + entry.amount,
          head: entry,
        });
        if (sequence % STRIDE > 0 && sequence < last) continue;
        onProgress(sequence);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return sums;
    },
    *bookings() {
      for (const { key, value } of once?.getRange() ?? []) yield [key, value] as const;
    },
    *costs() {
      for (const { key, value } of costs?.getRange() ?? []) yield [key, value] as const;
    },
    *answers() {
      for (const { key, value } of endings?.getRange() ?? []) {
        const slot = Buffer.from(key.subarray(8));
        const bytes = answers?.get(slot);
        if (bytes === undefined) continue;
        const { storedAt, answer } = decodeAnswer(bytes);
        yield { ...answer, accountId: value.length === 0 ? null : value.toString(), slot, storedAt };
      }
    },
    quotas() {
      const quotas = new Map<string, Map<QuotaMeterName, MonthUnits>>();
      // The rows are in the order of months, so the newest month remains.
      for (const { key, value } of taken?.getRange() ?? []) {
        const [name, accountId, meter] = key;
        const month = monthNumber(name);
        const meters = quotas.get(accountId) ?? new Map<QuotaMeterName, MonthUnits>();
        for (const [each, before] of meters) if (before.month < month) meters.delete(each);
        quotas.set(accountId, meters.set(meter, { month, units: value }));
      }
      return quotas;
    },
    *quotaEvents() {
      for (const { key, value } of events?.getRange() ?? [])
        yield [key, { month: monthNumber(value.month), units: value.units }] as const;
    },
  };
}
