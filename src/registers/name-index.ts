/**
 * Finds names of exchanges and firms: as written (only letters and digits count), without the company form, and with spelling mistakes, by
 * the trigrams that a name shares with the query and then by edit distance.
 */
import { distance } from 'fastest-levenshtein';
import { REGISTER_LIMITS } from './limits.ts';

export type NameKind = 'NAME' | 'ALIAS' | 'LEGAL_NAME' | 'FORMER_NAME' | 'DOMAIN' | 'LEI';

/** One name of one subject. The owner of the index assigns the `subject` position. */
export interface IndexedName {
  readonly text: string;
  readonly kind: NameKind;
  readonly subject: number;
}

export interface NameHit {
  readonly name: IndexedName;
  /** 1 if letters and digits are equal; otherwise the share of equal letters. */
  readonly similarity: number;
}

/** Returns the lower-case letters and digits of any script, without accents. Two spellings of a name need only share these. */
export function foldName(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/ø/g, 'o')
    .replace(/ł/g, 'l')
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** Company forms at the end of a legal name, without dots and spaces. */
const COMPANY_FORMS =
  'limited ltd llc llp lp inc incorporated corp corporation co company gmbh ag aktiengesellschaft kg kgaa se sa sas sasu sau sca sarl bv nv uab oy ab asa as aps plc dac pte pty sl slu spa srl doo dd sro spzoo sia ou ood ead eood fzco fze fzllc dmcc ltda kk jsc jsa kft zrt nyrt'.split(
    ' ',
  );
const FORMS: ReadonlySet<string> = new Set(COMPANY_FORMS);

/** The most words of a written form, and their letters: `s. r. o.`, `Sp. z o.o.`, `S.à r.l.`, `A/S` are split into such words. */
const FORM_WORDS_MAX = 3;
const FORM_WORD_CHARS_MAX = 3;

/** Returns the number of words at the end of a name that are its company form; 0 if there is none, or nothing else would be left. */
function formLength(words: readonly string[]): number {
  for (let length = 1; length <= FORM_WORDS_MAX && length < words.length; length++) {
    const last = words.slice(-length);
    const isShort = length === 1 || last.every((word) => word.length <= FORM_WORD_CHARS_MAX);
    if (isShort && FORMS.has(last.join(''))) return length;
  }
  return 0;
}

/** Returns the folded words of a name without its company form, at the start (`UAB Decentralized`) or at the end. */
function wordsWithoutForm(text: string): string[] {
  const words = text
    .replace(/\./g, '')
    .split(/[^\p{L}\p{N}]+/u)
    .map(foldName)
    .filter((word) => word !== '');
  for (let length = formLength(words); length > 0; length = formLength(words)) words.splice(-length);
  if (words.length > 1 && FORMS.has(words[0] ?? '')) words.shift();
  return words;
}

/** Folds a name without its company form; empty if nothing else is left. */
export const foldWithoutForm = (text: string): string => wordsWithoutForm(text).join('');

/**
 * Returns the similarity of what two names do not share word for word; 1 if one has nothing else. Names of firms share most of their
 * letters in words such as `Europe`: `FTX Europe` is no misspelt `OKX Europe`.
 */
function similarityOfRest(one: string, other: string): number {
  const words = wordsWithoutForm(one);
  const rest: string[] = [];
  for (const word of wordsWithoutForm(other)) {
    const at = words.indexOf(word);
    if (at < 0) rest.push(word);
    else words.splice(at, 1);
  }
  const left = words.join('');
  const right = rest.join('');
  if (left === '' || right === '') return 1;
  return 1 - distance(left, right) / Math.max(left.length, right.length);
}

/** In shorter names every typo makes another name. */
const FUZZY_FROM = 4;
/** Minimum similarity of a typo: one letter in four may be wrong. */
const SIMILARITY_MIN = 0.75;
/** Minimum similarity of a suggestion for an unknown name. */
const NEAREST_MIN = 0.45;

/** Lower than the similarity of a typo: `Coin` is the beginning of many names. */
const PREFIX_SIMILARITY = 0.7;

/** Returns true if one wrong, missing or extra letter in three can explain the difference in length. */
const isOfLikeLength = (one: number, other: number): boolean =>
  Math.abs(one - other) * 3 <= Math.max(one, other);

/** Positions packed in one build step: a millisecond. */
const PACKED_A_STEP = 50_000;
/** Names added in one build step. */
const NAMES_A_STEP = 250;

function trigramsOf(folded: string): Set<string> {
  const padded = `  ${folded} `;
  const found = new Set<string>();
  for (let at = 0; at + 3 <= padded.length; at++) found.add(padded.slice(at, at + 3));
  return found;
}

export interface NameIndex {
  /**
   * Returns the names that equal the text letter for letter, or else those that equal it without the company form, in the order in which
   * they were added.
   */
  exact(text: string): readonly IndexedName[];
  /** Returns names that are similar to the text, best first. */
  near(text: string, limit: number): readonly NameHit[];
}

/** Words that every other firm has in its name: a query of one of them is no misspelt name. */
const GENERAL_WORDS: ReadonlySet<string> = new Set(
  'bank bit bitcoin block blockchain broker capital coin coins crypto digital exchange finance global group invest market markets money pay swap token trade trader trading wallet'.split(
    ' ',
  ),
);

