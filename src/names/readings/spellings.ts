/**
 * Matches a word against a sequence of finite sets of spellings. The patterns of readings are written as regular expressions of
 * literals, classes, groups, `?` and `{m,n}`; compiling one for each of the thousands of words of an index costs more than matching it,
 * so the sets are tries that all words share, and a match follows all ends at once.
 */

import { letterSet } from '../sound.ts';

const LETTERS = 26;
const A = 97;
/**
 * Cells of a node of a trie: the place of the node that follows each letter a–z (0 if there is none), whether a spelling ends here, and of the
 * root the lengths of the shortest and the longest spelling, and the letters with which spellings begin and end (`a` is bit 0). All nodes lie
 * in one array, because a word follows several ends at once.
 */
const CELLS = 32;
const IS_END = 26;
const LEAST_LENGTH = 27;
const MOST_LENGTH = 28;
const FIRSTS = 29;
const LASTS = 30;
/** Positions are bits of one integer; no spelling of a name has more letters. */
const LETTERS_MAX = 30;
/** A set of spellings with more is a fault in a pattern: the largest (three vowels of seven) has 400. */
const SPELLINGS_MAX = 2_000;

let nodes = new Int32Array(CELLS << 12);
/** The end of the last node. Place 0 is no node. */
let nodesEnd = CELLS;

/** Adds an empty node, and returns its place. */
function addNode(): number {
  const place = nodesEnd;
  nodesEnd += CELLS;
  if (nodesEnd > nodes.length) {
    const wider = new Int32Array(nodes.length * 2);
    wider.set(nodes);
    nodes = wider;
  }
  return place;
}

const tries = new Map<string, number>();

/** Returns the root of the trie of one item of a pattern; the few hundred different items are kept. */
function trieOf(item: string): number {
  const known = tries.get(item);
  if (known !== undefined) return known;
  const root = addNode();
  const spellings = new Reader(item).all();
  for (const spelled of spellings) addSpelling(root, spelled);
  const lengths = spellings.map((spelled) => spelled.length);
  nodes[root + LEAST_LENGTH] = Math.min(...lengths);
  nodes[root + MOST_LENGTH] = Math.max(...lengths);
  nodes[root + FIRSTS] = letterSet(spellings.map((spelled) => spelled.slice(0, 1)).join(''));
  nodes[root + LASTS] = letterSet(spellings.map((spelled) => spelled.slice(-1)).join(''));
  tries.set(item, root);
  return root;
}

function addSpelling(root: number, spelled: string): void {
  let place = root;
  for (let letter = 0; letter < spelled.length; letter++) {
    const code = spelled.charCodeAt(letter) - A;
    // No word contains other letters than a–z.
    if (code < 0 || code >= LETTERS) return;
    if (nodes[place + code] === 0) {
      const next = addNode();
      nodes[place + code] = next;
    }
    place = nodes[place + code] as number;
  }
  nodes[place + IS_END] = 1;
}

/** Reads a pattern, and returns the spellings that it accepts. */
class Reader {
  readonly #pattern: string;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  /** Returns the texts of the items of the pattern, each with its quantifier. */
  items(): string[] {
    const items: string[] = [];
    while (this.#at < this.#pattern.length) {
      const from = this.#at;
      this.#item();
      items.push(this.#pattern.slice(from, this.#at));
    }
    return items;
  }

  /** Returns the spellings of the whole pattern. */
  all(): string[] {
    return this.#alternatives('');
  }

  #alternatives(end: string): string[] {
    const found: string[] = [];
    let sequence = [''];
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== end) {
      if (this.#pattern[this.#at] === '|') {
        found.push(...sequence);
        sequence = [''];
        this.#at++;
      } else sequence = joined(sequence, this.#item());
    }
    return [...new Set([...found, ...sequence])];
  }

