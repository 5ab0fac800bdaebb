/** Titles of cases and wallets that are made of texts that others chose. */

/** The most characters of the name of a wallet or the title of a case. */
const TITLE_MAX = 200;
/** Control characters, and halves of characters that a cut leaves: neither may be in a title. */
const NOT_IN_TITLE = /[\p{Cc}\p{Cs}\u2028\u2029]/gu;

/**
 * Returns a text that the API takes as a title.
 *
 * @param end - which end of a long text is kept
 */
export function titleText(text: string, end: 'start' | 'end' = 'start'): string {
  const cut = end === 'start' ? text.slice(0, TITLE_MAX) : text.slice(-TITLE_MAX);
  return cut.replace(NOT_IN_TITLE, '');
}
