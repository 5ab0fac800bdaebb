/** Texts that others chose, made safe to read. React already keeps them from becoming markup. */

/** Marks and overrides of direction, which make a name read as another one, and control characters. */
const INVISIBLE = /[\p{Cc}\u061C\u200B-\u200F\u2028-\u202E\u2060-\u206F\uFEFF]/gu;

/** Returns the text with every invisible character shown as a replacement character. */
export const plainText = (text: string): string => text.replace(INVISIBLE, '\uFFFD');

/** Returns the same for a text of several lines, whose line breaks and tabs stay. */
export const plainLines = (text: string): string =>
  text.replace(INVISIBLE, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));