  #item(): string[] {
    const base = this.#base();
    const [quantifier = '', least = '', most = ''] =
      /^(?:\?|\{(\d),(\d)\})/.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += quantifier.length;
    if (quantifier === '') return base;
    if (quantifier === '?') return ['', ...base];
    const all: string[] = [];
    let repeated = [''];
    for (let count = 0; count <= Number(most); count++) {
      if (count >= Number(least)) all.push(...repeated);
      if (count < Number(most)) repeated = joined(repeated, base);
    }
    return [...new Set(all)];
  }

  #base(): string[] {
    if (this.#pattern.startsWith('(?:', this.#at)) {
      this.#at += 3;
      const found = this.#alternatives(')');
      this.#at++;
      return found;
    }
    if (this.#pattern[this.#at] === '[') {
      const end = this.#pattern.indexOf(']', this.#at);
      const letters = [...this.#pattern.slice(this.#at + 1, end)];
      this.#at = end + 1;
      return letters;
    }
    return [this.#pattern[this.#at++] as string];
  }
}

function joined(starts: readonly string[], ends: readonly string[]): string[] {
  const all = starts.flatMap((start) => ends.map((end) => start + end));
  if (all.length > SPELLINGS_MAX) throw new Error(`A pattern has more than ${SPELLINGS_MAX} spellings.`);
  return all;
}

/** Maximum number of patterns whose tries are kept. A word of kana is one pattern of its own, so there is no end of them: 500 bytes each, 10 MB. */
const PATTERNS_KEPT = 20_000;
const items = new Map<string, readonly number[]>();

/** Returns the roots of the tries of a pattern, one for each of its items. */
function triesOf(pattern: string): readonly number[] {
  let known = items.get(pattern);
  if (known === undefined) {
    known = new Reader(pattern).items().map(trieOf);
    if (items.size >= PATTERNS_KEPT) items.clear();
    items.set(pattern, known);
  }
  return known;
}

/** A pattern of usual spellings, and one of all spellings, if some are rare. */
export interface Spelled {
  readonly pattern: string;
  readonly rare?: string;
}

/** More rare spellings than this in one word are those of another word. */
const RARE_MOST = 2;

/**
 * A program is a sequence of patterns as numbers: the lengths of the shortest and the longest word that it accepts, the letters with which these
 * begin and end, whether it has rare spellings, and the number of patterns. Then for each pattern the number of tries of its usual spellings, the
 * number of tries of all its spellings (−1 if none are rare), and the roots of these tries.
 */
export type Program = ArrayLike<number>;
const LEAST = 0;
const MOST = 1;
const BEGINS = 2;
const ENDS = 3;
const HAS_RARE = 4;
const PATTERNS = 5;
const STEPS = 6;

interface Step {
  readonly usual: readonly number[];
  readonly rare: readonly number[] | null;
}

/**
 * Compiles a sequence of patterns.
 *
 * @param patterns Of literals a–z, classes without ranges, groups `(?:…)`, `|`, `?` and `{m,n}`.
 */
export function programOf(patterns: readonly Spelled[]): Program {
  const steps = patterns.map(
    ({ pattern, rare }): Step => ({
      usual: triesOf(pattern),
      rare: rare === undefined ? null : triesOf(rare),
    }),
  );
  const least = sum(steps, ({ usual, rare }) =>
    Math.min(lengthOf(usual, LEAST_LENGTH), rare === null ? LETTERS_MAX : lengthOf(rare, LEAST_LENGTH)),
  );
  const most = sum(steps, ({ usual, rare }) =>
    Math.max(lengthOf(usual, MOST_LENGTH), rare === null ? 0 : lengthOf(rare, MOST_LENGTH)),
  );
  const program: number[] = [least, Math.min(LETTERS_MAX, most)];
  program.push(lettersAt(steps, FIRSTS), lettersAt([...steps].reverse(), LASTS));
  program.push(steps.some(({ rare }) => rare !== null) ? 1 : 0, steps.length);
  for (const { usual, rare } of steps) {
    program.push(usual.length, rare === null ? -1 : rare.length, ...usual, ...(rare ?? []));
  }
  return Int32Array.from(program);
}

