/**
 * Matches a word against a sequence of finite sets of spellings. The patterns of readings are written as regular expressions of
 * literals, classes, groups, `?` and `{m,n}`; compiling one for each of the thousands of words of an index costs more than matching it,
 * so the sets are tries that all words share, and a match follows all ends at once.
 */

/** A node of a trie: the nodes that follow each letter a–z, and whether a spelling ends here. */
interface Node {
  isEnd: boolean;
  readonly next: (Node | undefined)[];
}

const LETTERS = 26;
const A = 97;
/** Positions are bits of one integer; no spelling of a name has more letters. */
const LETTERS_MAX = 30;
/** A set of spellings with more is a fault in a pattern: the largest (three vowels of seven) has 400. */
const SPELLINGS_MAX = 2_000;

const node = (): Node => ({ isEnd: false, next: new Array<Node | undefined>(LETTERS).fill(undefined) });

const tries = new Map<string, Node>();

/** Returns the trie of one item of a pattern; the few hundred different items are kept. */
function trieOf(item: string): Node {
  const known = tries.get(item);
  if (known !== undefined) return known;
  const root = node();
  for (const spelled of new Reader(item).all()) {
    let at = root;
    for (let letter = 0; letter < spelled.length; letter++) {
      const code = spelled.charCodeAt(letter) - A;
      // No word contains other letters than a–z.
      if (code < 0 || code >= LETTERS) break;
      at.next[code] ??= node();
      at = at.next[code] as Node;
      if (letter === spelled.length - 1) at.isEnd = true;
    }
    if (spelled === '') root.isEnd = true;
  }
  tries.set(item, root);
  return root;
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

const items = new Map<string, readonly Node[]>();

/** Returns the tries of a pattern, one for each of its items. */
function triesOf(pattern: string): readonly Node[] {
  let known = items.get(pattern);
  if (known === undefined) {
    known = new Reader(pattern).items().map(trieOf);
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
  readonly usual: readonly Node[];
  readonly rare: readonly Node[] | null;
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
  return (word) => {
    const end = 1 << word.length;
    if (word.length > LETTERS_MAX) return -1;
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

/** Returns the ends that the items of a pattern accept from each of the positions. */
function follow(roots: readonly Node[], word: string, from: number): number {
  let reached = from;
  for (const root of roots) {
    if (reached === 0) return 0;
    let next = root.isEnd ? reached : 0;
    for (let left = reached; left !== 0; left &= left - 1) {
      let at = 31 - Math.clz32(left & -left);
      let state: Node | undefined = root;
      while (at < word.length) {
        state = state.next[word.charCodeAt(at) - A];
        if (state === undefined) break;
        at++;
        if (state.isEnd) next |= 1 << at;
      }
    }
    reached = next;
  }
  return reached;
}
