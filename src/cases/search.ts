/** Decides which cases a list shows. The work of one step is bounded: notes are read only if a text is searched. */
import { CASE_LIMITS } from './limits.ts';
import type { CaseEvent, CaseRecord } from './records.ts';
import type { CaseFilter } from './store.ts';

export interface Search {
  matches(record: CaseRecord): boolean;
  /** Whether the step has read as much as it may. */
  isExhausted(): boolean;
}

/** Folds a text: letter case and form of characters do not distinguish texts. */
const fold = (text: string): string => text.normalize('NFKC').toLowerCase();

/** How much longer a character takes to fold if its form changes. */
const CHANGED_FORM_COST = 8;

/** Returns the characters of a note as a search reads it: one of them may become eighteen. */
export const searchedChars = (note: string): number => Math.max(note.length, fold(note).length);

/** Texts of a case, except those of its events. */
function* textsOf({ number, title, assignee, links, files }: CaseRecord): Generator<string | null> {
  yield `#${number}`;
  yield title;
  yield assignee;
  for (const { id, address, name, label } of links) yield* [id, address, name, label];
  for (const { name } of files) yield name;
}

/**
 * Creates the search of one step of a page.
 *
 * @param eventsOf - returns the events of a case
 */
export function createSearch(
  { status, assignee, priority, dueBeforeMs, address, linkId, text }: CaseFilter,
  eventsOf: (record: CaseRecord) => Iterable<CaseEvent>,
): Search {
  const wanted = text === undefined ? null : fold(text);
  let records = 0;
  let chars = 0;

  function hasText(value: string | null): boolean {
    if (value === null || wanted === null) return false;
    const normal = value.normalize('NFKC');
    const folded = normal.toLowerCase();
    chars += Math.max(value.length, folded.length) * (normal === value ? 1 : CHANGED_FORM_COST);
    return folded.includes(wanted);
  }

  function contains(record: CaseRecord): boolean {
    for (const value of textsOf(record)) if (hasText(value)) return true;
    for (const { note } of eventsOf(record)) {
      records++;
      if (hasText(note)) return true;
    }
    return false;
  }

  return {
    matches(record) {
      records +=
        1 + Math.floor((record.links.length + record.files.length) / CASE_LIMITS.searchLinksOfRecord);
      if (status !== undefined && !status.includes(record.status)) return false;
      if (assignee !== undefined && record.assignee !== assignee) return false;
      if (priority !== undefined && record.priority !== priority) return false;
      if (dueBeforeMs !== undefined && !(record.dueAtMs !== null && record.dueAtMs < dueBeforeMs))
        return false;
      if (
        address !== undefined &&
        !record.links.some((link) => link.address === address.address && link.chain === address.chain)
      )
        return false;
      if (linkId !== undefined && !record.links.some(({ id }) => id === linkId)) return false;
      return wanted === null || contains(record);
    },
    isExhausted: () => records >= CASE_LIMITS.searchRecordsMax || chars >= CASE_LIMITS.searchCharsMax,
  };
}