/** Returns the letters with which the words of a sequence begin; for `LASTS` and a reversed sequence, those with which they end. */
function lettersAt(steps: readonly Step[], cell: number): number {
  let letters = 0;
  for (const { usual, rare } of steps) {
    let isOptional = false;
    for (const all of rare === null ? [usual] : [usual, rare]) {
      const roots = cell === LASTS ? [...all].reverse() : all;
      let at = 0;
      for (; at < roots.length; at++) {
        const root = roots[at] as number;
        letters |= nodes[root + cell] as number;
        if (nodes[root + IS_END] === 0) break;
      }
      if (at === roots.length) isOptional = true;
    }
    if (!isOptional) break;
  }
  return letters;
}

/**
 * Returns the least number of rare spellings with which a word of a–z is a spelling of the whole sequence of a program, 0 to 2; −1 if it is none.
 * A word of more than 30 letters is none.
 *
 * @param from Where the program begins.
 */
export function rareIn(word: string, program: Program, from = 0): number {
  const { length } = word;
  if (length < (program[from + LEAST] as number) || length > (program[from + MOST] as number)) return -1;
  if (length > 0 && !isIn(word, 0, program[from + BEGINS] as number)) return -1;
  if (length > 0 && !isIn(word, length - 1, program[from + ENDS] as number)) return -1;
  const end = 1 << length;
  const hasRare = program[from + HAS_RARE] === 1;
  let left = program[from + PATTERNS] as number;
  let at = from + STEPS;
  // By the number of rare spellings; bit p: the patterns so far accept the first p letters.
  let none = 1;
  let one = 0;
  let two = 0;
  for (; left > 0; left--) {
    const usual = at + 2;
    const rare = usual + (program[at] as number);
    const rareCount = program[at + 1] as number;
    at = rare + Math.max(0, rareCount);
    if (hasRare) {
      two = follow(program, usual, rare, word, two);
      if (rareCount >= 0) two |= follow(program, rare, at, word, one);
      one = follow(program, usual, rare, word, one);
      if (rareCount >= 0) one |= follow(program, rare, at, word, none);
    }
    none = follow(program, usual, rare, word, none);
    if ((none | one | two) === 0) return -1;
  }
  return (none & end) !== 0 ? 0 : (one & end) !== 0 ? 1 : (two & end) !== 0 ? RARE_MOST : -1;
}

/** Returns whether a letter of a word is in a set of letters. */
function isIn(word: string, at: number, letters: number): boolean {
  const code = word.charCodeAt(at) - A;
  return code >= 0 && code < LETTERS && ((letters >>> code) & 1) === 1;
}

const sum = (steps: readonly Step[], of: (step: Step) => number): number =>
  steps.reduce((total, step) => total + of(step), 0);

/** Returns the sum of one of the lengths of the items of a pattern. */
const lengthOf = (roots: readonly number[], cell: number): number =>
  roots.reduce((total, root) => total + (nodes[root + cell] as number), 0);

/** Returns the ends that the items of a pattern, whose roots are from `first` to `last` of a program, accept from each of the positions. */
function follow(program: Program, first: number, last: number, word: string, from: number): number {
  const length = word.length;
  let reached = from;
  for (let item = first; item < last; item++) {
    if (reached === 0) return 0;
    const root = program[item] as number;
    let next = nodes[root + IS_END] === 1 ? reached : 0;
    for (let left = reached; left !== 0; left &= left - 1) {
      let at = 31 - Math.clz32(left & -left);
      let place = root;
      while (at < length) {
        const code = word.charCodeAt(at) - A;
        if (code < 0 || code >= LETTERS) break;
        place = nodes[place + code] as number;
        if (place === 0) break;
        at++;
        if (nodes[place + IS_END] === 1) next |= 1 << at;
      }
    }
    reached = next;
  }
  return reached;
}
