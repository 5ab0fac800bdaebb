/**
 * The scoring policy, read from data/policy.json. All of it is validated on load, so a wrong number prevents the start with a
 * clear error.
 */
import { readFileSync } from 'node:fs';
import { AssayError, messageOf } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import type { CategoryRow } from '../labels/categories.ts';
import { CATEGORIES, type Category, type ThreatLevel } from '../labels/taxonomy.ts';

export type RiskLevel = 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';

export interface RiskPolicy {
  /** Part of every answer. Any changed number needs a new version. */
  readonly version: string;
  /** The lowest score of each level above LOW. */
  readonly levels: Readonly<Record<Exclude<RiskLevel, 'LOW'>, number>>;
  /** Points, 0 to 100, for owning an address of the category. */
  readonly weights: Readonly<Record<Category, number>>;
  /** Threat level of the owner of an address of the category. */
  readonly threats: Readonly<Record<Category, ThreatLevel>>;
  /** Categories that serve the public: exchanges and bridges, but also mixers. */
  readonly services: ReadonlySet<Category>;
  /** Points of a direct sanctions hit in force. */
  readonly sanctionedPoints: number;
  /** Categories of at least this weight are risky as counterparties; all others are neutral volume. */
  readonly riskyFrom: number;
  /** Factor on a weight one hop away. */
  readonly directDecay: number;
  /** Factor on it for each further hop. */
  readonly hopDecay: number;
  /** Exponent of the share of volume (0 to 1): below 1, small shares count more than in proportion. */
  readonly shareExponent: number;
  /** USD from which absolute value counts (logarithmically). */
  readonly valueUnitUsd: number;
  /** USD from which absolute value counts in full. */
  readonly valueFullUsd: number;
  /** The most that absolute value alone contributes, 0 to 1. */
  readonly valueCeiling: number;
  /** The most points that value without a price brings in one direction, whatever its share. */
  readonly unpricedPointsMax: number;
  /**
   * The same for unsolicited value, if at least `unpricedBesideUsd` of neutral value with a price moved in the direction too: the
   * unpriced part may then be worth almost nothing.
   */
  readonly unpricedPointsMaxBesidePriced: number;
  readonly unpricedBesideUsd: number;
  /** The most points that own labels and exposures bring together if only derived labels (structural, inferred) support more. */
  readonly derivedScoreMax: number;
  /** Factor on the counterparty points of a service: an exchange trades with everybody. */
  readonly serviceExposureFactor: number;
  /** Risky value of one direction brings no points if its sum is below this. */
  readonly dustUsd: number;
  /** The same for an asset without a price, as a share of its flow (0 to 1). */
  readonly dustShare: number;
  /** Flows of an asset without a price are dust below this number of whole coins or tokens. */
  readonly dustTokens: number;
  /** Confidence from which a label that names nothing risky ends a walk (compared to the nearest tenth). */
  readonly absorbConfidenceMin: number;
  /** Share of a direction (0 to 1) from which a part that was not followed is a reason. */
  readonly unfollowedShareMin: number;
  /** USD from which a part that was not followed is a reason, whatever its share. */
  readonly unfollowedUsdMin: number;
  /** Inbound value from one party counts as unsolicited up to this amount, if nothing was sent back. */
  readonly unsolicitedMaxUsd: number;
  /** If more than this came directly from risky parties, unsolicited or not, unsolicited money gets no discount. */
  readonly unsolicitedTotalMaxUsd: number;
  /** The same for an asset without a price, as a share of its flow (0 to 1). */
  readonly unsolicitedTotalMaxShare: number;
  /** Factor on the severity of unsolicited money; at least `hopDecay`. */
  readonly unsolicitedFactor: number;
  /** Score from which a KYT decision is BLOCK. */
  readonly kytBlockFrom: number;
  /** Score from which a KYT decision is REVIEW. */
  readonly kytReviewFrom: number;
  /** Age of the newest label import above which label coverage is PARTIAL. */
  readonly labelsMaxAgeDays: number;
  /** How long a client may keep an oracle verdict. */
  readonly oracleTtlSeconds: number;
}

type NumberField = Exclude<keyof RiskPolicy, 'version' | 'levels' | 'weights' | 'threats' | 'services'>;

/** The bounds of every plain number: [minimum, maximum]. */
const BOUNDS: Readonly<Record<NumberField, readonly [number, number]>> = {
  sanctionedPoints: [100, 100],
  riskyFrom: [1, 100],
  directDecay: [0, 1],
  hopDecay: [0, 1],
  shareExponent: [0.1, 2],
  valueUnitUsd: [0.01, 1e9],
  valueFullUsd: [1, 1e12],
  valueCeiling: [0, 1],
  unpricedPointsMax: [0, 100],
  unpricedPointsMaxBesidePriced: [0, 100],
  unpricedBesideUsd: [0, 1e6],
  derivedScoreMax: [1, 100],
  serviceExposureFactor: [0, 1],
  dustUsd: [0, 1e6],
  dustShare: [0, 1],
  dustTokens: [0, 1],
  absorbConfidenceMin: [0, 1],
  unfollowedShareMin: [0, 1],
  unfollowedUsdMin: [0, 1e12],
  unsolicitedMaxUsd: [0, 1e6],
  unsolicitedTotalMaxUsd: [0, 1e7],
  unsolicitedTotalMaxShare: [0, 1],
  unsolicitedFactor: [0, 1],
  kytBlockFrom: [1, 100],
  kytReviewFrom: [1, 100],
  labelsMaxAgeDays: [1, 3650],
  oracleTtlSeconds: [1, 86_400],
};

