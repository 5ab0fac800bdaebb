/**
 * The alert policy, read from data/monitoring.json and validated as a whole: an invalid number prevents the start, with an error
 * that names it.
 */
import { readFileSync } from 'node:fs';
import { AssayError, messageOf } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import { CATEGORIES, type Category } from '../labels/taxonomy.ts';
import { MONITORING_CHAINS, type MonitoringChain, RULE_IDS, type RuleId } from './records.ts';

export interface VelocityPolicy {
  /** Days of a wallet's own history that a day is compared with. */
  readonly historyDays: number;
  /** Days of monitoring before a wallet has a history. */
  readonly warmUpDays: number;
  /** Standard deviations above the mean from which a day is unusual. */
  readonly zScore: number;
  /** Below both limits, no day is unusual. */
  readonly countMin: number;
  readonly volumeMinUsd: number;
  /** Limits for a wallet without a history. */
  readonly coldCount: number;
  readonly coldVolumeUsd: number;
}

export interface MonitoringPolicy {
  readonly version: string;
  readonly ruleNames: Readonly<Record<RuleId, string>>;
  /** The rule of each category; categories without a rule follow the score policy. */
  readonly ruleOf: ReadonlyMap<Category, RuleId>;
  readonly smallUsd: number;
  readonly largeUsd: number;
  /** Share of a counterparty's own flow, 0 to 1, from which the parties behind it count. */
  readonly indirectShareMin: number;
  /** Number of counterparties of a counterparty that are read, largest first. */
  readonly indirectRead: number;
  readonly velocity: VelocityPolicy;
  /** When a list changes, counterparties of this many past days are rechecked. */
  readonly recheckDays: number;
  /** Number of blocks, including the transaction's own, from which an alert is final. */
  readonly confirmations: Readonly<Record<MonitoringChain, number>>;
}

const wrong = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_FILE', `monitoring.json: ${field} must be ${expected}.`, { field });

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown, field: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw wrong(field, 'an object');
}

function numberOf(of: Fields, field: string, least: number, most: number): number {
  const value = of[field];
  if (typeof value === 'number' && value >= least && value <= most) return value;
  throw wrong(field, `a number from ${least} to ${most}`);
}

/**
 * Validates the policy.
 *
 * @throws INVALID_FILE with the field
 */
export function parseMonitoringPolicy(document: unknown): MonitoringPolicy {
  const root = fieldsOf(document, 'the document');
  if (typeof root.version !== 'string' || root.version === '') throw wrong('version', 'a string');
  const rules = fieldsOf(root.rules, 'rules');
  const known = new Set<string>(CATEGORIES);
  const ruleOf = new Map<Category, RuleId>();
  const ruleNames = Object.fromEntries(
    RULE_IDS.map((id) => {
      const { name, categories } = fieldsOf(rules[id], `rules.${id}`);
      if (typeof name !== 'string' || name === '') throw wrong(`rules.${id}.name`, 'a string');
      if (!Array.isArray(categories)) throw wrong(`rules.${id}.categories`, 'an array');
      for (const category of categories as unknown[]) {
        if (typeof category !== 'string' || !known.has(category))
          throw wrong(`rules.${id}.categories`, `known categories (got ${JSON.stringify(category)})`);
        if (ruleOf.has(category as Category))
          throw wrong(`rules.${id}.categories`, `in one rule only (${category} is in two)`);
        ruleOf.set(category as Category, id);
      }
      return [id, name];
    }),
  ) as Record<RuleId, string>;
  const severity = fieldsOf(root.severity, 'severity');
  const indirect = fieldsOf(root.indirect, 'indirect');
  const velocity = fieldsOf(root.velocity, 'velocity');
  const confirmations = fieldsOf(root.confirmations, 'confirmations');
  const policy: MonitoringPolicy = {
    version: root.version,
    ruleNames,
    ruleOf,
    smallUsd: numberOf(severity, 'smallUsd', 0, 1e12),
    largeUsd: numberOf(severity, 'largeUsd', 0, 1e12),
    indirectShareMin: numberOf(indirect, 'shareMin', 0.001, 1),
    indirectRead: numberOf(indirect, 'counterpartiesRead', 1, 1_000),
    velocity: {
      historyDays: numberOf(velocity, 'historyDays', 2, 90),
      warmUpDays: numberOf(velocity, 'warmUpDays', 1, 90),
      zScore: numberOf(velocity, 'zScore', 1, 100),
      countMin: numberOf(velocity, 'countMin', 1, 1e9),
      volumeMinUsd: numberOf(velocity, 'volumeMinUsd', 0, 1e15),
      coldCount: numberOf(velocity, 'coldCount', 1, 1e9),
      coldVolumeUsd: numberOf(velocity, 'coldVolumeUsd', 0, 1e15),
    },
    recheckDays: numberOf(root, 'recheckDays', 1, 3650),
    confirmations: Object.fromEntries(
      MONITORING_CHAINS.map((chain) => [chain, numberOf(confirmations, chain, 1, 10_000)]),
    ) as Record<MonitoringChain, number>,
  };
  if (policy.largeUsd <= policy.smallUsd) throw wrong('severity.largeUsd', 'greater than smallUsd');
  return Object.freeze(policy);
}

/**
 * Loads the policy from a file.
 *
 * @throws INVALID_FILE
 */
export function loadMonitoringPolicy(path: string = shippedData('monitoring.json')): MonitoringPolicy {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new AssayError('INVALID_FILE', `${path}: ${messageOf(error)}`, { cause: error });
  }
  return parseMonitoringPolicy(document);
}
