/**
 * The fields that the query of each page has, and what they allow. A page that left out a field or value it does not know would answer another
 * question than its link asks: with a mistyped day, the answer of now.
 */
import {
  ALERT_STATUSES,
  CASE_STATUSES,
  DELIVERY_STATUSES,
  PRIORITIES,
  REPORT_STATES,
  SCREENING_HOPS,
  SEVERITIES,
  TAINT_METHODS,
  TRACE_DEPTHS,
  TRACE_DIRECTIONS,
  TRACE_HOPS,
  UNFINISHED,
} from '../api/choices.ts';
import { PATHS } from '../paths.ts';
import type { Search } from '../ui/url-state.ts';

/** Values of a field. `chain` and `monitored` are ids of chains, `text` is checked by the server or not at all. */
type Rule = 'text' | 'day' | 'number' | 'country' | 'chain' | 'monitored' | readonly string[];
type Fields = Readonly<Record<string, Rule>>;

export interface LinkProblem {
  readonly field: string;
  readonly value: string;
  /** What is wrong; the texts begin with `link.`. */
  readonly kind: 'oneOf' | 'day' | 'number' | 'country' | 'unknown' | 'noFields' | 'needs';
  /** Allowed values, the fields of the page, or the field that is missing. */
  readonly allowed: readonly string[];
}

export const SCREENING_TABS = ['exposure', 'counterparties', 'transfers', 'legal', 'coverage'] as const;
export const OPERATOR_TABS = ['health', 'labels', 'chains', 'queues', 'nodes', 'imports'] as const;

const POOLS = ['api', 'dashboard'];
const YES = ['1'];

const FIELDS: Readonly<Record<string, Fields>> = {
  [PATHS.screening]: {
    asOf: 'day',
    jurisdiction: 'country',
    taint: TAINT_METHODS,
    hops: SCREENING_HOPS.map(String),
    tab: SCREENING_TABS,
  },
  [PATHS.trace]: {
    direction: TRACE_DIRECTIONS,
    hops: TRACE_HOPS,
    target: 'text',
    depth: TRACE_DEPTHS,
    inTime: YES,
    bridges: YES,
    min: 'number',
    since: 'day',
    until: 'day',
    from: ['file'],
  },
  [PATHS.transaction]: { chain: 'chain' },
  [PATHS.exchanges]: { name: 'text', jurisdiction: 'text' },
  [PATHS.bulk]: { list: ['pasted'] },
  [PATHS.alerts]: {
    status: ALERT_STATUSES,
    severity: SEVERITIES,
    address: 'text',
    wallet: 'text',
    alert: 'text',
  },
  [PATHS.deliveries]: {
    status: DELIVERY_STATUSES,
    alert: 'text',
    wallet: 'text',
  },
  [PATHS.cases]: {
    status: [...CASE_STATUSES, UNFINISHED],
    priority: PRIORITIES,
    assignee: 'text',
    q: 'text',
    address: 'text',
    chain: 'chain',
  },
  [PATHS.reports]: { state: REPORT_STATES },
  [PATHS.wallets]: { deleted: ['yes'], address: 'text', chain: 'monitored', label: 'text' },
  [PATHS.usage]: { pool: POOLS },
  [PATHS.billing]: { pool: POOLS, payment: 'text' },
  [PATHS.billingPaid]: { invoice: 'text' },
  [PATHS.billingNotPaid]: { invoice: 'text' },
  [PATHS.operator]: { tab: OPERATOR_TABS },
};

/** Fields that a page ignores without the other. */
const NEEDS: Readonly<Record<string, readonly (readonly [field: string, other: string])[]>> = {
  [PATHS.cases]: [
    ['address', 'chain'],
    ['chain', 'address'],
  ],
};

/** Sort and filters of a table, which begin with its id. The table checks them. */
const OF_TABLE = /^[A-Za-z-]+\.(?:find|sort|only\..+)$/;

function isDay(text: string): boolean {
  const time = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

export interface KnownChain {
  readonly id: string;
  readonly monitored: boolean;
}

function problemOf(
  rule: Rule,
  value: string,
  chains: readonly KnownChain[],
): Pick<LinkProblem, 'kind' | 'allowed'> | null {
  if (rule === 'text') return null;
  if (rule === 'day') return isDay(value) ? null : { kind: 'day', allowed: [] };
  if (rule === 'number') return Number.isFinite(Number(value)) ? null : { kind: 'number', allowed: [] };
  if (rule === 'country') return /^[A-Z]{2}$/.test(value) ? null : { kind: 'country', allowed: [] };
  const allowed =
    rule === 'chain'
      ? chains.map(({ id }) => id)
      : rule === 'monitored'
        ? chains.filter(({ monitored }) => monitored).map(({ id }) => id)
        : rule;
  return allowed.includes(value) ? null : { kind: 'oneOf', allowed };
}

/**
 * Returns what is wrong with the query of a link.
 *
 * @param path - the path of the page, with its parameters as in `PATHS`
 */
export function checkLink(
  path: string,
  search: Search,
  chains: readonly KnownChain[],
): readonly LinkProblem[] {
  const fields = FIELDS[path] ?? {};
  const problems: LinkProblem[] = [];
  const isGiven = (field: string): boolean => (search[field] ?? '') !== '';
  for (const [field, value = ''] of Object.entries(search)) {
    if (value === '' || OF_TABLE.test(field)) continue;
    const rule = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (rule === undefined) {
      const allowed = Object.keys(fields);
      problems.push({ field, value, kind: allowed.length === 0 ? 'noFields' : 'unknown', allowed });
      continue;
    }
    const problem = problemOf(rule, value, chains);
    const other = NEEDS[path]?.find(([needs, needed]) => needs === field && !isGiven(needed))?.[1];
    if (problem !== null) problems.push({ field, value, ...problem });
    else if (other !== undefined) problems.push({ field, value, kind: 'needs', allowed: [other] });
  }
  return problems;
}
