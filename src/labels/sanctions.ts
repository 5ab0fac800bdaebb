/**
 * The history of each sanctions list, computed from the imported files in any order. Only the newest file of a list decides: an
 * entry is in force if that file has it. An older file adds history, and no list affects another.
 */
import { AssayError } from '../base/errors.ts';
import { utcTimeOf } from '../base/iso-times.ts';
import type { ChainId } from '../chains/registry.ts';
import { requirePublished } from '../sources/dates.ts';
import type { SanctionsList } from '../sources/index.ts';
import type { PartySchema } from '../sources/records.ts';
import type { UnreadableRow } from '../sources/unreadable-rows.ts';

/** One imported file of a list. */
export interface ListFile {
  /** ISO date or time. */
  readonly publishedAt: string;
  readonly contentHash: string;
  readonly layout: string;
  /** The file contains the whole list: an entry that it lacks was delisted by then. */
  readonly whole: boolean;
  readonly parties: number;
  readonly wallets: number;
  /** Number of parties with recorded details; absent for a file that was imported before details were kept. */
  readonly detailed?: number;
  /**
   * Rows that could not be read. They may be those of parties and wallets that the file seems to lack. Absent for a file that was
   * imported before they were kept.
   */
  readonly unreadable?: readonly UnreadableRow[];
  /** The import was forced: parties and wallets that the file lacks are gone, in spite of its unreadable rows. */
  readonly forced?: true;
  /** The publisher replaced this file by another one of the same publication date and layout: it no longer counts. */
  readonly superseded?: true;
}

/** The publisher's description of one wallet of one party. */
export interface EntryDetails {
  readonly entityName: string;
  readonly program: string | null;
  /** ISO 3166-1 alpha-2. */
  readonly jurisdiction: string | null;
  readonly listedAt: string | null;
  /** The publisher's own date of delisting, if it keeps delisted parties in the file. */
  readonly delistedAt: string | null;
  /** Currencies under which the address is printed. */
  readonly currencies: readonly string[];
}

/** One wallet of one party, as one file of the list has it. */
export interface ObservedEntry {
  readonly entityId: string;
  /** The address key in hex. */
  readonly key: string;
  readonly chain: ChainId;
  /** Canonical address. */
  readonly address: string;
  readonly details: EntryDetails;
}

/** The publisher's description of one party, whether or not the file lists a wallet of it. */
export interface PartyDetails {
  readonly entityName: string;
  readonly schema: PartySchema;
  readonly program: string | null;
  /** A second id of the party, such as the EU reference number. */
  readonly reference: string | null;
  readonly listedAt: string | null;
  /** The publisher's own date of delisting, if it keeps delisted parties in the file. */
  readonly delistedAt: string | null;
  /** Null if the file does not say. */
  readonly assetFreeze: boolean | null;
  readonly measures: readonly string[];
}

/** One party, as one file of the list describes it. */
export interface ObservedParty {
  readonly entityId: string;
  readonly details: PartyDetails;
}

/** One party, merged over all files. */
export interface ListedParty extends ObservedParty {
  /** Publication of the oldest and of the newest file with the party. */
  readonly firstAt: string;
  readonly lastAt: string;
  /** The content hash of the newest file with the party: the source of `details`. */
  readonly detailsFrom: string;
}

/** One wallet of one party, merged over all files. */
export interface ListedEntry extends ObservedEntry {
  /** Publications of whole files between `firstAt` and `lastAt` that lack the entry, in order. Default: none. */
  readonly absences?: readonly string[];
  /** Publication of the oldest and of the newest file with the entry. */
  readonly firstAt: string;
  readonly lastAt: string;
  /** The content hash of the newest file with the entry: the source of `details`. */
  readonly detailsFrom: string;
}

export interface ListState {
  readonly list: SanctionsList;
  /** Ordered by publication. */
  readonly files: readonly ListFile[];
  /** Sorted by party and key. */
  readonly entries: readonly ListedEntry[];
  /** Publication of the newest whole file; null if only excerpts were imported. */
  readonly newestAt: string | null;
  /**
   * Ids of the parties in force in the newest whole file, sorted. Plausibility is checked by parties, because wallets are few.
   */
  readonly parties: readonly string[];
  /** Every party of every file, in force or not, sorted by id. */
  readonly details: readonly ListedParty[];
}

