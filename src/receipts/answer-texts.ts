/**
 * Canonical texts of answers. Answers of the oracle about an entity, and those about all addresses without a label, differ in few members:
 * the text between the values of these is written once.
 */
import { canonicalJson, canonicalObject } from './canonical.ts';
import { ADDED_LATER } from './receipt.ts';

type Members = Readonly<Record<string, unknown>>;

/** In the place of the value of an own member. A character for private use. */
const MARK = '\ue000';

/**
 * Returns a function that writes the canonical text of an answer with the values of its own members.
 *
 * @param answer - without its own members
 * @param names - of the own members; the function is called with these alone
 * @throws INVALID_REQUEST if a value has no canonical form
 */
export function answerWriter(answer: Members, names: readonly string[]): (own: Members) => string {
  let write: ((own: Members) => string) | null = null;
  let isFirst = true;
  return (own) => {
    if (isFirst) {
      // Most answers that are written once are not written again: finding the text between costs as much as writing it.
      isFirst = false;
      return canonicalObject({ ...answer, ...own }, ADDED_LATER);
    }
    write ??= writerBetween(answer, names);
    return write(own);
  };
}

function writerBetween(answer: Members, names: readonly string[]): (own: Members) => string {
  const marks = Object.fromEntries(names.map((name) => [name, MARK]));
  const [first = '', ...others] = canonicalObject({ ...answer, ...marks }, ADDED_LATER).split(`"${MARK}"`);
  // A value of the answer is that character too.
  if (others.length !== names.length) return (own) => canonicalObject({ ...answer, ...own }, ADDED_LATER);
  // In the order of RFC 8785.
  const sorted = [...names].sort();
  return (own) => {
    let text = first;
    for (let at = 0; at < sorted.length; at++) text += canonicalJson(own[sorted[at] as string]) + others[at];
    return text;
  };
}
