/** Plans: the rate limits and monthly quotas of an account. data/plans.json has the numbers; this module reads and validates them. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export const PLAN_NAMES = ['FREE', 'STARTER', 'GROWTH', 'BUSINESS', 'ENTERPRISE'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

/** Groups of routes that share one limit per minute and key. */
export const RATE_CLASSES = [
  'screening',
  'kyt',
  'trace',
  'entity',
  'exchange-status',
  'monitoring',
  'names',
  'intel',
  'sanctions',
  'oracle',
  'keys',
] as const;
export type RateClass = (typeof RATE_CLASSES)[number];

/** Requests in any 60 seconds, for the classes that differ from the plan. */
export type RateOverrides = Readonly<Partial<Record<RateClass, number>>>;

/** The monthly quotas: intel counts addresses, oracle counts calls. */
export const QUOTA_METERS = ['intel', 'oracle'] as const;
export type QuotaMeterName = (typeof QUOTA_METERS)[number];

export interface Plan {
  readonly name: PlanName;
  /** Units per UTC calendar month; null for unlimited. */
  readonly quotas: Readonly<Record<QuotaMeterName, number | null>>;
  readonly walletsMax: number;
  /** Requests in any 60 seconds per key, for every class. */
  readonly rateLimits: Readonly<Record<RateClass, number>>;
}

export type Plans = Readonly<Record<PlanName, Plan>>;

type Complaint = (field: string, expected: string) => AssayError;

const wrongPlan: Complaint = (field, expected) =>
  new AssayError('INVALID_CONFIG', `data/plans.json: ${field} must be ${expected}.`, { field });

type Row = Readonly<Record<string, unknown>>;

function rowAt(parent: Row, name: string, field: string): Row {
  const value = parent[name];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrongPlan(field, 'an object');
  return value as Row;
}

function wholeNumber(value: unknown, max: number, field: string, wrong: Complaint): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw wrong(field, `a whole number from 1 to ${max}`);
}

/**
 * Validates limits per minute: known classes, whole numbers.
 *
 * @throws the error that `wrong` returns for the field and the allowed values
 */
export function readRateOverrides(row: Row, field: string, wrong: Complaint): RateOverrides {
  const limits: Partial<Record<RateClass, number>> = {};
  for (const [name, value] of Object.entries(row)) {
    const rateClass = RATE_CLASSES.find((known) => known === name);
    if (!rateClass)
      throw wrong(`${field}.${name}`, `omitted: the rate classes are ${RATE_CLASSES.join(', ')}`);
    limits[rateClass] = wholeNumber(value, ACCOUNT_LIMITS.rateLimitMax, `${field}.${name}`, wrong);
  }
  return limits;
}

function readPlan(name: PlanName, row: Row, base: Record<RateClass, number>): Plan {
  const quota = (field: string): number | null =>
    row[field] === null
      ? null
      : wholeNumber(row[field], Number.MAX_SAFE_INTEGER, `plans.${name}.${field}`, wrongPlan);
  const field = `plans.${name}.rateLimits`;
  return {
    name,
    quotas: { intel: quota('intelQuota'), oracle: quota('oracleQuota') },
    walletsMax: wholeNumber(row.walletsMax, 1_000_000, `plans.${name}.walletsMax`, wrongPlan),
    rateLimits: { ...base, ...readRateOverrides(rowAt(row, 'rateLimits', field), field, wrongPlan) },
  };
}

/**
 * Reads all plans.
 *
 * @throws INVALID_CONFIG naming the field
 */
export function readPlans(path: string = shippedData('plans.json')): Plans {
  const file = JSON.parse(readFileSync(path, 'utf8')) as Row;
  const shared = readRateOverrides(rowAt(file, 'rateLimits', 'rateLimits'), 'rateLimits', wrongPlan);
  const base = {} as Record<RateClass, number>;
  for (const rateClass of RATE_CLASSES) {
    const limit = shared[rateClass];
    if (limit === undefined) throw wrongPlan(`rateLimits.${rateClass}`, 'present');
    base[rateClass] = limit;
  }
  const rows = rowAt(file, 'plans', 'plans');
  const plans = {} as Record<PlanName, Plan>;
  for (const name of PLAN_NAMES) plans[name] = readPlan(name, rowAt(rows, name, `plans.${name}`), base);
  return plans;
}
