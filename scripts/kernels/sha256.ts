/**
 * SHA-256 (FIPS 180-4) as WebAssembly text: four messages at once, one in each 32-bit lane of a vector. Vectors cannot rotate, so a rotation
 * is two shifts, and a round takes half as long again as in one lane; four messages take less than twice the time of one.
 */
import { roundConstants } from './sha256-constants.ts';
import { local, setLocal } from './wat.ts';

const SCHEDULE = 16;
const INITIAL = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
] as const;
const STATE = [...'abcdefgh'];
type Names = [string, string, string, string, string, string, string, string];
/** The marker that ends a message. */
const END_MARK = 0x80000000;
const DIGEST_BITS = 256;

const everyLane = (value: number): string => `(v128.const i32x4${` ${value | 0}`.repeat(4)})`;
const combined = (operation: string, values: readonly string[]): string =>
  values.reduce((left, right) => `(${operation} ${left} ${right})`);
const sum = (...values: string[]): string => combined('i32x4.add', values);
const xor = (...values: string[]): string => combined('v128.xor', values);
const and = (left: string, right: string): string => `(v128.and ${left} ${right})`;
const shifted = (value: string, bits: number): string => `(i32x4.shr_u ${value} (i32.const ${bits}))`;
const rotated = (value: string, bits: number): string =>
  `(v128.or ${shifted(value, bits)} (i32x4.shl ${value} (i32.const ${32 - bits})))`;

/** One of the two functions that extend the schedule: two rotations and a shift, of a vector or of a number that all lanes share. */
interface Extension {
  readonly rotations: readonly [number, number];
  readonly shift: number;
}
const SIGMA_0: Extension = { rotations: [7, 18], shift: 3 };
const SIGMA_1: Extension = { rotations: [17, 19], shift: 10 };

const ofVector = (value: string, { rotations: [first, second], shift }: Extension): string =>
  xor(rotated(value, first), rotated(value, second), shifted(value, shift));
const ofNumber = (value: number, { rotations, shift }: Extension): number =>
  rotations.reduce((mixed, bits) => mixed ^ ((value >>> bits) | (value << (32 - bits))), value >>> shift);

/** The locals that `digest` uses: the state, and the schedule of 16 words. */
export const DIGEST_LOCALS: string = [...STATE, ...Array.from({ length: SCHEDULE }, (_, word) => `w${word}`)]
  .map((name) => `(local $${name} v128)`)
  .join(' ');

/**
 * Returns the code that replaces `w0` to `w7` by the digest of one block.
 *
 * @param known - words of the block that are the same in every message: sums of them are computed here instead of at run time
 */
function digest(known: ReadonlyMap<number, number>): string[] {
  const numbers = new Map(known);
  const code = STATE.map((name, index) => setLocal(name, everyLane(INITIAL[index] as number)));
  const names = [...STATE];
  for (const [index, constant] of roundConstants().entries()) {
    if (index >= SCHEDULE) code.push(...extended(index, numbers));
    const [, , , d, , , , h] = names as Names;
    const [vA, vB, vC, , vE, vF, vG] = names.map(local) as Names;
    const number = numbers.get(index);
    const word =
      number === undefined
        ? sum(local(`w${index % SCHEDULE}`), everyLane(constant))
        : everyLane(constant + number);
    const choice = xor(vG, and(vE, xor(vF, vG)));
    const majority = xor(and(vA, xor(vB, vC)), and(vB, vC));
    code.push(
      setLocal(h, sum(local(h), word, xor(rotated(vE, 6), rotated(vE, 11), rotated(vE, 25)), choice)),
      setLocal(d, sum(local(d), local(h))),
      setLocal(h, sum(local(h), xor(rotated(vA, 2), rotated(vA, 13), rotated(vA, 22)), majority)),
    );
    // Instead of moving eight values, the next round uses the names to which the values would have moved.
    names.unshift(names.pop() as string);
  }
  return [
    ...code,
    ...STATE.map((name, word) => setLocal(`w${word}`, sum(local(name), everyLane(INITIAL[word] as number)))),
  ];
}

/** Returns the code that computes one more word of the schedule; none if it is the same number in every message. */
function extended(index: number, numbers: Map<number, number>): string[] {
  const terms: readonly [number, Extension | null][] = [
    [index - 16, null],
    [index - 15, SIGMA_0],
    [index - 7, null],
    [index - 2, SIGMA_1],
  ];
  let constant = 0;
  const vectors: string[] = [];
  for (const [word, extension] of terms) {
    const number = numbers.get(word);
    if (number !== undefined) constant += extension === null ? number : ofNumber(number, extension);
    else {
      const vector = local(`w${word % SCHEDULE}`);
      vectors.push(extension === null ? vector : ofVector(vector, extension));
    }
  }
  if (vectors.length === 0) {
    numbers.set(index, constant | 0);
    return [];
  }
  if ((constant | 0) !== 0) vectors.push(everyLane(constant));
  return [setLocal(`w${index % SCHEDULE}`, sum(...vectors))];
}

/**
 * Returns the code that replaces `w0` to `w7` by SHA-256(SHA-256(message)), for messages of at most 31 bytes: their words 8 to 14 are zero,
 * and `w15` is their length in bits.
 */
export function doubleDigest(): string[] {
  const zeros = (from: number): [number, number][] =>
    Array.from({ length: SCHEDULE - 1 - from }, (_, index) => [from + index, 0]);
  return [
    ...digest(new Map(zeros(8))),
    ...digest(new Map([[8, END_MARK], ...zeros(9), [SCHEDULE - 1, DIGEST_BITS]])),
  ];
}
