/** Text of third parties, made safe for a terminal. */

/** Characters that move the cursor, colour the text or reverse its order. Tabs and line breaks are harmless. */
const NOT_PRINTED =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to find
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Makes a text safe for a terminal: replaces control characters, which an imported file may contain, by their code.
 *
 * @param text - the text
 * @returns the text with `\\u001b` in place of an escape, and so on
 */
export const printable = (text: string): string =>
  text.replace(NOT_PRINTED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Like `printable`, for a text that must stay on its line: line breaks and tabs become spaces. */
export const printableLine = (text: string): string => printable(text.replace(/\s+/g, ' '));
