/**
 * Dealings before the other party was designated, also if others followed. They do not count as dealings with a sanctioned party, and answers
 * report that.
 */
import { isoTime } from '../base/clock.ts';
import { dayOf, startOfDay } from '../graph/edge-days.ts';
import type { Reason } from './answers.ts';
import type { DesignatedLater } from './attribution.ts';
import type { Side } from './counterparties.ts';
import { SCREENING_LIMITS } from './limits.ts';

/** A party that was designated after dealings with it. */
export interface EarlierParty extends DesignatedLater {
  /** The category with which dealings before the designation count. */
  readonly category: Reason['category'];
}

export interface EarlierDealing {
  readonly party: EarlierParty;
  /** Day of the last of them before the designation, counted from 1970-01-01. */
  readonly lastDay: number;
}

/**
 * Returns the parties with which an address dealt before their designation, by party and category, ordered by id, at most `screeningListMax`. Sides
 * contain only evidence: transfers of unknown tokens or without an amount are no dealings.
 */
export function earlierDealings(sides: readonly Side[]): EarlierDealing[] {
  const found = new Map<string, EarlierDealing>();
  for (const { attributed } of sides) {
    for (const party of attributed) {
      const { designatedLater, category } = party.attribution;
      if (designatedLater === undefined) continue;
      const lastDay = dayOf(party.lastSeenMs);
      // Addresses of one party may have counted as different categories.
      const name = `${designatedLater.entityId}\n${category}`;
      const known = found.get(name);
      if (known !== undefined && lastDay <= known.lastDay) continue;
      found.set(name, { party: { ...designatedLater, category }, lastDay });
    }
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, dealing]) => dealing)
    .slice(0, SCREENING_LIMITS.screeningListMax);
}

/** Returns the reason that dealings with a party do not count as dealings with a sanctioned party. */
export function beforeDesignationReason({ party, lastDay }: EarlierDealing): Reason {
  const { entity, category, list, entityName, listedAt, source } = party;
  return {
    code: 'BEFORE_DESIGNATION',
    severity: 'LOW',
    category,
    message:
      `Dealt with ${entity} until ${isoTime(startOfDay(lastDay)).slice(0, 10)}, before ${list} designated it ` +
      `as ${entityName} on ${listedAt}: these earlier dealings count as ${category}.`,
    source,
    verified: true,
  };
}
