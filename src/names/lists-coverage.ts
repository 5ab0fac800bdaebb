/** The coverage of name screening: for each list type, which lists are loaded, how old they are, and which are missing. */
import { LISTS, type ListCatalogue } from '../sources/lists.ts';
import type { NameListRow } from './lists.ts';
import { NAME_LIST_TYPES, type NameListType } from './name.ts';

export interface CoveredList {
  readonly list: string;
  readonly publishedAt: string;
  readonly checkedAt: string;
  readonly parties: number;
  /** Last checked longer ago than the maximum age. */
  readonly stale: boolean;
  readonly verified: boolean;
}

export interface TypeCoverage {
  /** COMPLETE: everything was read within its maximum age. PARTIAL: only a part, or older. NONE: nothing was read. */
  readonly status: 'COMPLETE' | 'PARTIAL' | 'NONE';
  /** The oldest check of the loaded lists; null if no list is loaded. */
  readonly asOf: string | null;
  readonly lists: readonly CoveredList[];
  /** Lists that were never loaded. */
  readonly missing: readonly string[];
}

export type NamesCoverage = Readonly<Record<NameListType, TypeCoverage>>;

export interface NameReason {
  readonly code: 'STALE_OR_MISSING_DATA';
  readonly severity: 'MEDIUM';
  readonly listType: NameListType;
  readonly message: string;
}

const DAY_MS = 86_400_000;

/**
 * Computes the coverage of an index that was built from `rows`. Pure.
 *
 * @param now Milliseconds since the epoch.
 * @param catalogue The sanctions lists that a complete response requires: those that are not loaded are reported as missing.
 */
export function coverageOf(
  rows: readonly NameListRow[],
  now: number,
  maxAgeDays: number,
  { required }: Pick<ListCatalogue, 'required'> = LISTS,
): NamesCoverage {
  const coverage = {} as Record<NameListType, TypeCoverage>;
  for (const listType of NAME_LIST_TYPES) {
    const lists = rows
      .filter((row) => row.listType === listType)
      .map(({ list, publishedAt, checkedAt, parties, verified }) => ({
        list,
        publishedAt,
        checkedAt,
        parties,
        stale: now - Date.parse(checkedAt) > maxAgeDays * DAY_MS,
        verified,
      }));
    const missing: string[] =
      listType === 'sanctions' ? required.filter((list) => !lists.some((one) => one.list === list)) : [];
    // A seed or a user's own list is never complete; a publisher's whole collection is.
    const needed = lists.filter((one) =>
      listType === 'sanctions'
        ? required.some((list) => list === one.list)
        : one.list.startsWith('opensanctions:'),
    );
    const whole = missing.length === 0 && needed.length > 0 && needed.every((one) => !one.stale);
    coverage[listType] = {
      status: lists.length === 0 ? 'NONE' : whole ? 'COMPLETE' : 'PARTIAL',
      asOf: earliest(lists.map((one) => one.checkedAt)),
      lists,
      missing,
    };
  }
  return coverage;
}

const earliest = (times: readonly string[]): string | null =>
  times.reduce<string | null>(
    (first, time) => (first === null || Date.parse(time) < Date.parse(first) ? time : first),
    null,
  );

/** Returns why a response without a match is not yet clean: one sentence per list type that is not complete. */
export function reasonsOf(coverage: NamesCoverage): readonly NameReason[] {
  return NAME_LIST_TYPES.filter((listType) => coverage[listType].status !== 'COMPLETE').map((listType) => ({
    code: 'STALE_OR_MISSING_DATA',
    severity: 'MEDIUM',
    listType,
    message: sentenceOf(listType, coverage[listType]),
  }));
}

function sentenceOf(listType: NameListType, { lists, missing }: TypeCoverage): string {
  if (lists.length === 0)
    return `No list of type ${listType} is loaded, so names were not screened against any.`;
  const stale = lists
    .filter((one) => one.stale)
    .map((one) => `${one.list} (checked ${one.checkedAt.slice(0, 10)})`);
  const parts = [
    ...(missing.length > 0 ? [`not loaded: ${missing.join(', ')}`] : []),
    ...(stale.length > 0 ? [`too old: ${stale.join(', ')}`] : []),
  ];
  if (parts.length === 0)
    return `Only part of the lists of type ${listType} is loaded: ${lists.map((one) => one.list).join(', ')}.`;
  return `Lists of type ${listType} are ${parts.join('; ')}.`;
}
