/** The index of the search: one entry for each passage of each page. */
import MiniSearch from 'minisearch';
import type { ParsedPage } from './markdown.ts';
import { SEARCH_OPTIONS, type SearchEntry } from './search-options.ts';

/** Characters of a passage that a result shows. */
const SHOWN_MAX = 120;

const entriesOf = (page: ParsedPage): readonly SearchEntry[] =>
  page.passages
    .filter(({ id, text }) => id === '' || text !== '')
    .map(({ id, heading, text }) => ({
      id: id === '' ? page.slug : `${page.slug}#${id}`,
      page: page.title,
      heading,
      text,
      shown: text.slice(0, SHOWN_MAX).replaceAll(/\s+/g, ' '),
    }));

/** Returns the index as JSON. */
export function searchIndex(pages: readonly ParsedPage[]): string {
  const index = new MiniSearch<SearchEntry>(SEARCH_OPTIONS);
  index.addAll(pages.flatMap(entriesOf));
  return JSON.stringify(index);
}