/** A file of a list, read to its end. */
export interface ReadList {
  readonly list: SanctionsList;
  readonly publishedAt: string;
  readonly contentHash: string;
  readonly layout: string;
  readonly whole: boolean;
  /** Ids of the parties in force according to this file. */
  readonly parties: ReadonlySet<string>;
  readonly entries: readonly ObservedEntry[];
  /** Every party of the file, including delisted ones. */
  readonly details?: readonly ObservedParty[];
  /** Rows that could not be read. Default: none. */
  readonly unreadable?: readonly UnreadableRow[];
  /** The file was downloaded, or attested as the newest of its publisher: it replaces others of its date. Default: false. */
  readonly isConfirmed?: boolean;
}

/** Returns the state of a list without files. */
export const emptyList = (list: SanctionsList): ListState => ({
  list,
  files: [],
  entries: [],
  newestAt: null,
  parties: [],
  details: [],
});

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Compares two publications; a date means the start of its day. */
export const comparePublications = byText;

/**
 * Returns whether the file is part of the state. A file that was imported before details of parties were kept counts as missing,
 * so that importing it again adds them.
 */
export const hasFile = (state: ListState, contentHash: string): boolean =>
  state.files.some((file) => file.contentHash === contentHash && file.detailed !== undefined);

/** Returns whether parties and wallets that the file lacks may be in its unreadable rows. */
const holdsBack = ({ unreadable = [], forced }: ListFile): boolean =>
  unreadable.length > 0 && forced !== true;

/**
 * Returns whether importing a known file again changes its state: a forced import delists what its unreadable rows hold back, and a
 * publisher can withdraw a correction.
 */
export const countsAgain = (
  known: ListFile,
  { force, isConfirmed }: { readonly force: boolean; readonly isConfirmed?: boolean },
): boolean => (force && holdsBack(known)) || (isConfirmed === true && known.superseded === true);

/**
 * Adds one file to the state. Files that were published at the same moment count as one: an entry is in force if any of them has it.
 * If the newer one is known, because its publisher serves it now and prints the same date, it replaces the other: a correction.
 *
 * @throws IMPLAUSIBLE_LIST unless `force`, if the file would delist more than half of the parties in force, or has no party.
 */
export function withFile(state: ListState, file: ReadList, options: { readonly force: boolean }): ListState {
  const known = state.files.find((one) => one.contentHash === file.contentHash);
  if (hasFile(state, file.contentHash) && known !== undefined && !countsAgain(known, { ...options, ...file }))
    return state;
  const isCorrection = correctsOthers(state, file);
  if (!options.force) checkPlausible(state, file, isCorrection);
  const files = [
    ...state.files
      .filter((one) => one.contentHash !== file.contentHash)
      .map((one) => (isCorrection && isReplaced(one, file) ? { ...one, superseded: true as const } : one)),
    {
      publishedAt: file.publishedAt,
      contentHash: file.contentHash,
      layout: file.layout,
      whole: file.whole,
      parties: file.parties.size,
      wallets: file.entries.length,
      detailed: file.details?.length ?? 0,
      unreadable: file.unreadable ?? [],
      ...(options.force ? { forced: true as const } : {}),
    },
  ].sort((a, b) => comparePublications(a.publishedAt, b.publishedAt) || byText(a.contentHash, b.contentHash));
  const order = file.whole ? comparePublications(file.publishedAt, state.newestAt ?? '') : -1;
  return {
    list: state.list,
    files,
    entries: withAbsences(
      state,
      file,
      merge(state.entries, joinEntries(file.entries), { file, isCorrection }, nameOf),
    ),
    details: merge(state.details, file.details ?? [], { file, isCorrection }, (party) => party.entityId),
    newestAt: order > 0 ? file.publishedAt : state.newestAt,
    parties:
      order < 0
        ? state.parties
        : order > 0 || isCorrection
          ? [...file.parties].sort(byText)
          : [...new Set([...state.parties, ...file.parties])].sort(byText),
  };
}

const isReplaced = (one: ListFile, { publishedAt, contentHash }: ReadList): boolean =>
  one.whole && one.publishedAt === publishedAt && one.contentHash !== contentHash;

/** Returns whether the file corrects others of its publication. Files of several layouts are several views of one publication. */
function correctsOthers({ files }: ListState, file: ReadList): boolean {
  if (file.isConfirmed !== true || !file.whole) return false;
  const others = files.filter((one) => isReplaced(one, file));
  return others.length > 0 && others.every(({ layout }) => layout === file.layout);
}

