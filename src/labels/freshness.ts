/**
 * The age of each sanctions list: the file that records it, and a reader cheap enough for every request. Importers and refreshes
 * write the file under the store's lock; any thread or process reads it.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import type { ListGroup, SanctionsList } from '../sources/index.ts';
import { LISTS, type ListCatalogue } from '../sources/lists.ts';
import { readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import { wrongFormat } from '../state/format-version.ts';

/** The last check of one list. */
export interface ListCheck {
  /** Publication of the newest file imported: ISO date or time. */
  readonly publishedAt: string;
  /**
   * ISO time at which the publisher was last known to have published nothing newer: the time of a successful refresh. For a file
   * imported by hand it is the publication date of that file, unless the import states when it was fetched.
   */
  readonly checkedAt: string;
  /** How the newest check is known. Absent (unknown) in files of earlier versions. */
  readonly checkedBy?: ListCheckMethod;
  /** Number of parties in force. */
  readonly records: number;
}

/**
 * DOWNLOAD: the file was fetched from its publisher. IMPORT: a file was imported by hand and proves its own publication only.
 * ATTESTATION: an operator stated the date of the check.
 */
export type ListCheckMethod = 'DOWNLOAD' | 'IMPORT' | 'ATTESTATION';

/** A list that a clean verdict requires and that is missing or too old. */
export interface StaleList {
  readonly list: SanctionsList;
  readonly group: ListGroup;
  /** Date or time of the last check; null if the list was never loaded. */
  readonly checkedAt: string | null;
}

export type ListChecks = Partial<Readonly<Record<SanctionsList, ListCheck>>>;

export interface GroupFreshness {
  readonly group: ListGroup;
  readonly lists: readonly SanctionsList[];
  /** Every list of the group has been imported. */
  readonly loaded: boolean;
  /** Loaded, and every list checked within the maximum age. */
  readonly fresh: boolean;
  /** Of the oldest list of the group; null if a list of the group was never loaded. */
  readonly publishedAt: string | null;
  readonly checkedAt: string | null;
  readonly records: number;
}

export interface ListFreshness {
  /** True if every group with required lists is fresh, which a clean verdict requires. */
  readonly complete: boolean;
  /** Groups that are missing or too old, for STALE_OR_MISSING_DATA. */
  readonly stale: readonly ListGroup[];
  /** The lists of those groups that are missing or too old. */
  readonly staleLists: readonly StaleList[];
  readonly groups: Readonly<Record<ListGroup, GroupFreshness>>;
  readonly lists: ListChecks;
  /** The oldest check of the loaded lists; null if no list is loaded. */
  readonly asOf: string | null;
}

export interface FreshnessReader {
  /** Returns the state of the groups of lists at `now` (milliseconds since the epoch). */
  listFreshness(now: number, maxAgeDays: number): ListFreshness;
}

const FORMAT = 1;
const DAY_MS = 86_400_000;
/** A publisher dates its file by the day of its own time zone. A date further ahead was written before the clock was set back. */
const AHEAD_MAX_MS = DAY_MS;
/** Minimum time between two looks at the file: a refresh is visible within a second, and a request costs no system call. */
const READ_AGAIN_MS = 1_000;

interface FreshnessFile {
  readonly format: number;
  readonly lists: ListChecks;
}

/** Returns the path of the file that records the age of each list. */
export const freshnessPath = (labelsFolder: string): string => join(labelsFolder, 'freshness.json');

/**
 * Reads the file; returns no lists if it does not exist.
 *
 * @throws STORE_VERSION for a format of another program version; STORE_CORRUPT if the file is damaged.
 */
export function readListChecks(labelsFolder: string): ListChecks {
  const path = freshnessPath(labelsFolder);
  let file: FreshnessFile;
  try {
    file = readJson(path) as FreshnessFile;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === 'ENOENT') return {};
    if (code !== 'STORE_CORRUPT') throw error;
    // Without the file no answer is clean, so a loss of it is not dangerous, and every import of a list reads it.
    throw new AssayError(
      'STORE_CORRUPT',
      `${path} is damaged. Restore it from a backup, or remove it: its lists then count as never loaded, until they are synced or imported again.`,
      { cause: error },
    );
  }
  if (file.format !== FORMAT) throw wrongFormat(path, file.format, FORMAT);
  return file.lists;
}

/** Replaces the state of the lists in `changes`. The caller must hold the store's lock. */
export function writeListChecks(labelsFolder: string, changes: ListChecks): void {
  const lists = { ...readListChecks(labelsFolder), ...changes };
  writeJsonAtomically(freshnessPath(labelsFolder), { format: FORMAT, lists } satisfies FreshnessFile);
}

/** Opens a reader of the store's freshness. It is synchronous and answers from memory between looks at the file. */
export function openFreshness(options: {
  readonly labelsFolder: string;
  /** The sanctions lists that exist. Default: LISTS. */
  readonly lists?: ListCatalogue;
}): FreshnessReader {
  const path = freshnessPath(options.labelsFolder);
  let checks: ListChecks = {};
  let stamp = '';
  let readAt = Number.NEGATIVE_INFINITY;

  function readAgain(now: number): void {
    if (Math.abs(now - readAt) < READ_AGAIN_MS) return;
    readAt = now;
    const found = statSync(path, { throwIfNoEntry: false });
    const seen = found ? `${found.ino}:${found.mtimeMs}:${found.size}` : '';
    if (seen === stamp) return;
    checks = readListChecks(options.labelsFolder);
    stamp = seen;
  }

  return {
    listFreshness(now, maxAgeDays) {
      readAgain(now);
      return freshnessOf(checks, now, maxAgeDays, options.lists);
    },
  };
}

