/**
 * The arithmetic of credits: the pools of an account, the order in which they are spent, the free credits of a calendar month, and the
 * error for insufficient credits. Nothing is stored here; ledger-store.ts stores the entries.
 */
import { readFileSync } from 'node:fs';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';

/** The order is that of the sums in an entry: their positions are stored. */
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

/** The types of a charge: SCREENING for screenings, DEDUCTION for everything else. */
export type ChargeType = Extract<LedgerType, 'SCREENING' | 'DEDUCTION'>;

/**
 * The state of an account after an entry. The balance minus the two pools is the bought credits. Only these may be negative, if a payment
 * was refunded after its credits were spent.
 */
export interface CreditState {
  /** Sum of all entries. */
  readonly balance: number;
  /** Remaining free credits of `month`; they expire with it. */
  readonly free: number;
  /** Remaining credits granted by operators; they never expire. */
  readonly granted: number;
  /** The month for which free credits were last granted, as `monthOf`; 0 if there was none. */
  readonly month: number;
}

export const NOTHING: CreditState = { balance: 0, free: 0, granted: 0, month: 0 };

/** Returns the UTC calendar month of a time, counted from year 0: consecutive months differ by 1. */
export function monthOf(epochMs: number): number {
  const date = new Date(epochMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Returns the first instant of the month after `month`, ISO 8601 UTC. */
export const monthEnd = (month: number): string =>
  isoTime(Date.UTC(Math.floor((month + 1) / 12), (month + 1) % 12, 1));

/** Takes `amount` (≥ 0) from the pools: free credits first, then granted ones, then bought ones. */
export function spend(state: CreditState, amount: number): CreditState {
  const fromFree = Math.min(state.free, amount);
  const fromGranted = Math.min(state.granted, amount - fromFree);
  return {
    ...state,
    balance: state.balance - amount,
    free: state.free - fromFree,
    granted: state.granted - fromGranted,
  };
}

/**
 * Returns when free credits are granted next, ISO 8601 UTC. After the clock was set back, that is after the later month.
 *
 * @param month - the month for which they were last granted
 */
export const renewalOf = (month: number, nowMs: number): string => monthEnd(Math.max(month, monthOf(nowMs)));

/** One entry that brings an account to the current month. */
export interface MonthTurn {
  readonly type: 'EXPIRY' | 'GRANT';
  readonly amount: number;
  readonly after: CreditState;
}

/**
 * Returns the entries of a month change: the remaining free credits of the old month expire, those of the new month are granted. Unused
 * months in between leave no entries. If the clock moves back to an earlier month, nothing is granted twice.
 *
 * @param freeCredits - 0 for an account that has no free credits (yet)
 */
export function monthTurn(state: CreditState, month: number, freeCredits: number): readonly MonthTurn[] {
  if (month <= state.month) return [];
  const turns: MonthTurn[] = [];
  let after = state;
  if (after.free > 0) {
    after = { ...after, balance: after.balance - after.free, free: 0 };
    turns.push({ type: 'EXPIRY', amount: -state.free, after });
  }
  if (freeCredits > 0) {
    after = { ...after, balance: after.balance + freeCredits, free: freeCredits, month };
    turns.push({ type: 'GRANT', amount: freeCredits, after });
  }
  return turns;
}

/** The data of a 402 response. */
export interface Shortage {
  /** Credits that the operation costs. */
  readonly needed: number;
  /** Credits that are not reserved by running requests. */
  readonly available: number;
  /** Credits that running requests have reserved. */
  readonly held: number;
  /** Free credits of the next month, and the time when it begins; 0 if the account gets none. */
  readonly freeCredits: number;
  readonly renewsAt: string;
}

const counted = (credits: number, kind = ''): string => `${credits} ${kind}credit${credits === 1 ? '' : 's'}`;

/** Returns the 402 error: the missing credits, and when free ones are added. */
export function creditsExhausted(shortage: Shortage): AssayError {
  const { needed, available, held, freeCredits, renewsAt } = shortage;
  const reserved = held > 0 ? ` (${held} more reserved by running requests)` : '';
  const renewal = freeCredits > 0 ? ` ${counted(freeCredits, 'free ')} will be added at ${renewsAt}.` : '';
  return new AssayError(
    'CREDITS_EXHAUSTED',
    `Insufficient credits: this operation costs ${counted(needed)}, and the account has ${available} available${reserved}.${renewal}`,
  );
}

/** A package that is bought once and never expires. */
export interface CreditPackage {
  readonly name: string;
  readonly credits: number;
  readonly priceUsd: number;
}

type Row = Readonly<Record<string, unknown>>;

function wholeNumber(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 1e9) return value;
  throw new AssayError('INVALID_CONFIG', `data/plans.json: ${field} must be a whole number from 0 to 1e9.`, {
    field,
  });
}

/**
 * Reads the packages.
 *
 * @throws INVALID_CONFIG naming the field
 */
export function readPackages(path: string = shippedData('plans.json')): readonly CreditPackage[] {
  const file = JSON.parse(readFileSync(path, 'utf8')) as Row;
  const packages = Array.isArray(file.packages) ? (file.packages as readonly Row[]) : [];
  return packages.map((row, position) => ({
    name: String(row.name),
    credits: wholeNumber(row.credits, `packages[${position}].credits`),
    priceUsd: wholeNumber(row.priceUsd, `packages[${position}].priceUsd`),
  }));
}