function checkPlausible(state: ListState, file: ReadList, isCorrection: boolean): void {
  if (!file.whole) return;
  const refuse = (why: string): never => {
    throw new AssayError(
      'IMPLAUSIBLE_LIST',
      `The ${file.list} list of ${file.publishedAt} ${why}. If that is correct, import it with --force.`,
      { field: 'file' },
    );
  };
  if (file.parties.size === 0) refuse('has no party');
  const order = comparePublications(file.publishedAt, state.newestAt ?? '');
  if (state.newestAt === null || order < 0 || (order === 0 && !isCorrection)) return;
  const gone = state.parties.filter((party) => !file.parties.has(party)).length;
  if (gone * 2 > state.parties.length) {
    refuse(
      `would delist ${gone} of the ${state.parties.length} parties in force since ${state.newestAt}, more than half`,
    );
  }
}

interface Observed {
  readonly entityId: string;
  readonly key?: string;
}

interface Spanned {
  readonly firstAt: string;
  readonly lastAt: string;
  readonly detailsFrom: string;
}

/**
 * Merges the wallets or parties of one file with those of earlier imports. The order of imports makes no difference, except that a
 * correction follows what it corrects.
 */
function merge<Row extends Observed, Known extends Row & Spanned>(
  known: readonly Known[],
  rows: readonly Row[],
  { file: { publishedAt, contentHash }, isCorrection }: { file: ReadList; isCorrection: boolean },
  idOf: (row: Row) => string,
): Known[] {
  const merged = new Map<string, Row & Spanned>(known.map((row) => [idOf(row), row]));
  for (const row of rows) {
    const id = idOf(row);
    const before = merged.get(id);
    if (!before) {
      merged.set(id, { ...row, firstAt: publishedAt, lastAt: publishedAt, detailsFrom: contentHash });
      continue;
    }
    const age =
      comparePublications(publishedAt, before.lastAt) ||
      (isCorrection ? 1 : byText(contentHash, before.detailsFrom));
    merged.set(id, {
      ...(age > 0 ? { ...row, detailsFrom: contentHash } : before),
      firstAt: comparePublications(publishedAt, before.firstAt) < 0 ? publishedAt : before.firstAt,
      lastAt: comparePublications(publishedAt, before.lastAt) > 0 ? publishedAt : before.lastAt,
    });
  }
  return [...merged.values()].sort(
    (a, b) => byText(a.entityId, b.entityId) || byText(a.key ?? '', b.key ?? ''),
  ) as Known[];
}

/** Adds to each entry the publications that lack it, although an earlier and a later one have it. */
function withAbsences(
  state: ListState,
  file: ReadList,
  entries: readonly ListedEntry[],
): readonly ListedEntry[] {
  const at = file.publishedAt;
  const known = new Map(state.entries.map((entry) => [nameOf(entry), entry]));
  const present = new Set(file.entries.map(nameOf));
  const others = [...new Set(state.files.filter((one) => one.whole).map((one) => one.publishedAt))];
  const isShared = state.files.some((one) => one.publishedAt === at);
  return entries.map((entry) => {
    const before = known.get(nameOf(entry));
    if (before === undefined) return entry;
    const absences = new Set(before.absences);
    if (present.has(nameOf(entry))) {
      absences.delete(at);
      const [from, to] = at > before.lastAt ? [before.lastAt, at] : [at, before.firstAt];
      for (const other of others) if (other > from && other < to) absences.add(other);
    } else if (file.whole && !isShared && at > before.firstAt && at < before.lastAt) absences.add(at);
    const { absences: _, ...rest } = entry;
    return absences.size === 0 ? rest : { ...rest, absences: [...absences].sort(byText) };
  });
}

const nameOf = (entry: ObservedEntry): string => `${entry.entityId}\n${entry.key}`;

/** Merges the rows of a wallet that a party has several times, usually under several currencies, into one entry. */
export function joinEntries(entries: Iterable<ObservedEntry>): ObservedEntry[] {
  const joined = new Map<string, ObservedEntry>();
  for (const entry of entries) {
    const name = nameOf(entry);
    const before = joined.get(name);
    const currencies = [
      ...new Set([...(before?.details.currencies ?? []), ...entry.details.currencies]),
    ].sort(byText);
    joined.set(name, { ...entry, details: { ...entry.details, currencies } });
  }
  return [...joined.values()];
}

/**
 * Returns when a wallet or a party left the list, or null if it is in force: present in the newest whole file and not marked as
 * delisted there. The date is the publisher's own, or else the publication of the first known later file without it. A file that
 * has an unreadable row in its place does not delist it.
 */
