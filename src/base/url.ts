/** Reading URLs. */

/**
 * Returns whether a text is a URL. `URL.canParse` of Node 20 refuses texts with letters like ü, which are in Latin 1 and not in ASCII, as soon as
 * it was called so often that V8 calls it directly.
 *
 * @param base - a URL that the text is relative to
 */
export function isUrl(text: string, base?: string): boolean {
  try {
    return new URL(text, base).href !== '';
  } catch {
    return false;
  }
}
