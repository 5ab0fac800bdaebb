/** The sanctions entries of an address: each once, in force or historical, and the number of jurisdictions that agree. */
import type { Label, OwnerAttribution, SanctionsEntry } from '../labels/label.ts';
import { countsAsSanction } from '../labels/sanction-hit.ts';
import { LISTS } from '../sources/lists.ts';
import type { SanctionsDetail } from './answers.ts';

/** Returns true if an entry is in force, now or on an ISO date: listed by then, and not yet delisted. */
export function isInForce(entry: SanctionsEntry, asOf: string | null = null): boolean {
  if (asOf === null) return entry.delistedAt === null;
  const listed = entry.listedAt === null || entry.listedAt.slice(0, 10) <= asOf;
  return listed && (entry.delistedAt === null || entry.delistedAt.slice(0, 10) > asOf);
}

/** Returns true if a list in force names the address itself. */
export const isDirectHit = (entry: SanctionsEntry, asOf: string | null = null): boolean =>
  entry.matchType === 'DIRECT' && isInForce(entry, asOf);

/** Returns true if the entry makes the address sanctioned: in force, and DIRECT or OWNER of sufficient confidence. */
export const isSanctionHit = (entry: SanctionsEntry, asOf: string | null = null): boolean =>
  countsAsSanction(entry) && isInForce(entry, asOf);

/** Returns true if a label attributes the address to a designated party, but not with enough confidence to make it sanctioned. */
export const isSuspectedOwner = (entry: SanctionsEntry, asOf: string | null = null): boolean =>
  entry.matchType === 'OWNER' && !countsAsSanction(entry) && isInForce(entry, asOf);

/** Returns the identity of an entry. Entries of one identity say the same, whatever their source. */
export const entryIdentity = (entry: SanctionsEntry): string =>
  JSON.stringify([
    entry.list,
    entry.entityId,
    entry.program,
    entry.listedAt,
    entry.delistedAt,
    entry.matchType,
  ]);

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns true if the first of two attributions to the same party is shown: the surer one, then the later one. */
const betterAttribution = (a: OwnerAttribution, b: OwnerAttribution): boolean =>
  (a.confidence - b.confidence || byText(a.date ?? '', b.date ?? '') || byText(b.source, a.source)) > 0;

/** Returns the entry as this label has it. The date of its attribution is that of the label, if the label has one. */
function entryOf(label: Label, entry: SanctionsEntry): SanctionsEntry {
  const { attribution } = entry;
  const date = label.lastSeen ?? label.firstSeen;
  return attribution === undefined || date === null
    ? entry
    : { ...entry, attribution: { ...attribution, date } };
}

/**
 * Returns the entries of all labels, each once: first those that make the address sanctioned, then by list. An entry of a
 * designated owner is left out if a list in force names the address itself as that party's.
 */
export function sanctionsEntries(labels: readonly Label[], asOf: string | null = null): SanctionsEntry[] {
  const entries = new Map<string, SanctionsEntry>();
  for (const label of labels) {
    for (const listed of label.sanctions) {
      const entry = entryOf(label, listed);
      const identity = entryIdentity(entry);
      const known = entries.get(identity);
      if (known?.attribution && entry.attribution && !betterAttribution(entry.attribution, known.attribution))
        continue;
      entries.set(identity, entry);
    }
  }
  const all = [...entries.values()];
  const isCovered = (entry: SanctionsEntry): boolean =>
    entry.attribution !== undefined &&
    all.some(
      (other) =>
        other.matchType === 'DIRECT' &&
        other.list === entry.list &&
        other.entityId === entry.entityId &&
        (isInForce(other, asOf) || !isInForce(entry, asOf)),
    );
  /** A listing that ended is reported once: the list's own entry is preferred to the one that ships with the product. */
  const isRepeated = (entry: SanctionsEntry, at: number): boolean =>
    entry.matchType === 'DIRECT' &&
    !isInForce(entry, asOf) &&
    all
      .slice(0, at)
      .some(
        (other) =>
          other.matchType === 'DIRECT' &&
          other.list === entry.list &&
          other.entityId === entry.entityId &&
          other.delistedAt?.slice(0, 10) === entry.delistedAt?.slice(0, 10),
      );
  const rank = (entry: SanctionsEntry): string =>
    `${isSanctionHit(entry, asOf) ? 0 : 1}${entryIdentity(entry)}`;
  return all
    .filter((entry, at) => !isCovered(entry) && !isRepeated(entry, at))
    .sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
}

/**
 * Returns the sanctions detail of an address.
 *
 * @param dataAsOf - the oldest check among the loaded lists
 */
export function sanctionsDetail(
  labels: readonly Label[],
  dataAsOf: string | null,
  asOf: string | null = null,
): SanctionsDetail {
  const lists = sanctionsEntries(labels, asOf);
  const hits = lists.filter((entry) => isSanctionHit(entry, asOf));
  return {
    isSanctioned: hits.length > 0,
    lists,
    agreementCount: new Set(hits.map((entry) => LISTS.groupOf(entry.list))).size,
    dataAsOf,
  };
}

/**
 * Returns true if a label only says that the address used to be listed. Such a label is history: it is shown, but does not score.
 */
export const isHistory = (label: Label, asOf: string | null = null): boolean =>
  label.category === 'SANCTIONED_ENTITY' &&
  label.sanctions.length > 0 &&
  !label.sanctions.some((entry) => isInForce(entry, asOf));