const wrong = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_FILE', `policy.json: ${field} must be ${expected}.`, { field });

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function numberIn(value: unknown, field: string, [least, greatest]: readonly [number, number]): number {
  if (typeof value === 'number' && value >= least && value <= greatest) return value;
  throw wrong(field, least === greatest ? String(least) : `a number from ${least} to ${greatest}`);
}

/** The fields that the policy takes from data/categories.json. */
export type CategoryDefaults = Pick<CategoryRow, 'id' | 'weight' | 'service' | 'threatLevel'>;

/**
 * Reads a policy document. Its own weights take precedence over those of the categories.
 *
 * @throws INVALID_FILE naming the field.
 */
export function parsePolicy(document: unknown, categories: readonly CategoryDefaults[]): RiskPolicy {
  if (!isRecord(document)) throw wrong('the document', 'an object');
  const { version, levels, weights } = document;
  if (typeof version !== 'string' || version === '') throw wrong('version', 'a string');
  if (!isRecord(levels)) throw wrong('levels', 'an object of MEDIUM, HIGH and CRITICAL');
  if (!isRecord(weights)) throw wrong('weights', 'an object of categories');
  const known = new Set<string>(CATEGORIES);
  for (const category of Object.keys(weights))
    if (!known.has(category)) throw wrong(`weights.${category}`, 'one of the known categories');
  const level = (name: 'MEDIUM' | 'HIGH' | 'CRITICAL'): number =>
    numberIn(levels[name], `levels.${name}`, [1, 100]);
  const bounds = { MEDIUM: level('MEDIUM'), HIGH: level('HIGH'), CRITICAL: level('CRITICAL') };
  if (bounds.MEDIUM >= bounds.HIGH || bounds.HIGH >= bounds.CRITICAL)
    throw wrong('levels', 'increasing from MEDIUM to HIGH to CRITICAL');
  const plain = Object.fromEntries(
    Object.entries(BOUNDS).map(([field, range]) => [field, numberIn(document[field], field, range)]),
  ) as Record<NumberField, number>;
  if (plain.valueFullUsd <= plain.valueUnitUsd) throw wrong('valueFullUsd', 'greater than valueUnitUsd');
  // Otherwise money that is one hop further away would weigh more than unsolicited money that came directly.
  if (plain.unsolicitedFactor < plain.hopDecay) throw wrong('unsolicitedFactor', 'at least hopDecay');
  if (plain.unpricedPointsMaxBesidePriced > plain.unpricedPointsMax)
    throw wrong('unpricedPointsMaxBesidePriced', 'at most unpricedPointsMax');
  if (plain.derivedScoreMax >= bounds.CRITICAL) throw wrong('derivedScoreMax', 'less than levels.CRITICAL');
  if (plain.kytBlockFrom <= plain.kytReviewFrom) throw wrong('kytBlockFrom', 'greater than kytReviewFrom');
  const defaults = new Map(categories.map((row) => [row.id, row.weight]));
  const weighed = Object.fromEntries(
    CATEGORIES.map((category) => [
      category,
      numberIn(weights[category] ?? defaults.get(category), `weights.${category}`, [0, 100]),
    ]),
  ) as Record<Category, number>;
  const threats = new Map(categories.map((row) => [row.id, row.threatLevel]));
  return Object.freeze({
    ...plain,
    version,
    levels: bounds,
    weights: weighed,
    threats: Object.fromEntries(
      CATEGORIES.map((category) => [category, threats.get(category) ?? 'LOW']),
    ) as Record<Category, ThreatLevel>,
    services: new Set(categories.filter((row) => row.service).map((row) => row.id)),
  });
}

/**
 * Reads data/policy.json.
 *
 * @throws INVALID_FILE naming the field.
 */
export function loadPolicy(
  categories: readonly CategoryDefaults[],
  path: string = shippedData('policy.json'),
): RiskPolicy {
  let document: unknown;
  try {
    document = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new AssayError('INVALID_FILE', `${path}: ${messageOf(error)}`, { cause: error });
  }
  return parsePolicy(document, categories);
}

/** Returns the level of a score. */
export function riskLevelOf(score: number, policy: RiskPolicy): RiskLevel {
  if (score >= policy.levels.CRITICAL) return 'CRITICAL';
  if (score >= policy.levels.HIGH) return 'HIGH';
  return score >= policy.levels.MEDIUM ? 'MEDIUM' : 'LOW';
}

/** A policy as JSON data: the set of services is a list. */
export interface PolicyJson extends Omit<RiskPolicy, 'services'> {
  readonly services: readonly Category[];
}

/** Returns a policy as JSON data, the same for the same policy. */
export const policyToJson = (policy: RiskPolicy): PolicyJson => ({
  ...policy,
  services: [...policy.services].sort(),
});

/** Returns the policy of `policyToJson`. It was valid when it was stored, perhaps for another version of the program. */
export const policyFromJson = ({ services, ...rest }: PolicyJson): RiskPolicy => ({
  ...rest,
  services: new Set(services),
});
