/**
 * The rule that orders the labels of an address; the first one belongs to the primary entity. The criteria in order: a sanction
 * in force, the class of evidence, the confidence, the date, the rank of the source, the stable id of the entity.
 */
import { EVIDENCE_CLASSES } from './evidence-class.ts';
import type { Label } from './label.ts';
import { countsAsSanction } from './sanction-hit.ts';
import type { SourceTable } from './source-table.ts';

/** The criterion that decides between two labels. `CONTENT`: all others are equal, so the texts are compared. */
export type DecidedBy = 'SANCTION' | 'CLASS' | 'CONFIDENCE' | 'DATE' | 'RANK' | 'CONTENT';

const inForce = (label: Label): boolean =>
  label.sanctions.some((entry) => entry.delistedAt === null && countsAsSanction(entry));

/** Returns the rank of a label's class. A past listing counts like a published label: it only proves a former listing. */
const classOrder = (label: Label): number =>
  EVIDENCE_CLASSES.indexOf(label.class === 'list' && !inForce(label) ? 'published' : label.class);

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the date up to which a source confirms a label; empty if unknown. */
const dateOf = (label: Label): string => label.lastSeen ?? label.firstSeen ?? '';

type Criterion = readonly [by: DecidedBy, compare: (a: Label, b: Label) => number];

function criteria(sources: SourceTable): readonly Criterion[] {
  const ranks = new Map(sources.rows.map((row) => [row.id, row.rank]));
  const byRank = (a: Label, b: Label): number => (ranks.get(b.source) ?? 0) - (ranks.get(a.source) ?? 0);
  return [
    ['SANCTION', (a, b) => Number(inForce(b)) - Number(inForce(a))],
    ['CLASS', (a, b) => classOrder(a) - classOrder(b)],
    ['CONFIDENCE', (a, b) => b.confidence - a.confidence],
    // Lists that agree are published on different days: the name in a response must not change with those days.
    ['RANK', (a, b) => (inForce(a) && inForce(b) ? byRank(a, b) : 0)],
    ['DATE', (a, b) => byText(dateOf(b), dateOf(a)) || byText(b.firstSeen ?? '', a.firstSeen ?? '')],
    ['RANK', byRank],
    [
      'CONTENT',
      (a, b) =>
        byText(a.source, b.source) ||
        byText(a.entity.id, b.entity.id) ||
        byText(a.category, b.category) ||
        byText(a.scope, b.scope),
    ],
  ];
}

/** Returns the comparison of the rule: negative if `a` comes before `b`; 0 only if no criterion differs. */
export function primaryOrder(sources: SourceTable): (a: Label, b: Label) => number {
  const all = criteria(sources).map(([, compare]) => compare);
  return (a, b) => {
    for (const compare of all) {
      const order = compare(a, b);
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** Returns a function that names the first criterion in which two labels differ. */
export function decisionOf(sources: SourceTable): (a: Label, b: Label) => DecidedBy {
  const all = criteria(sources);
  return (a, b) => all.find(([, compare]) => compare(a, b) !== 0)?.[0] ?? 'CONTENT';
}
