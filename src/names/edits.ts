/** Edits between two words of a–z and digits: whether there is just one, and their cost by pronunciation. */

/** Returns whether the words differ by one insertion, deletion, substitution or transposition of adjacent letters. */
export function isOneEdit(a: string, b: string): boolean {
  const short = a.length <= b.length ? a : b;
  const long = a.length <= b.length ? b : a;
  const apart = long.length - short.length;
  if (apart > 1) return false;
  let at = 0;
  while (at < short.length && short.charCodeAt(at) === long.charCodeAt(at)) at++;
  // The letters from `at` to `end` of the shorter word have no equal letter at their place from either end.
  let end = short.length;
  while (end > at && short.charCodeAt(end - 1) === long.charCodeAt(end - 1 + apart)) end--;
  if (apart === 1) return end === at;
  if (end - at !== 2) return end - at === 1;
  return short.charCodeAt(at) === long.charCodeAt(at + 1) && short.charCodeAt(at + 1) === long.charCodeAt(at);
}

/** The same for a word and a word of a–z and digits in bytes, from `from` to `to`. */
export function isOneEditOf(text: string, bytes: Uint8Array, from: number, to: number): boolean {
  const length = to - from;
  const apart = length - text.length;
  if (apart > 1 || apart < -1) return false;
  const shorter = apart < 0 ? length : text.length;
  let at = 0;
  while (at < shorter && text.charCodeAt(at) === bytes[from + at]) at++;
  let end = 0;
  while (end < shorter - at && text.charCodeAt(text.length - 1 - end) === bytes[to - 1 - end]) end++;
  // The letters between those that are equal from either end.
  const middle = shorter - at - end;
  if (apart !== 0) return middle === 0;
  if (middle !== 2) return middle === 1;
  return text.charCodeAt(at) === bytes[from + at + 1] && text.charCodeAt(at + 1) === bytes[from + at];
}

const VOWELS = 'aeiou';
/** Consonants that romanisations interchange. */
const NEAR: ReadonlySet<string> = new Set(
  ['bp', 'dt', 'gk', 'sz', 'fv', 'ck', 'gj', 'jz', 'hg', 'hk', 'mn', 'js', 'lr'].flatMap((pair) => [
    pair,
    `${pair[1]}${pair[0]}`,
  ]),
);

const ROW = 64;
/** Letters of a word that count. */
export const LETTERS_COUNTED = ROW - 4;
/** Costs by letter codes: of a substitution, and of an extra letter. Digits have the codes from 26. */
const CODES = 36;
const swaps = new Float64Array(CODES * CODES);
const gaps = new Float64Array(CODES);
const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
for (const [i, x] of [...LETTERS].entries()) {
  gaps[i] = VOWELS.includes(x) || x === 'h' ? 0.7 : 1;
  for (const [j, y] of [...LETTERS].entries()) {
    const vowels = VOWELS.includes(x) && VOWELS.includes(y);
    swaps[i * CODES + j] = x === y ? 0 : vowels ? 0.6 : NEAR.has(x + y) ? 0.75 : 1;
  }
}
const isVowel = Uint8Array.from(LETTERS, (letter) => (VOWELS.includes(letter) ? 1 : 0));
/** Additional cost of a wrong first letter. */
const FIRST_LETTER = 0.15;
const TRANSPOSED = 0.8;

const rowA = new Float64Array(ROW);
const rowB = new Float64Array(ROW);
const rowC = new Float64Array(ROW);
const codesA = new Uint8Array(ROW);
const codesB = new Uint8Array(ROW);

/** The codes of character codes: letters have 0 to 25, digits 26 to 35. */
const codes = new Uint8Array(256);
for (let unit = 0; unit < codes.length; unit++)
  codes[unit] = unit >= 97 ? (unit - 97) % 26 : 26 + (Math.max(0, unit - 48) % 10);
const codeOf = (unit: number): number => codes[unit & 0xff] as number;

function encode(text: string, from: number, to: number, into: Uint8Array): number {
  const length = to - from;
  for (let at = 0; at < length; at++) {
    into[at] = codeOf(text.charCodeAt(from + at));
  }
  return length;
}

/**
 * Computes the optimal string alignment distance with weights; a transposition of adjacent letters costs one edit. Only the first 60
 * letters count. Letters that both words begin or end with cost nothing and are left out.
 *
 * @param most If the distance is certainly higher, the result is infinite.
 */