export function delistedAt(
  state: ListState,
  entry: Spanned & { readonly entityId: string; readonly details: Pick<EntryDetails, 'delistedAt'> },
): string | null {
  if (entry.details.delistedAt !== null) return entry.details.delistedAt.slice(0, 10);
  if (state.newestAt === null) return null;
  const last = state.files.filter((file) => file.publishedAt === entry.lastAt);
  const own = last.find((file) => file.contentHash === entry.detailsFrom);
  if (own?.superseded === true) {
    // Only the corrected file has it.
    const corrections = last.filter((file) => file.whole && file.superseded !== true);
    if (!corrections.some((file) => isHidden(state, entry, file, [own]))) return entry.lastAt.slice(0, 10);
  }
  if (comparePublications(entry.lastAt, state.newestAt) >= 0) return null;
  const later = state.files.find(
    (file) =>
      file.whole &&
      file.superseded !== true &&
      comparePublications(file.publishedAt, entry.lastAt) > 0 &&
      !isHidden(state, entry, file, own?.superseded === true ? [own] : last),
  );
  return later ? later.publishedAt.slice(0, 10) : null;
}

/**
 * Returns whether an unreadable row of a later file may be that of a wallet or a party: a row of its party, or, if the file lacks the
 * party, of an unknown one. A row that the last file with the entry has, too, is another one: publishers repeat a misprint for years.
 */
function isHidden(
  state: ListState,
  entry: Spanned & { readonly entityId: string },
  file: ListFile,
  last: readonly ListFile[],
): boolean {
  if (!holdsBack(file)) return false;
  if (last.some((one) => one.unreadable === undefined)) return false;
  const before = new Set(last.flatMap((one) => one.unreadable?.map((row) => row.hash) ?? []));
  const party = partiesById(state).get(entry.entityId);
  const isPartyGone =
    party === undefined ||
    comparePublications(party.lastAt, file.publishedAt) < 0 ||
    last.some((one) => one.superseded === true && one.contentHash === party.detailsFrom);
  return (file.unreadable ?? []).some(
    ({ entityId, hash }) =>
      !before.has(hash) && (entityId === null ? isPartyGone : entityId === entry.entityId),
  );
}

const partiesOfStates = new WeakMap<ListState, ReadonlyMap<string, ListedParty>>();

function partiesById(state: ListState): ReadonlyMap<string, ListedParty> {
  let known = partiesOfStates.get(state);
  if (known === undefined) {
    known = new Map(state.details.map((party) => [party.entityId, party]));
    partiesOfStates.set(state, known);
  }
  return known;
}

/** Returns whether the newest file lacks a wallet that stays in force, because the file has an unreadable row in its place. */
export const isHeldBack = (state: ListState, entry: ListedEntry): boolean =>
  state.newestAt !== null &&
  delistedAt(state, entry) === null &&
  (comparePublications(entry.lastAt, state.newestAt) < 0 ||
    state.files.some((file) => file.contentHash === entry.detailsFrom && file.superseded === true));

/** Counts the wallets in force that the newest file lacks, because it has unreadable rows in their place. */
export const heldBackIn = (state: ListState): number =>
  state.entries.filter((entry) => isHeldBack(state, entry)).length;

/** The date since which a wallet is listed, and the meaning of the date. */
export interface Listing {
  readonly listedAt: string | null;
  readonly listedAtBasis: 'PARTY' | 'WALLET';
}

/**
 * Returns the date since which the wallet is listed. This is the party's date if the publisher prints one (`PARTY`), unless the
 * files show that the wallet was added later: a whole file of the same layout, published after that date and before the wallet's
 * first file, lacks it. In that case, and if the publisher prints no date, it is the publication of the first imported file with
 * the wallet (`WALLET`).
 */
export function listedAt(state: ListState, entry: ListedEntry): Listing {
  const party = entry.details.listedAt?.slice(0, 10) ?? null;
  const wallet: Listing = { listedAt: entry.firstAt.slice(0, 10), listedAtBasis: 'WALLET' };
  if (party === null) return wallet;
  // A file of another layout may lack the wallet because that layout prints no wallets.
  const layouts = new Set(
    state.files.filter((file) => file.publishedAt === entry.firstAt).map(({ layout }) => layout),
  );
  const cameLater = state.files.some(
    ({ whole, publishedAt, layout }) =>
      whole &&
      layouts.has(layout) &&
      comparePublications(publishedAt, entry.firstAt) < 0 &&
      publishedAt.slice(0, 10) > party,
  );
  return cameLater ? wallet : { listedAt: entry.details.listedAt, listedAtBasis: 'PARTY' };
}

/** A time during which a wallet was listed. */
export interface ListedPeriod extends Listing {
  /** Publications of the first and of the last file of this period. */
  readonly firstAt: string;
  readonly lastAt: string;
  /** ISO date; null for the last period of a wallet in force. */
  readonly delistedAt: string | null;
}

