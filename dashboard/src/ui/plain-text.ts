/** Texts that others chose, made safe to read. React already keeps them from becoming markup. */

/**
 * Characters that cannot be seen: controls, marks of direction, which make a name read as another one, and what has no width, such as a soft
 * hyphen or a filler, which makes two names look the same. The selector of an emoji changes nothing but its colours. In Persian names, a
 * non-joiner separates two letters that would be joined, which can be seen (RFC 5892, A.1); after a letter that joins none, it cannot.
 */
const INVISIBLE = new RegExp(
  String.raw`(?<!\p{ExtPict})[\uFE0E\uFE0F]|(?![\uFE0E\uFE0F]|${nonJoiner()})[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029]`,
  'gu',
);

/** A non-joiner after an Arabic letter that joins the next one, and before a letter that can be joined. */
function nonJoiner(): string {
  const joinsNext = String.raw`[\u0620\u0626\u0628\u062A-\u062E\u0633-\u063F\u0641-\u0647\u0649\u064A\u066E\u066F\u0678-\u0687\u069A-\u06BF\u06CC]`;
  const canBeJoined = String.raw`[\u0620\u0622-\u063F\u0641-\u064A\u066E-\u06D3]`;
  return String.raw`(?<=${joinsNext}\p{M}*)\u200C(?=${canBeJoined})`;
}

/** Returns the text with every invisible character shown as a replacement character. */
export const plainText = (text: string): string => text.replace(INVISIBLE, '\uFFFD');

/** Returns the same for a text of several lines, whose line breaks and tabs stay. */
export const plainLines = (text: string): string =>
  text.replace(INVISIBLE, (char) => (char === '\n' || char === '\t' ? char : '\uFFFD'));
