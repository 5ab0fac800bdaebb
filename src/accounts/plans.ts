/** Plans: the rate limits, monthly quotas and monthly credits of an account. data/plans.json has the numbers; this module reads and validates them. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import { ACCOUNT_LIMITS, SESSION_RATE_LIMITS } from './limits.ts';

/** SELF_HOSTED is the plan of the operator's own account; the others are for customers. */
export const PLAN_NAMES = ['FREE', 'STARTER', 'GROWTH', 'BUSINESS', 'ENTERPRISE', 'SELF_HOSTED'] as const;
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
  'mcp',
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
  /** Credits granted each UTC calendar month; unused ones expire with it. */
  readonly creditsPerMonth: number;
  readonly walletsMax: number;
  /** Requests in any 60 seconds per key, for every class. */
  readonly rateLimits: Readonly<Record<RateClass, number>>;
}

export type Plans = Readonly<Record<PlanName, Plan>>;

/** Returns the requests that one session may send in any 60 seconds. */
export function sessionLimit({ rateLimits }: Plan, rateClass: RateClass): number {
  const own: RateOverrides = SESSION_RATE_LIMITS;
  return Math.max(own[rateClass] ?? 0, rateLimits[rateClass]);
}

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

function wholeNumber(value: unknown, max: number, field: string, wrong: Complaint, min = 1): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
  throw wrong(field, `a whole number from ${min} to ${max}`);
}

const creditsOf = (value: unknown, field: string): number =>
  wholeNumber(value, ACCOUNT_LIMITS.ledgerAmountMax, field, wrongPlan, 0);

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

/** What a plan does not set itself. */
interface PlanDefaults {
  readonly rateLimits: Record<RateClass, number>;
  readonly creditsPerMonth: number;
}

function readPlan(name: PlanName, row: Row, base: PlanDefaults): Plan {
  const quota = (field: string): number | null =>
    row[field] === null
      ? null
      : wholeNumber(row[field], Number.MAX_SAFE_INTEGER, `plans.${name}.${field}`, wrongPlan);
  const field = `plans.${name}.rateLimits`;
  return {
    name,
    quotas: { intel: quota('intelQuota'), oracle: quota('oracleQuota') },
    creditsPerMonth:
      row.creditsPerMonth === undefined
        ? base.creditsPerMonth
        : creditsOf(row.creditsPerMonth, `plans.${name}.creditsPerMonth`),
    walletsMax: wholeNumber(row.walletsMax, 1_000_000, `plans.${name}.walletsMax`, wrongPlan),
    rateLimits: {
      ...base.rateLimits,
      ...readRateOverrides(rowAt(row, 'rateLimits', field), field, wrongPlan),
    },
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
  const rateLimits = {} as Record<RateClass, number>;
  for (const rateClass of RATE_CLASSES) {
    const limit = shared[rateClass];
    if (limit === undefined) throw wrongPlan(`rateLimits.${rateClass}`, 'present');
    rateLimits[rateClass] = limit;
  }
  const { creditsPerMonth } = rowAt(file, 'freeTier', 'freeTier');
  const base = { rateLimits, creditsPerMonth: creditsOf(creditsPerMonth, 'freeTier.creditsPerMonth') };
  const rows = rowAt(file, 'plans', 'plans');
  const plans = {} as Record<PlanName, Plan>;
  for (const name of PLAN_NAMES) plans[name] = readPlan(name, rowAt(rows, name, `plans.${name}`), base);
  return plans;
}