/**
 * Returns the periods of a wallet, oldest first: a wallet that its list dropped and listed again has several. A file without it ends
 * a period as it would delist it: it is whole, and has no unreadable row in its place. A file of a layout that the first and the last
 * file with the wallet do not have ends none, because it may print no wallets.
 */
export function periodsOf(state: ListState, entry: ListedEntry): readonly ListedPeriod[] {
  const { firstAt, lastAt, absences = [] } = entry;
  const last = { firstAt, lastAt, ...listedAt(state, entry), delistedAt: delistedAt(state, entry) };
  if (absences.length === 0 || entry.details.delistedAt !== null) return [last];
  const within = state.files.filter((file) => file.publishedAt >= firstAt && file.publishedAt <= lastAt);
  const filesOf = (at: string): readonly ListFile[] => within.filter((file) => file.publishedAt === at);
  const layouts = new Set([...filesOf(firstAt), ...filesOf(lastAt)].map((file) => file.layout));
  const periods: ListedPeriod[] = [];
  let period: ListedPeriod = { ...last, lastAt: firstAt, delistedAt: null };
  for (const at of [...new Set(within.map((file) => file.publishedAt))].sort(byText)) {
    if (!absences.includes(at)) {
      if (period.delistedAt === null) period = { ...period, lastAt: at };
      else {
        periods.push(period);
        period = {
          firstAt: at,
          lastAt: at,
          listedAt: at.slice(0, 10),
          listedAtBasis: 'WALLET',
          delistedAt: null,
        };
      }
    } else if (period.delistedAt === null) {
      const ends = filesOf(at).some(
        (file) =>
          file.whole && layouts.has(file.layout) && !isHidden(state, entry, file, filesOf(period.lastAt)),
      );
      if (ends) period = { ...period, delistedAt: at.slice(0, 10) };
    }
  }
  return [...periods, { ...period, delistedAt: last.delistedAt }];
}

const DATE_IN_NAME = /(?<!\d)((?:19|20)\d\d)(?:([-_.]?)(0[1-9]|1[0-2])(?:\2(0[1-9]|[12]\d|3[01]))?)(?!\d)/;

/** Returns the date in a file name (`2021-07`, `20210701` or `2021-07-15`) as an ISO date; a month means its first day. */
export function dateInName(name: string): string | null {
  const match = DATE_IN_NAME.exec(name);
  return match ? `${match[1]}-${match[3]}-${match[4] ?? '01'}` : null;
}

/** Normalises a printed publication date to an ISO date, or to a UTC time if the publisher prints one; null if it is neither. */
export function normalPublication(text: string): string | null {
  const month = /^(\d{4})-(\d\d)$/.exec(text.trim());
  const full = month ? `${text.trim()}-01` : text.trim();
  if (!/^\d{4}-\d\d-\d\d(?:[T ].*)?$/.test(full)) return null;
  const time = utcTimeOf(full);
  if (Number.isNaN(time)) return null;
  const iso = new Date(time).toISOString();
  return full.length === 10 ? iso.slice(0, 10) : iso;
}

/**
 * Returns the publication date of a file: the date inside the file, or else the caller's date, a date in its name, or the time
 * of its last change on the server.
 *
 * @throws INVALID_FILE if none of these is known, or the date is in the future.
 */
export function publicationOf(facts: {
  readonly inside: string | null;
  readonly option: string | null;
  readonly names: readonly string[];
  readonly lastModified: string | null;
  readonly now: number;
}): string {
  const named = facts.names.map(dateInName).find((date) => date !== null) ?? null;
  const text = facts.inside ?? facts.option ?? named ?? facts.lastModified;
  if (text === null) {
    throw new AssayError(
      'INVALID_FILE',
      `${facts.names.join(', ')}: the publication date is unknown; pass --published YYYY-MM-DD.`,
      { field: 'published' },
    );
  }
  return checkedPublication(text, facts.now, 'INVALID_FILE');
}

/**
 * Returns a date of publication in its normal form.
 *
 * @param code - code of the error: whether the date is the caller's or belongs to a file
 * @throws that code if the text is not a date, or the date is in the future
 */
export function checkedPublication(
  text: string,
  now: number,
  code: 'INVALID_FILE' | 'INVALID_REQUEST',
): string {
  const field = 'published';
  const published = normalPublication(text);
  if (published === null)
    throw new AssayError(code, `${field}: '${text.slice(0, 40)}' is not a date such as 2025-03-21.`, {
      field,
    });
  requirePublished(published, now, code);
  return published;
}
