/** How grave the reasons of a score are. */

import { isDerived } from '../labels/evidence-class.ts';
import type { Category } from '../labels/taxonomy.ts';
import type { ExposureEvidence } from './evidence.ts';
import { type RiskLevel, type RiskPolicy, riskLevelOf } from './policy.ts';
import type { Trade, WeighedExposure } from './trades.ts';

const LEVELS: readonly RiskLevel[] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];

/** Returns true for a severity that excludes the verdict `safe` and the KYT decision ALLOW. */
export const isGrave = (severity: RiskLevel): boolean => severity === 'HIGH' || severity === 'CRITICAL';

/** Returns the graver of two severities. */
export const graverOf = (a: RiskLevel, b: RiskLevel): RiskLevel =>
  LEVELS.indexOf(b) > LEVELS.indexOf(a) ? b : a;

const isDirectSanctioned = ({ category, evidence }: WeighedExposure): boolean =>
  category === 'SANCTIONED_ENTITY' && evidence.hops === 1 && !isUnasked(evidence);

/** Severities of the exposures of one trade: for each category, one of its direct and one of its indirect dealings. */
export class Severities {
  readonly #trade: Trade;
  readonly #pointsOf: (items: readonly WeighedExposure[]) => number;
  readonly #policy: RiskPolicy;
  readonly #isService: boolean;
  readonly #found = new Map<string, RiskLevel | null>();

  /** @param pointsOf - whole points that a subset of the exposures would bring alone, beside the neutral value */
  constructor(
    trade: Trade,
    isService: boolean,
    policy: RiskPolicy,
    pointsOf: (items: readonly WeighedExposure[]) => number,
  ) {
    this.#trade = trade;
    this.#isService = isService;
    this.#policy = policy;
    this.#pointsOf = pointsOf;
  }

  /** Returns the severity of the group of hops and category that has this name. */
  ofName(name: string): RiskLevel {
    const first = this.#trade.risky.find((item) => item.name === name);
    return first === undefined ? 'LOW' : (this.of(first.category, first.evidence.hops === 1) ?? 'LOW');
  }

  /** Returns null for dust, and for exposures that round to no point. */
  of(category: Category, isDirect: boolean): RiskLevel | null {
    const key = `${category} ${isDirect}`;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const items = this.#trade.risky.filter(
      (item) => item.category === category && (item.evidence.hops === 1) === isDirect,
    );
    const severity = this.#severityOf(items);
    this.#found.set(key, severity);
    return severity;
  }

  #severityOf(items: readonly WeighedExposure[]): RiskLevel | null {
    const { derivedScoreMax } = this.#policy;
    let points = this.#pointsOf(items);
    if (points === 0) return null;
    if (points > derivedScoreMax) {
      const kept = items.filter(({ evidence }) => !isDerived(evidence.class));
      if (kept.length < items.length) points = Math.max(derivedScoreMax, this.#pointsOf(kept));
    }
    const level = riskLevelOf(points, this.#policy);
    // The duty not to deal with sanctioned parties does not depend on a share. A service cannot refuse what is sent to it.
    const isStrict = !this.#isService && items.some(isDirectSanctioned);
    return isStrict ? graverOf(level, 'HIGH') : level;
  }
}

/** Returns true for value that came without an action of the address. */
export const isUnasked = ({ direction, unsolicited }: ExposureEvidence): boolean =>
  direction === 'in' && unsolicited === true;
