/**
 * Names that a JSON object has twice. Parsers disagree about which of the two members counts, so a document with one can be shown to one
 * reader and verified by another. `JSON.parse` takes the last one and says nothing.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST, COMMA] = [0x7b, 0x7d, 0x5b, 0x5d, 0x2c];

/** Returns the position after the string that begins at `from`. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/**
 * Returns a name that an object of a JSON text has twice; null if there is none.
 *
 * @param text - a text that `JSON.parse` accepts
 */
export function repeatedName(text: string): string | null {
  /** The names of each object around the position; null for a list. */
  const open: (Set<string> | null)[] = [];
  let isName = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      const names = open.at(-1);
      if (isName && names) {
        // Decoded: "a" and "\u0061" are the same name.
        const name = JSON.parse(text.slice(at, end)) as string;
        if (names.has(name)) return name;
        names.add(name);
      }
      isName = false;
      at = end - 1;
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      open.push(code === OPEN_OBJECT ? new Set() : null);
      isName = true;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) open.pop();
    else if (code === COMMA) isName = true;
  }
  return null;
}
