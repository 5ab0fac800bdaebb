/**
 * Dealings that ended before the other party was designated. They do not count as dealings with a sanctioned party, and answers
 * report that.
 */
import { isoTime } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import { dayOf, startOfDay } from '../graph/edge-days.ts';
import type { Reason } from './answers.ts';
import type { DesignatedLater } from './attribution.ts';
import type { Side } from './counterparties.ts';

/** A party that was designated after dealings with it ended. */
export interface EarlierParty extends DesignatedLater {
  readonly entityId: string;
  /** Name of the entity, as in the labels. */
  readonly entity: string;
  /** The category with which dealings before the designation count. */
  readonly category: Reason['category'];
}

export interface EarlierDealing {
  readonly party: EarlierParty;
  /** Day of the last of them, counted from 1970-01-01. */
  readonly lastDay: number;
}

/**
 * Returns the parties with which an address dealt before their designation, ordered by id, at most `screeningListMax`. Sides
 * contain only evidence: transfers of unknown tokens or without an amount are no dealings.
 */
export function earlierDealings(sides: readonly Side[]): EarlierDealing[] {
  const found = new Map<string, EarlierDealing>();
  for (const { attributed } of sides) {
    for (const party of attributed) {
      const { designatedLater, entityId, entity, category } = party.attribution;
      if (designatedLater === undefined) continue;
      const lastDay = dayOf(party.lastSeenMs);
      const known = found.get(entityId);
      if (known !== undefined && lastDay <= known.lastDay) continue;
      const name = entity?.name ?? designatedLater.entityName;
      found.set(entityId, { party: { ...designatedLater, entityId, entity: name, category }, lastDay });
    }
  }
  return [...found.values()]
    .sort((a, b) => (a.party.entityId < b.party.entityId ? -1 : 1))
    .slice(0, LIMITS.screeningListMax);
}

/** Returns the reason that dealings with a party do not count as dealings with a sanctioned party. */
export function beforeDesignationReason({ party, lastDay }: EarlierDealing): Reason {
  const { entity, category, list, entityName, listedAt, source } = party;
  return {
    code: 'BEFORE_DESIGNATION',
    severity: 'LOW',
    category,
    message:
      `Last dealt with ${entity} on ${isoTime(startOfDay(lastDay)).slice(0, 10)}, before ${list} designated it ` +
      `as ${entityName} on ${listedAt}: these dealings count as ${category}.`,
    source,
    verified: true,
  };
}
