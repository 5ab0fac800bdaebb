/**
 * An answer in parts, between which stands the balance after its charge: Redis alone knows it in the atomic step that keeps the answer,
 * and puts the parts together there. They are found by making the answer with a number that nobody can guess.
 */

/** `stand`: a whole number in whose place the balance comes; `answer` is pure. */
export function partsOf(answer: (remaining: number) => Uint8Array, stand: number): readonly Buffer[] {
  const made = Buffer.from(answer(stand));
  const mark = Buffer.from(String(stand));
  const parts: Buffer[] = [];
  let from = 0;
  for (let at = made.indexOf(mark); at >= 0; at = made.indexOf(mark, from)) {
    parts.push(made.subarray(from, at));
    from = at + mark.length;
  }
  parts.push(made.subarray(from));
  return parts;
}

export function joined(parts: readonly Buffer[], remaining: number): Buffer {
  const number = Buffer.from(String(remaining));
  return Buffer.concat(parts.flatMap((part, at) => (at === 0 ? [part] : [number, part])));
}
