/** Texts that others chose, made safe to read. React already keeps them from becoming markup. */

/**
 * Characters that cannot be seen: controls, marks of direction, which make a name read as another one, and what has no width, such as a soft
 * hyphen or a filler, which makes two names look the same. The selector of an emoji changes nothing but its colours.
 */
const INVISIBLE =
  /(?<!\p{ExtPict})[\uFE0E\uFE0F]|(?![\uFE0E\uFE0F])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu;

/** Returns the text with every invisible character shown as a replacement character. */
export const plainText = (text: string): string => text.replace(INVISIBLE, '\uFFFD');

/** Returns the same for a text of several lines, whose line breaks and tabs stay. */
export const plainLines = (text: string): string =>
  text.replace(INVISIBLE, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));
