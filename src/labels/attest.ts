/**
 * Attested checks: an installation without a network cannot ask a publisher whether a list is still the newest. After asking on
 * another machine, an operator states the date, and the age of the list counts from it.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { ListId, SanctionsList } from '../sources/index.ts';
import { LISTS, type ListCatalogue } from '../sources/lists.ts';
import { type ListCheck, readListChecks } from './freshness.ts';
import { normalPublication } from './sanctions.ts';
import type { LabelStore } from './store.ts';

/**
 * Reads the name of a list in any letter case.
 *
 * @throws INVALID_REQUEST naming the lists that exist.
 */
export function parseList(text: string, { ids }: Pick<ListCatalogue, 'ids'> = LISTS): ListId {
  const found = ids.find((list) => list === text.toUpperCase());
  if (found !== undefined) return found;
  throw new AssayError(
    'INVALID_REQUEST',
    `list: must be one of ${ids.join(', ')} (got '${text.slice(0, 32)}').`,
    { field: 'list' },
  );
}

/**
 * Reads the date of a check. A date without a time means the start of that day (UTC).
 *
 * @param text - ISO date (2026-11-22) or time.
 * @param now - Milliseconds since the epoch.
 * @returns The ISO date, or the ISO time in UTC.
 * @throws INVALID_REQUEST if it is neither, or if it is in the future.
 */
export function parseCheckDate(text: string, now: number): string {
  const refuse = (reason: string): AssayError =>
    new AssayError('INVALID_REQUEST', `checked: '${text.slice(0, 40)}' ${reason}`, { field: 'checked' });
  const date = /^\d{4}-\d{2}-\d{2}/.test(text) ? normalPublication(text) : null;
  if (date?.slice(0, 10) !== text.slice(0, 10)) throw refuse('is not a date such as 2026-11-22.');
  if (Date.parse(date) > now) throw refuse(`is in the future; it is ${isoTime(now)} now.`);
  return date;
}

/**
 * Checks that an attested date can belong to the newest publication known: a list cannot be checked before it is published.
 *
 * @throws INVALID_REQUEST if the check is older.
 */
export function requireAfterPublication(
  checkedAt: string,
  { list, publishedAt }: { readonly list: SanctionsList; readonly publishedAt: string },
): void {
  if (checkedAt.slice(0, 10) >= publishedAt.slice(0, 10)) return;
  throw new AssayError(
    'INVALID_REQUEST',
    `checked: ${checkedAt} is before the publication of the ${list} list that is loaded (${publishedAt}).`,
    { field: 'checked' },
  );
}

export interface Attestation {
  readonly list: ListId;
  /** ISO date or time. */
  readonly checkedAt: string;
}

export interface AttestDeps {
  readonly store: LabelStore;
  readonly clock: Clock;
  /** Makes the attestation durable in the audit log. It runs before the check counts. */
  readonly audit: (attestation: Attestation) => Promise<void>;
  /** Records the same check for the names of the list. */
  readonly confirmNames: (list: ListId, checkedAt: string) => void;
}

/**
 * Records that the publishers of these lists had published nothing newer by a date. Either all lists change or none.
 *
 * @param lists - Lists that are loaded.
 * @param checkedText - ISO date or time, not in the future and not before the publication that is loaded.
 * @returns The checks as they are now; a later check that was known already stays.
 * @throws INVALID_REQUEST if a list was never loaded or the date cannot be right; STORE_BUSY while an import runs.
 */
export async function attestLists(
  lists: readonly ListId[],
  checkedText: string,
  { store, clock, audit, confirmNames }: AttestDeps,
): Promise<Readonly<Record<string, ListCheck>>> {
  const checkedAt = parseCheckDate(checkedText, clock.now());
  return store.locked(async (writer) => {
    const known = readListChecks(store.folder);
    const checks: Partial<Record<SanctionsList, ListCheck>> = {};
    for (const list of new Set(lists)) {
      const before = known[list];
      if (before === undefined) {
        throw new AssayError('INVALID_REQUEST', `list: ${list} was never loaded; import it first.`, {
          field: 'list',
        });
      }
      requireAfterPublication(checkedAt, { list, publishedAt: before.publishedAt });
      const isLater = Date.parse(checkedAt) > Date.parse(before.checkedAt);
      checks[list] = isLater ? { ...before, checkedAt, checkedBy: 'ATTESTATION' } : before;
    }
    // Log first: a logged attestation that is then lost is harmless, but one that counts must be in the log.
    for (const list of new Set(lists)) await audit({ list, checkedAt });
    writer.commit({ checks, at: isoTime(clock.now()) });
    for (const list of new Set(lists)) confirmNames(list, checkedAt);
    return checks;
  });
}
