/**
 * Splits a response at the places of the balance after its charge: only the atomic step in Redis that stores the response knows that
 * balance, and joins the parts with it. The places are found by building the response with an unguessable number.
 */

/**
 * Splits a response at its balance.
 *
 * @param answer - pure function that builds the response for a balance
 * @param placeholder - whole number that is written in place of the balance
 */
export function partsOf(answer: (remaining: number) => Uint8Array, placeholder: number): readonly Buffer[] {
  const made = Buffer.from(answer(placeholder));
  const mark = Buffer.from(String(placeholder));
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = made.indexOf(mark); at >= 0; at = made.indexOf(mark, from)) {
    parts.push(made.subarray(from, at));
    from = at + mark.length;
  }
  parts.push(made.subarray(from));
  return parts;
}

/** Joins the parts of a response with the balance between them. */
export function joined(parts: readonly Buffer[], remaining: number): Buffer {
  const number = Buffer.from(String(remaining));
  return Buffer.concat(parts.flatMap((part, at) => (at === 0 ? [part] : [number, part])));
}