export function weighedEdits(left: string, right: string, most = Number.POSITIVE_INFINITY): number {
  let start = 0;
  let endLeft = Math.min(left.length, LETTERS_COUNTED);
  let endRight = Math.min(right.length, LETTERS_COUNTED);
  const shorter = Math.min(endLeft, endRight);
  while (start < shorter && left.charCodeAt(start) === right.charCodeAt(start)) start++;
  while (
    endLeft > start &&
    endRight > start &&
    left.charCodeAt(endLeft - 1) === right.charCodeAt(endRight - 1)
  ) {
    endLeft--;
    endRight--;
  }
  const m = encode(left, start, endLeft, codesA);
  const n = encode(right, start, endRight, codesB);
  return editTable(m, n, start === 0 ? FIRST_LETTER : 0, most);
}

/** The same for two words of a–z and digits in bytes: the first `length` of the left ones, and the right ones from `from` to `to`. */
export function weighedEditsOf(
  left: Uint8Array,
  length: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  most: number,
): number {
  let start = 0;
  let endLeft = Math.min(length, LETTERS_COUNTED);
  let endRight = Math.min(to - from, LETTERS_COUNTED);
  const shorter = Math.min(endLeft, endRight);
  while (start < shorter && left[start] === bytes[from + start]) start++;
  while (endLeft > start && endRight > start && left[endLeft - 1] === bytes[from + endRight - 1]) {
    endLeft--;
    endRight--;
  }
  const m = endLeft - start;
  const n = endRight - start;
  for (let at = 0; at < m; at++) codesA[at] = codes[left[start + at] as number] as number;
  for (let at = 0; at < n; at++) codesB[at] = codes[bytes[from + start + at] as number] as number;
  return editTable(m, n, start === 0 ? FIRST_LETTER : 0, most);
}

/** Computes the cost of letters that only one word has. */
function gapsOf(letters: Uint8Array, count: number): number {
  let cost = 0;
  for (let at = 0; at < count; at++) cost += gaps[letters[at] as number] as number;
  return cost;
}

/** Computes the cost of the first `m` codes of the left word and the first `n` of the right one. */
function editTable(m: number, n: number, wrongFirst: number, most: number): number {
  if (m === 0 || n === 0) return gapsOf(m === 0 ? codesB : codesA, m + n);
  if (m === 1 && n === 1) {
    const [x, y] = [codesA[0] as number, codesB[0] as number];
    return Math.min((swaps[x * CODES + y] as number) + wrongFirst, (gaps[x] as number) + (gaps[y] as number));
  }
  let before = rowA;
  let last = rowB;
  let now = rowC;
  let edge = 0;
  last[0] = 0;
  for (let j = 0; j < n; j++) {
    edge += gaps[codesB[j] as number] as number;
    last[j + 1] = edge;
  }
  let wrong = wrongFirst;
  let previous = -1;
  for (let i = 0; i < m; i++) {
    const x = codesA[i] as number;
    const gapX = gaps[x] as number;
    const swapsOfX = x * CODES;
    let diagonal = last[0] as number;
    let beside = diagonal + gapX;
    let least = beside;
    let lastY = -1;
    now[0] = beside;
    for (let j = 0; j < n; j++) {
      const y = codesB[j] as number;
      const above = last[j + 1] as number;
      let best = diagonal;
      if (x !== y) best += (swaps[swapsOfX + y] as number) + (j === 0 ? wrongFirst : wrong);
      const less = above + gapX;
      const more = beside + (gaps[y] as number);
      if (less < best) best = less;
      if (more < best) best = more;
      if (x === lastY && previous === y) {
        const turned = (before[j - 1] as number) + TRANSPOSED;
        if (turned < best) best = turned;
      }
      now[j + 1] = best;
      if (best < least) least = best;
      diagonal = above;
      beside = best;
      lastY = y;
    }
    // A transposition leads from the row before, and costs less than its two rows.
    if (least > most + TRANSPOSED) return Number.POSITIVE_INFINITY;
    wrong = 0;
    previous = x;
    const oldest = before;
    before = last;
    last = now;
    now = oldest;
  }
  return last[n] as number;
}

/** Bits of the vowels in a set of letters (`a` is bit 0). */
const VOWEL_BITS = [...VOWELS].reduce((bits, vowel) => bits | (1 << (vowel.charCodeAt(0) - 97)), 0);
/** The least costs of an edit of a vowel and of another letter. */
const VOWEL_COST = 0.6;
const LETTER_COST = 0.7;

