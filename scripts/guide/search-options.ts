/** What the build of the search index and the search in the browser have in common. Both must split and reduce words alike. */

/** One entry of the index. `id` is its URL without the prefix of the guide: `slug` or `slug#heading`. */
export interface SearchEntry {
  readonly id: string;
  /** Title of the page. */
  readonly page: string;
  readonly heading: string;
  readonly text: string;
  /** The begin of the text, shown in results. */
  readonly shown: string;
}

/** Longer words are addresses, hashes and keys of examples. */
const WORD_MAX = 30;

/** Returns a word as it is stored, or null if it is not searchable. */
export function searchTerm(word: string): string | null {
  const term = word.toLowerCase();
  return term.length > WORD_MAX || /^0x[0-9a-f]{8}/.test(term) ? null : term;
}

/** Splits a text into words. A name like ASSAY_SYNC_FROM is one word, so that a search for it finds nothing else first. */
const wordsOf = (text: string): string[] => text.split(/[^\p{L}\p{N}_]+/u).filter((word) => word !== '');

export const SEARCH_OPTIONS = {
  fields: ['page', 'heading', 'text'],
  storeFields: ['page', 'heading', 'shown'],
  tokenize: wordsOf,
  processTerm: searchTerm,
};