const earliest = (times: readonly string[]): string | null =>
  times.reduce<string | null>(
    (first, time) => (first === null || Date.parse(time) < Date.parse(first) ? time : first),
    null,
  );

/**
 * Computes the freshness of the lists at `now`. Pure.
 *
 * @param now Milliseconds since the epoch.
 * @param catalogue The lists that exist; a required list without a check is reported as missing.
 */
export function freshnessOf(
  checks: ListChecks,
  now: number,
  maxAgeDays: number,
  catalogue: Pick<ListCatalogue, 'groups'> = LISTS,
): ListFreshness {
  const groups = {} as Record<ListGroup, GroupFreshness>;
  for (const { group, lists } of catalogue.groups) {
    const known = lists.map((list) => checks[list]).filter((check) => check !== undefined);
    const loaded = known.length === lists.length;
    groups[group] = {
      group,
      lists,
      loaded,
      fresh: loaded && known.every((check) => isRecent(check.checkedAt, now, maxAgeDays)),
      publishedAt: loaded ? earliest(known.map((check) => check.publishedAt)) : null,
      checkedAt: loaded ? earliest(known.map((check) => check.checkedAt)) : null,
      records: known.reduce((sum, check) => sum + check.records, 0),
    };
  }
  const stale = catalogue.groups.map(({ group }) => group).filter((group) => !groups[group].fresh);
  const staleLists = stale.flatMap((group) =>
    groups[group].lists.flatMap((list): readonly StaleList[] => {
      const checkedAt = checks[list]?.checkedAt ?? null;
      return isRecent(checkedAt, now, maxAgeDays) ? [] : [{ list, group, checkedAt }];
    }),
  );
  const all = Object.values(checks).map((check) => check.checkedAt);
  return { complete: stale.length === 0, stale, staleLists, groups, lists: checks, asOf: earliest(all) };
}

/**
 * A check further ahead than AHEAD_MAX_MS is not recent, because its
 * age is unknown: the list counts as stale until the next check.
 */
function isRecent(checkedAt: string | null, now: number, maxAgeDays: number): boolean {
  if (checkedAt === null) return false;
  const ageMs = now - Date.parse(checkedAt);
  return ageMs <= maxAgeDays * DAY_MS && ageMs >= -AHEAD_MAX_MS;
}

type SourceOfList = Pick<ListCatalogue, 'sourceOf'>;

/** Returns the sources of these lists without duplicates, in the order of the lists. */
export const sourcesOfLists = (
  stale: readonly StaleList[],
  { sourceOf }: SourceOfList = LISTS,
): readonly string[] => [...new Set(stale.flatMap(({ list }) => sourceOf(list) ?? []))];

/**
 * Returns what is wrong with each list and which commands fix it.
 *
 * @param stale - Lists that are missing or too old.
 * @returns One sentence per list.
 */
export const staleListAdvice = (
  stale: readonly StaleList[],
  catalogue: SourceOfList = LISTS,
): readonly string[] =>
  stale.map(({ list, checkedAt }) => {
    const source = catalogue.sourceOf(list);
    if (checkedAt === null) {
      return (
        `The ${list} sanctions list was never loaded. Run \`assay sync ${source}\`; without a network run ` +
        `\`assay import ${source} FILE --checked DATE\`.`
      );
    }
    return (
      `The ${list} sanctions list was last checked at ${checkedAt}. Run \`assay sync ${source}\`; without a network run ` +
      `\`assay import ${source} FILE --checked DATE\` for a newer file, or \`assay lists attest ${list} --checked DATE\` ` +
      'if its publisher has published nothing newer.'
    );
  });

/** A loaded list whose publication is older than its publisher usually leaves it. */
export interface OldPublication {
  readonly list: SanctionsList;
  readonly publishedAt: string;
  readonly publishedAgainDays: number;
}

/**
 * Returns the lists whose newest file is unusually old for its publisher, although its checks may be recent: a mirror or a cache that
 * serves an old file passes every check. It does not change freshness.
 *
 * @param now - Milliseconds since the epoch.
 */
export const oldPublications = (
  checks: ListChecks,
  now: number,
  { ids, publishedAgainDays }: Pick<ListCatalogue, 'ids' | 'publishedAgainDays'> = LISTS,
): readonly OldPublication[] =>
  ids.flatMap((list): readonly OldPublication[] => {
    const publishedAt = checks[list]?.publishedAt;
    const days = publishedAgainDays(list);
    if (publishedAt === undefined || days === null) return [];
    return now - Date.parse(publishedAt) > days * DAY_MS
      ? [{ list, publishedAt, publishedAgainDays: days }]
      : [];
  });

/** Returns what is unusual about each list and what to do: one sentence and its remedy per list. */
export const oldPublicationAdvice = (old: readonly OldPublication[]): readonly string[] =>
  old.map(
    ({ list, publishedAt, publishedAgainDays }) =>
      `The ${list} sanctions list that is loaded was published on ${publishedAt.slice(0, 10)}; its publisher publishes again within ` +
      `${publishedAgainDays} days. Compare that date with the publisher's page: a mirror or a cache may serve an old file.`,
  );
