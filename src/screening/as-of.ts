/**
 * Answers as of a past day, from the labels and lists as they were known then. A label counts from the earliest day for which the
 * data proves it. A label without such a day is hidden, because a later fact must not appear in an earlier answer.
 */
import type { ChainId } from '../chains/registry.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import type { Label, SanctionsEntry } from '../labels/label.ts';
import { primaryOrder } from '../labels/primary.ts';
import { shippedSources } from '../labels/source-table.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import type { Coverage, CoverageEntry } from './answers.ts';

const DAY_MS = 86_400_000;

/**
 * Returns the last millisecond of a day (UTC).
 *
 * @param day - ISO date.
 */
export const endOfDayMs = (day: string): number => Date.parse(day) + DAY_MS - 1;

/** The dates of the sources of a snapshot. */
interface SourceDates {
  /** Source id → ISO date of its newest dataset: the publication date if known, otherwise the import date. */
  readonly newest: ReadonlyMap<string, string>;
  /** Sources that are sanctions lists. For these, the dates of the entries count, not the date of the file. */
  readonly lists: ReadonlySet<string>;
}

const datesOfSnapshot = new WeakMap<LabelReader['meta'], SourceDates>();

function sourceDates({ meta }: LabelReader): SourceDates {
  const known = datesOfSnapshot.get(meta);
  if (known !== undefined) return known;
  const newest = new Map<string, string>();
  const lists = new Set<string>();
  for (const source of meta.sources) {
    // A label does not name its dataset. Unless it has a date of its own, it is considered as old as the newest dataset of its
    // source.
    const date = (source.publishedAt ?? source.importedAt).slice(0, 10);
    if (date > (newest.get(source.id) ?? '')) newest.set(source.id, date);
    if (source.lists.length > 0) lists.add(source.id);
  }
  const dates = { newest, lists };
  datesOfSnapshot.set(meta, dates);
  return dates;
}

/** Returns the ISO day from which a label is proven to be known; null if there is no date. */
const knownSince = (label: Label, { newest }: SourceDates): string | null =>
  (label.firstSeen ?? label.lastSeen ?? newest.get(label.source))?.slice(0, 10) ?? null;

/** Returns an entry as its list had it on a day; null if it was listed later. */
function entryAsOf(entry: SanctionsEntry, label: Label, day: string): SanctionsEntry | null {
  const listed = entry.listedAt ?? label.firstSeen;
  if (listed !== null && listed.slice(0, 10) > day) return null;
  const isDelisted = entry.delistedAt !== null && entry.delistedAt.slice(0, 10) <= day;
  return isDelisted ? entry : { ...entry, delistedAt: null };
}

const isDirect = (entries: readonly SanctionsEntry[]): boolean =>
  entries.some((entry) => entry.matchType === 'DIRECT');

/** Returns whether an entry is in force that names the address; of a label without one, any entry. */
const isOwnInForce = (entries: readonly SanctionsEntry[]): boolean =>
  entries.some(
    ({ matchType, delistedAt }) => delistedAt === null && (matchType === 'DIRECT' || !isDirect(entries)),
  );

/** Returns a label as it was known at the end of a day; null if it was not known yet. */
function labelAsOf(
  label: Label,
  day: string,
  dates: SourceDates,
  threats: RiskPolicy['threats'],
): Label | null {
  const sanctions = label.sanctions.flatMap((entry) => entryAsOf(entry, label, day) ?? []);
  const isListing = dates.lists.has(label.source) || label.category === 'SANCTIONED_ENTITY';
  if (label.sanctions.length > 0 && isListing) {
    if (sanctions.length === 0) return null;
    // A list attributes a wallet to its party from the day on which it lists the wallet, also if another list designated the party before.
    if (dates.lists.has(label.source) && isDirect(label.sanctions) && !isDirect(sanctions)) return null;
    const wasInForce = isOwnInForce(sanctions);
    const isInForce = isOwnInForce(label.sanctions);
    if (!wasInForce || isInForce) return { ...label, sanctions };
    // The list delisted the address later. On that day the label was that of a sanctioned address.
    return {
      ...label,
      sanctions,
      category: 'SANCTIONED_ENTITY',
      threatLevel: threats.SANCTIONED_ENTITY,
      confidence: 1,
      tags: label.tags.map((tag) => (tag === 'delisted' ? 'sanctioned' : tag)),
    };
  }
  const since = knownSince(label, dates);
  if (since !== null && since <= day) return { ...label, sanctions };
  // Other labels of the address may be newer than its listing, which the entry dates itself. The owner of an address does not
  // change with the day: an attribution without a date holds for all days since the owner's designation.
  const isUndated = label.firstSeen === null && label.lastSeen === null;
  const isProven = ({ matchType, listedAt }: SanctionsEntry): boolean =>
    listedAt !== null && (matchType === 'DIRECT' || (matchType === 'OWNER' && isUndated));
  if (!sanctions.some(isProven)) return null;
  return {
    ...label,
    sanctions,
    firstSeen: null,
    lastSeen: null,
    tags: label.tags.map((tag) => (tag === 'delisted' ? 'sanctioned' : tag)),
  };
}

/**
 * Returns a snapshot as it was known at the end of a past day. `find`, `findMany`, `writeLabelsJson` and `isSanctioned` still answer as of
 * now: they serve answers that take no date.
 *
 * @param day - ISO date.
 */
export function labelsAsOf(
  reader: LabelReader,
  day: string,
  { threats }: Pick<RiskPolicy, 'threats'>,
): LabelReader {
  const dates = sourceDates(reader);
  const order = primaryOrder(shippedSources());
  // The snapshot has the labels in the order of now: a listing that ended since comes after others, but came before them while it was in force.
  const then = (labels: readonly Label[]): readonly Label[] =>
    labels.flatMap((label) => labelAsOf(label, day, dates, threats) ?? []).sort(order);
  return {
    meta: reader.meta,
    find: (keys, offset, length) => reader.find(keys, offset, length),
    findMany: (keys, offsets, lengths, count, handles) =>
      reader.findMany(keys, offsets, lengths, count, handles),
    labels: (handle, chain: ChainId) => then(reader.labels(handle, chain)),
    // Its dates decide whether a label was known then.
    loneTemplate: () => -1,
    lookup: (key, chain) => then(reader.lookup(key, chain)),
    readLabelsAhead: (handles, count) => reader.readLabelsAhead(handles, count),
    readJsonAhead: (handles, count) => reader.readJsonAhead(handles, count),
    writeLabelsJson: (handle, chain, out, offset) => reader.writeLabelsJson(handle, chain, out, offset),
    isSanctioned: (handle, chain) => reader.isSanctioned(handle, chain),
    eachLabelled: (chain, isWanted, visit) => reader.eachLabelled(chain, isWanted, visit),
    eachSanctioned: (chain, visit) => reader.eachSanctioned(chain, visit),
  };
}

const partial = (entry: CoverageEntry): CoverageEntry =>
  entry.status === 'COMPLETE' ? { ...entry, status: 'PARTIAL' } : entry;

/**
 * Returns the coverage of an answer as of a past day. Neither labels nor sanctions are ever COMPLETE: labels without a date are
 * hidden, and entries that a list dropped before the oldest imported file are not known.
 */
export const coverageAsOf = (coverage: Coverage): Coverage => ({
  ...coverage,
  labels: partial(coverage.labels),
  sanctions: partial(coverage.sanctions),
});
