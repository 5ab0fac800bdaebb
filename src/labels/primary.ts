/**
 * The written rule that orders the labels of an address; the first is of the primary entity:
 * a sanction in force, then confidence, then the source's rank, then recency, then the stable id of the entity.
 */
import type { Label } from './label.ts';
import type { SourceTable } from './source-table.ts';

const inForce = (label: Label): boolean =>
  label.sanctions.some((entry) => entry.delistedAt === null && entry.matchType === 'DIRECT');

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The comparison of the rule: negative where `a` comes before `b`. Total over labels that differ in what the rule names. */
export function primaryOrder(sources: SourceTable): (a: Label, b: Label) => number {
  const ranks = new Map(sources.rows.map((row) => [row.id, row.rank]));
  const rank = (label: Label): number => ranks.get(label.source) ?? 0;
  return (a, b) =>
    Number(inForce(b)) - Number(inForce(a)) ||
    b.confidence - a.confidence ||
    rank(b) - rank(a) ||
    byText(b.lastSeen ?? '', a.lastSeen ?? '') ||
    byText(b.firstSeen ?? '', a.firstSeen ?? '') ||
    byText(a.source, b.source) ||
    byText(a.entity.id, b.entity.id) ||
    byText(a.category, b.category) ||
    byText(a.scope, b.scope);
}