/** From this length on, a typo may also be in the first letter. */
const FIRST_LETTER_FREE_FROM = 7;
/** Shorter queries are not corrected: `Bank` is not a misspelt `LBank`. */
const CORRECTED_FROM = 5;

/** Returns true if a query is long and special enough to be a misspelt name. */
function isDistinctive(query: string): boolean {
  const folded = foldName(query);
  return folded.length >= CORRECTED_FROM && !GENERAL_WORDS.has(folded);
}

/**
 * Returns true if a hit is similar enough to be the intended name.
 *
 * @param query - The text that was looked up.
 * @param bare - The same without general words at its end.
 */
export function isTypo({ similarity, name }: NameHit, query: string, bare: string): boolean {
  if (similarity < SIMILARITY_MIN || !isDistinctive(bare)) return false;
  if (similarityOfRest(query, name.text) < SIMILARITY_MIN) return false;
  const folded = foldName(bare);
  return folded.length >= FIRST_LETTER_FREE_FROM || folded[0] === foldName(name.text)[0];
}

/** Builds the index in slices: each step takes a millisecond or two, so that a server can process requests in between. */
export function* buildNameIndex(names: Iterable<IndexedName>): Generator<void, NameIndex> {
  const all: { readonly folded: string; readonly name: IndexedName }[] = [];
  const byFolded = new Map<string, IndexedName[]>();
  const byBare = new Map<string, IndexedName[]>();
  const postings = new Map<string, number[]>();
  const push = <Value>(map: Map<string, Value[]>, key: string, value: Value): void => {
    const known = map.get(key);
    if (known === undefined) map.set(key, [value]);
    else known.push(value);
  };
  let added = 0;
  for (const name of names) {
    const folded = foldName(name.text);
    if (folded === '') continue;
    push(byFolded, folded, name);
    const bare = name.kind === 'NAME' ? '' : foldWithoutForm(name.text);
    if (bare.length >= FUZZY_FROM && bare !== folded) push(byBare, bare, name);
    for (const form of new Set([folded, bare])) {
      if (form.length < FUZZY_FROM) continue;
      const position = all.push({ folded: form, name }) - 1;
      for (const trigram of trigramsOf(form)) push(postings, trigram, position);
    }
    if (++added % NAMES_A_STEP === 0) yield;
  }
  const lists = new Map<string, Uint32Array>();
  let packed = 0;
  for (const [trigram, positions] of postings) {
    lists.set(trigram, Uint32Array.from(positions));
    packed += positions.length;
    if (packed < PACKED_A_STEP) continue;
    packed = 0;
    yield;
  }
  postings.clear();
  const shared = new Uint8Array(all.length);
  const touched = new Uint32Array(REGISTER_LIMITS.registerPostingsMax + all.length);

  /** Returns the positions of the names that share most trigrams, few enough to compute their edit distance. */
  function candidates(folded: string): number[] {
    const found = [...trigramsOf(folded)]
      .map((trigram) => lists.get(trigram))
      .filter((list) => list !== undefined)
      .sort((a, b) => a.length - b.length);
    let count = 0;
    let read = 0;
    for (const list of found) {
      if (read > 0 && read + list.length > REGISTER_LIMITS.registerPostingsMax) break;
      read += list.length;
      for (const position of list) {
        if (shared[position] === 0) touched[count++] = position;
        shared[position] = (shared[position] as number) + 1;
      }
    }
    // Count the names for each number of shared trigrams, and find the smallest number with few enough names.
    const names = new Uint32Array(256);
    for (let at = 0; at < count; at++) {
      const trigrams = shared[touched[at] as number] as number;
      names[trigrams] = (names[trigrams] as number) + 1;
    }
    let least = 255;
    for (let sum = 0; least > 1; least--) {
      sum += names[least] as number;
      if (sum >= REGISTER_LIMITS.registerCandidatesMax) break;
    }
    const best: number[] = [];
    const atLeast: number[] = [];
    for (let at = 0; at < count; at++) {
      const position = touched[at] as number;
      const trigrams = shared[position] as number;
      shared[position] = 0;
      if (trigrams > least) best.push(position);
      else if (trigrams === least && isOfLikeLength(all[position]?.folded.length ?? 0, folded.length))
        atLeast.push(position);
    }
    return [...best, ...atLeast.slice(0, Math.max(0, REGISTER_LIMITS.registerCandidatesMax - best.length))];
  }

  return {
    exact(text) {
      const found = byFolded.get(foldName(text));
      if (found !== undefined) return found;
      const bare = foldWithoutForm(text);
      return byBare.get(bare) ?? byFolded.get(bare) ?? [];
    },
    near(text, limit) {
      const folded = foldName(text);
      if (folded.length < FUZZY_FROM) return [];
      const best = new Map<number, NameHit>();
      for (const position of candidates(folded)) {
        const { folded: other, name } = all[position] as (typeof all)[number];
        const wrong = distance(folded, other);
        const alike = 1 - wrong / Math.max(folded.length, other.length);
        // A longer name that starts with the query is a suggestion, but never a match.
        const similarity = other.startsWith(folded) ? Math.max(alike, PREFIX_SIMILARITY) : alike;
        if (similarity < NEAREST_MIN) continue;
        const known = best.get(name.subject);
        if (known === undefined || known.similarity < similarity)
          best.set(name.subject, { name, similarity });
      }
      return [...best.values()]
        .sort((a, b) => b.similarity - a.similarity || a.name.subject - b.name.subject)
        .slice(0, limit);
    },
  };
}
