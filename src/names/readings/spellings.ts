/**
 * Matches a word against a sequence of finite sets of spellings. The patterns of readings are written as regular expressions of
 * literals, classes, groups, `?` and `{m,n}`; compiling one for each of the thousands of words of an index costs more than matching it,
 * so the sets are tries that all words share, and a match follows all ends at once.
 */

const LETTERS = 26;
const A = 97;
/**
 * Cells of a node of a trie: the place of the node that follows each letter a–z (0 if there is none), whether a spelling ends here, and of the
 * root the lengths of the shortest and the longest spelling. All nodes lie in one array, because a word follows several ends at once.
 */
const CELLS = 32;
const IS_END = 26;
const LEAST_LENGTH = 27;
const MOST_LENGTH = 28;
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

interface Step {
  readonly usual: readonly number[];
  readonly rare: readonly number[] | null;
}

/**
 * Compiles a sequence of patterns.
 *
 * @param patterns Of literals a–z, classes without ranges, groups `(?:…)`, `|`, `?` and `{m,n}`.
 * @returns A function that returns the least number of rare spellings with which a word of a–z is a spelling of the whole sequence, 0 to 2; −1
 *   if it is none. A word of more than 30 letters is none.
 */
export function spellingsOf(patterns: readonly Spelled[]): (word: string) => number {
  const steps = patterns.map(
    ({ pattern, rare }): Step => ({
      usual: triesOf(pattern),
      rare: rare === undefined ? null : triesOf(rare),
    }),
  );
  const hasRare = steps.some(({ rare }) => rare !== null);
  const least = sum(steps, ({ usual, rare }) =>
    Math.min(lengthOf(usual, LEAST_LENGTH), rare === null ? LETTERS_MAX : lengthOf(rare, LEAST_LENGTH)),
  );
  const most = Math.min(
    LETTERS_MAX,
    sum(steps, ({ usual, rare }) =>
      Math.max(lengthOf(usual, MOST_LENGTH), rare === null ? 0 : lengthOf(rare, MOST_LENGTH)),
    ),
  );
  return (word) => {
    const end = 1 << word.length;
    if (word.length < least || word.length > most) return -1;
    // By the number of rare spellings; bit p: the patterns so far accept the first p letters.
    let [none, one, two] = [1, 0, 0];
    for (const { usual, rare } of steps) {
      if (hasRare) {
        two = follow(usual, word, two) | (rare === null ? 0 : follow(rare, word, one));
        one = follow(usual, word, one) | (rare === null ? 0 : follow(rare, word, none));
      }
      none = follow(usual, word, none);
      if ((none | one | two) === 0) return -1;
    }
    return (none & end) !== 0 ? 0 : (one & end) !== 0 ? 1 : (two & end) !== 0 ? RARE_MOST : -1;
  };
}

const sum = (steps: readonly Step[], of: (step: Step) => number): number =>
  steps.reduce((total, step) => total + of(step), 0);

/** Returns the sum of one of the lengths of the items of a pattern. */
const lengthOf = (roots: readonly number[], cell: number): number =>
  roots.reduce((total, root) => total + (nodes[root + cell] as number), 0);

/** Returns the ends that the items of a pattern accept from each of the positions. */
function follow(roots: readonly number[], word: string, from: number): number {
  const length = word.length;
  let reached = from;
  for (let item = 0; item < roots.length; item++) {
    if (reached === 0) return 0;
    const root = roots[item] as number;
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