function bitsIn(bits: number): number {
  let left = bits - ((bits >>> 1) & 0x55555555);
  left = (left & 0x33333333) + ((left >>> 2) & 0x33333333);
  return Math.imul((left + (left >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Returns the number of letters that only one of two sets has. */
export const bitsApart = (left: number, right: number): number => bitsIn(left ^ right);

/**
 * Returns a lower bound of `weighedEdits` from the sets of letters of two words: each letter that only one of them has needs an edit, and an
 * edit removes at most one letter of each word.
 */
export function leastEdits(left: number, right: number): number {
  const a = left & ~right;
  const b = right & ~left;
  if (a === 0 && b === 0) return 0;
  const ofLeft = VOWEL_COST * bitsIn(a & VOWEL_BITS) + LETTER_COST * bitsIn(a & ~VOWEL_BITS);
  const ofRight = VOWEL_COST * bitsIn(b & VOWEL_BITS) + LETTER_COST * bitsIn(b & ~VOWEL_BITS);
  return Math.max(ofLeft, ofRight);
}

/** Maximum length of a word whose letters are bits. */
export const MASKED_MOST = 31;
/** The least additional cost of an edit other than a vowel for a vowel. */
const NOT_VOWELS = LETTER_COST - VOWEL_COST;

/** Returns the places of each letter in a word, as bits; then the same with all vowels as one letter. */
export function masksOf(letters: Uint8Array): Int32Array {
  const masks = new Int32Array(CODES * 2);
  let vowels = 0;
  for (let at = 0; at < letters.length; at++) {
    const code = codes[letters[at] as number] as number;
    masks[code] = (masks[code] as number) | (1 << at);
    masks[CODES + code] = masks[code] as number;
    if (isVowel[code] === 1) vowels |= 1 << at;
  }
  for (let code = 0; code < CODES; code++) if (isVowel[code] === 1) masks[CODES + code] = vowels;
  return masks;
}

/**
 * Returns whether the cost of `weighedEditsOf` may be `most` or less: false is certain. An edit costs at least 0.6, and 0.7 if it is not a
 * vowel for a vowel; the numbers of edits are counted with all letters, and with all vowels as one letter.
 *
 * @param masks What `masksOf` returns for the left word.
 * @param length The length of the left word, at most `MASKED_MOST`.
 */
export function mayCost(
  masks: Int32Array,
  length: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  most: number,
): boolean {
  const edits = editsOf(masks, 0, length, bytes, from, to);
  if (VOWEL_COST * edits > most) return false;
  if (LETTER_COST * edits <= most) return true;
  return VOWEL_COST * edits + NOT_VOWELS * editsOf(masks, CODES, length, bytes, from, to) <= most;
}

/**
 * Counts the edits between two words, a transposition of adjacent letters as one.
 *
 * Source: H. Hyyrö, "A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit Distances", 2003.
 */
function editsOf(
  masks: Int32Array,
  first: number,
  length: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  let edits = length;
  const last = length - 1;
  let more = -1;
  let less = 0;
  let same = 0;
  let before = 0;
  for (let at = from; at < to; at++) {
    const places = masks[first + (codes[bytes[at] as number] as number)] as number;
    const turned = ((~same & places) << 1) & before;
    same = ((((places & more) + more) | 0) ^ more) | places | less | turned;
    let up = less | ~(same | more);
    let down = same & more;
    edits += ((up >>> last) & 1) - ((down >>> last) & 1);
    up = (up << 1) | 1;
    down <<= 1;
    more = down | ~(same | up);
    less = up & same;
    before = places;
  }
  return edits;
}

const matchedA = new Uint8Array(ROW);
const matchedB = new Uint8Array(ROW);

/**
 * Returns Jaro's similarity with Winkler's bonus for a common prefix of at most 4 letters, scale 0.1; the result is 0–1. Only the
 * first 60 letters count.
 *
 * Source: W. E. Winkler, "String Comparator Metrics and Enhanced Decision Rules in the Fellegi-Sunter Model of Record Linkage", 1990.
 */
export function jaroWinkler(a: string, b: string): number {
  if (a === b) return a === '' ? 0 : 1;
  const m = Math.min(a.length, ROW - 4);
  const n = Math.min(b.length, ROW - 4);
  const reach = Math.max(0, (Math.max(m, n) >> 1) - 1);
  matchedA.fill(0, 0, m);
  matchedB.fill(0, 0, n);
  let common = 0;
  for (let i = 0; i < m; i++) {
    const letter = a.charCodeAt(i);
    const end = Math.min(n, i + reach + 1);
    for (let j = Math.max(0, i - reach); j < end; j++) {
      if (matchedB[j] === 1 || b.charCodeAt(j) !== letter) continue;
      matchedA[i] = 1;
      matchedB[j] = 1;
      common++;
      break;
    }
  }
  if (common === 0) return 0;
  let turned = 0;
  for (let i = 0, j = 0; i < m; i++) {
    if (matchedA[i] === 0) continue;
    while (matchedB[j] === 0) j++;
    if (a.charCodeAt(i) !== b.charCodeAt(j)) turned++;
    j++;
  }
  const jaro = (common / m + common / n + (common - turned / 2) / common) / 3;
  let prefix = 0;
  while (prefix < 4 && prefix < m && prefix < n && a.charCodeAt(prefix) === b.charCodeAt(prefix)) prefix++;
  return jaro + prefix * 0.1 * (1 - jaro);
}
