/**
 * What credits are, as pure arithmetic: the pools of an account, in which order they are spent, the free credits of a calendar
 * month, and the sentence that says what ran out. Nothing here is stored; ledger-lmdb.ts keeps the entries.
 */
import { readFileSync } from 'node:fs';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';

/** In the order of the sums of an entry: their positions are stored. */
export const LEDGER_TYPES = [
  'SCREENING',
  'DEDUCTION',
  'PURCHASE',
  'GRANT',
  'EXPIRY',
  'REFUND',
  'ADJUSTMENT',
] as const;
export type LedgerType = (typeof LEDGER_TYPES)[number];

/** What a charge may be: SCREENING for screenings, DEDUCTION for everything else. */
export type ChargeType = Extract<LedgerType, 'SCREENING' | 'DEDUCTION'>;

/**
 * Where an account stands after an entry. What the two pools leave of the balance was bought, and alone may be negative: a
 * payment that was taken back after its credits were spent.
 */
export interface Standing {
  /** Sum of all entries. */
  readonly balance: number;
  /** Left of the free credits of `month`; they expire with it. */
  readonly free: number;
  /** Left of what operators granted; never expires. */
  readonly granted: number;
  /** The month whose free credits were granted last, as `monthOf`; 0 where none ever was. */
  readonly month: number;
}

export const NOTHING: Standing = { balance: 0, free: 0, granted: 0, month: 0 };

/** The UTC calendar month of an instant, counted from year 0: months follow each other by 1. */
export function monthOf(epochMs: number): number {
  const date = new Date(epochMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The first instant of the month behind `month`, ISO 8601 UTC. */
export const monthEnd = (month: number): string =>
  isoTime(Date.UTC(Math.floor((month + 1) / 12), (month + 1) % 12, 1));

/** Takes `amount` (≥ 0) out of the pools: free credits first, then granted ones, then bought ones. */
export function spend(standing: Standing, amount: number): Standing {
  const fromFree = Math.min(standing.free, amount);
  const fromGranted = Math.min(standing.granted, amount - fromFree);
  return {
    ...standing,
    balance: standing.balance - amount,
    free: standing.free - fromFree,
    granted: standing.granted - fromGranted,
  };
}

/** The entries that stand between an account and this month, in their order. */
export interface MonthTurn {
  readonly type: 'EXPIRY' | 'GRANT';
  readonly amount: number;
  readonly after: Standing;
}

/**
 * What the turn of a month does to an account: what is left of the old month's free credits expires, the new month's are granted.
 * Months that passed unused leave nothing. A clock that goes back over the turn of a month grants nothing a second time.
 * `freeCredits` is 0 for an account that may not have any (yet).
 */
export function monthTurn(standing: Standing, month: number, freeCredits: number): readonly MonthTurn[] {
  if (month <= standing.month) return [];
  const turns: MonthTurn[] = [];
  let after = standing;
  if (after.free > 0) {
    after = { ...after, balance: after.balance - after.free, free: 0 };
    turns.push({ type: 'EXPIRY', amount: -standing.free, after });
  }
  if (freeCredits > 0) {
    after = { ...after, balance: after.balance + freeCredits, free: freeCredits, month };
    turns.push({ type: 'GRANT', amount: freeCredits, after });
  }
  return turns;
}

/** What a 402 tells of an account. */
export interface Shortage {
  readonly accountId: string;
  /** Credits that the operation costs. */
  readonly needed: number;
  /** Credits that no running request holds. */
  readonly available: number;
  /** Credits that running requests hold. */
  readonly held: number;
  /** Free credits of the next month, and when it begins; 0 where the account gets none. */
  readonly freeCredits: number;
  readonly renewsAt: string;
}

const counted = (credits: number): string => `${credits} credit${credits === 1 ? '' : 's'}`;

/** The 402: what ran out, when it renews, and what can be done before. */
export function creditsExhausted(shortage: Shortage): AssayError {
  const { accountId, needed, available, held, freeCredits, renewsAt } = shortage;
  const holding = held > 0 ? ` (${held} more held by requests that run now)` : '';
  const renewal = freeCredits > 0 ? ` ${counted(freeCredits)} for free come at ${renewsAt};` : '';
  return new AssayError(
    'CREDITS_EXHAUSTED',
    `The operation costs ${counted(needed)}, and the account '${accountId}' has ${available} left${holding}.${renewal} an operator can grant credits at once with: assay credits grant ${accountId} <credits>.`.replace(
      '. an operator',
      '. An operator',
    ),
  );
}

/** A package that is bought once and never expires. */
export interface CreditPackage {
  readonly name: string;
  readonly credits: number;
  readonly priceUsd: number;
}

export interface CreditTerms {
  /** Free credits of every account and calendar month. */
  readonly freeCreditsPerMonth: number;
  readonly packages: readonly CreditPackage[];
}

type Row = Readonly<Record<string, unknown>>;

function wholeNumber(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e9) return value;
  throw new AssayError('INVALID_CONFIG', `data/plans.json: ${field} must be a whole number from 0 to 1e9.`, {
    field,
  });
}

/** Reads the free tier and the packages. Throws INVALID_CONFIG with a sentence that names the field. */
export function readCreditTerms(path: string = shippedData('plans.json')): CreditTerms {
  const file = JSON.parse(readFileSync(path, 'utf8')) as Row;
  const freeTier = (file.freeTier ?? {}) as Row;
  const packages = Array.isArray(file.packages) ? (file.packages as readonly Row[]) : [];
  return {
    freeCreditsPerMonth: wholeNumber(freeTier.creditsPerMonth, 'freeTier.creditsPerMonth'),
    packages: packages.map((row, position) => ({
      name: String(row.name),
      credits: wholeNumber(row.credits, `packages[${position}].credits`),
      priceUsd: wholeNumber(row.priceUsd, `packages[${position}].priceUsd`),
    })),
  };
}
