/** What the sanctions lists say of an address: every entry once, in force or history, and how many jurisdictions agree. */
import { LIST_GROUP_NAMES, LIST_GROUPS } from '../labels/freshness.ts';
import type { Label, SanctionsEntry } from '../labels/label.ts';
import type { SanctionsList } from '../sources/records.ts';
import type { SanctionsDetail } from './answers.ts';

/** Whether an entry is in force, now or on an ISO date: listed by then, and not yet delisted. */
export function isInForce(entry: SanctionsEntry, asOf: string | null = null): boolean {
  if (asOf === null) return entry.delistedAt === null;
  const listed = entry.listedAt === null || entry.listedAt.slice(0, 10) <= asOf;
  return listed && (entry.delistedAt === null || entry.delistedAt.slice(0, 10) > asOf);
}

/** In force and on the address itself, not on a cluster it is thought to be of: what makes an address sanctioned. */
export const isDirectHit = (entry: SanctionsEntry, asOf: string | null = null): boolean =>
  entry.matchType === 'DIRECT' && isInForce(entry, asOf);

/** The jurisdiction that publishes a list: two lists of one publisher are one voice. */
const publisherOf = (list: SanctionsList): string =>
  LIST_GROUP_NAMES.find((group) => (LIST_GROUPS[group] as readonly SanctionsList[]).includes(list)) ?? list;

/** Entries of one identity say the same, whoever repeats them. */
export const entryIdentity = (entry: SanctionsEntry): string =>
  JSON.stringify([
    entry.list,
    entry.entityId,
    entry.program,
    entry.listedAt,
    entry.delistedAt,
    entry.matchType,
  ]);

/** Entries of all labels, each once, those in force first, then by list. */
export function sanctionsEntries(labels: readonly Label[], asOf: string | null = null): SanctionsEntry[] {
  const entries = new Map<string, SanctionsEntry>();
  for (const label of labels) for (const entry of label.sanctions) entries.set(entryIdentity(entry), entry);
  const rank = (entry: SanctionsEntry): string =>
    `${isDirectHit(entry, asOf) ? 0 : 1}${entryIdentity(entry)}`;
  return [...entries.values()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/** `dataAsOf`: the oldest check of the lists that are loaded. */
export function sanctionsDetail(
  labels: readonly Label[],
  dataAsOf: string | null,
  asOf: string | null = null,
): SanctionsDetail {
  const lists = sanctionsEntries(labels, asOf);
  const hits = lists.filter((entry) => isDirectHit(entry, asOf));
  return {
    isSanctioned: hits.length > 0,
    lists,
    agreementCount: new Set(hits.map((entry) => publisherOf(entry.list))).size,
    dataAsOf,
  };
}

/** Whether a label says nothing but that the address used to be listed. It is history: shown, but neither scored nor feared. */
export const isHistory = (label: Label, asOf: string | null = null): boolean =>
  label.category === 'SANCTIONED_ENTITY' &&
  label.sanctions.length > 0 &&
  !label.sanctions.some((entry) => isInForce(entry, asOf));
