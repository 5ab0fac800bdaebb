/**
 * Dealings with addresses that a label attributes to a designated party, but not with enough confidence to make them sanctioned. They
 * bring no points, and answers report them.
 */

import type { Direction } from '../graph/transfers.ts';
import { OWNER_CONFIDENCE_MIN } from '../labels/sanction-hit.ts';
import type { Reason } from './answers.ts';
import type { SuspectedOwner } from './attribution.ts';
import type { Side } from './counterparties.ts';
import { SCREENING_LIMITS } from './limits.ts';

export const SUSPECTED_OWNER = 'SUSPECTED_OWNER';

const VERBS: Readonly<Record<Direction, string>> = { in: 'Received value from', out: 'Sent value to' };

function reasonOf(direction: Direction, owner: SuspectedOwner): Reason {
  const { list, entityName, listedAt, source, confidence } = owner;
  const since = listedAt === null ? '' : ` since ${listedAt}`;
  return {
    code: SUSPECTED_OWNER,
    // The address itself has a HIGH reason. An uncertain label of the other side is a step less.
    severity: 'MEDIUM',
    category: 'SANCTIONED_ENTITY',
    message:
      `${VERBS[direction]} an address that ${source} attributes to ${entityName}, listed by ${list}${since}, with confidence ` +
      `${confidence}: below ${OWNER_CONFIDENCE_MIN}, so these dealings do not count as dealings with a sanctioned party.`,
    source: null,
    verified: true,
  };
}

/**
 * Returns a reason for each designated party and direction, from the surest label of that party, ordered by party and direction, at
 * most `screeningListMax`. Only dealings of more than dust since the designation count.
 */
export function suspectedOwnerDealings(sides: readonly Side[]): Reason[] {
  const found = new Map<string, { direction: Direction; owner: SuspectedOwner }>();
  for (const { direction, suspected } of sides) {
    for (const owner of suspected) {
      const name = `${owner.list}\n${owner.entityId}\n${direction}`;
      const known = found.get(name)?.owner;
      const isSurer =
        known === undefined ||
        owner.confidence > known.confidence ||
        (owner.confidence === known.confidence && owner.source < known.source);
      if (isSurer) found.set(name, { direction, owner });
    }
  }
  return [...found]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, SCREENING_LIMITS.screeningListMax)
    .map(([, { direction, owner }]) => reasonOf(direction, owner));
}
