/** The pasted list, on its way from the search box to its page. It stays in the tab: a URL has no room for it, and logs keep URLs. */
import { draftOf, keepDraft } from '../api/drafts.ts';
import { readTab, writeTab } from '../api/tab-storage.ts';

/** Addresses of one request (`POST /screen/bulk`). Longer lists become bulk jobs. */
export const LIST_MAX = 100;

const STORED = 'list';

/** Keeps a list. */
export function keepList(texts: readonly string[]): void {
  const text = JSON.stringify(texts);
  writeTab(STORED, text);
  // The end of the session clears the tab, but not drafts.
  keepDraft(STORED, text);
}

/** Returns the list that was pasted last. */
export function keptList(): readonly string[] {
  const parsed: unknown = JSON.parse(readTab(STORED) ?? (draftOf(STORED) || '[]'));
  return Array.isArray(parsed) ? parsed.filter((text) => typeof text === 'string') : [];
}
