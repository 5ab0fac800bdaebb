/**
 * Finds names of exchanges and firms: as written (letters and digits alone count), without the form of the company, and with
 * spelling mistakes, by the trigrams that a name shares with the question and then by edit distance.
 */
import { distance } from 'fastest-levenshtein';
import { LIMITS } from '../base/limits.ts';

export type NameKind = 'NAME' | 'ALIAS' | 'LEGAL_NAME' | 'DOMAIN' | 'LEI';

/** One name of one subject. `subject` is a position that the owner of the index gives. */
export interface IndexedName {
  readonly text: string;
  readonly kind: NameKind;
  readonly subject: number;
}

export interface NameHit {
  readonly name: IndexedName;
  /** 1 where letters and digits are equal; else the share of letters that are. */
  readonly similarity: number;
}

/** Small letters and digits of any script, without accents; all that two spellings of a name must share. */
export function foldName(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/ø/g, 'o')
    .replace(/ł/g, 'l')
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** Forms of companies at the end of a legal name, dots and spaces left out. */
const COMPANY_FORMS =
  'limited ltd llc llp lp inc incorporated corp corporation co company gmbh ag aktiengesellschaft kg kgaa se sa sas sasu sarl bv nv uab oy ab asa as aps plc pte pty sl spa srl doo dd sro sia ou ood fzco fze fzllc dmcc ltda kk jsc jsa kft'.split(
    ' ',
  );
const FORMS: ReadonlySet<string> = new Set(COMPANY_FORMS);

/** The same without the company's form, in front (`UAB Decentralized`) or behind; empty where nothing else is left. */
export function foldWithoutForm(text: string): string {
  const words = text
    .replace(/\./g, '')
    .split(/[^\p{L}\p{N}]+/u)
    .map(foldName)
    .filter((word) => word !== '');
  // `s. r. o.` falls apart into letters.
  while (words.length > 1 && (FORMS.has(words.at(-1) ?? '') || FORMS.has(words.slice(-3).join('')))) {
    if (FORMS.has(words.at(-1) ?? '')) words.pop();
    else words.splice(-3);
  }
  if (words.length > 1 && FORMS.has(words[0] ?? '')) words.shift();
  return words.join('');
}

/** Below so many letters every typo makes another name. */
const FUZZY_FROM = 4;
/** Share of letters that must be right: one in five, and never fewer than one, may be wrong. */
const SIMILARITY_MIN = 0.75;
/** What is shown as near to a name that nobody has. */
const NEAREST_MIN = 0.45;

/** Below what counts as a typo: `Coin` is the beginning of many names. */
const PREFIX_SIMILARITY = 0.7;

/** A length that one letter in three, wrong, missing or too many, can explain. */
const isOfLikeLength = (one: number, other: number): boolean =>
  Math.abs(one - other) * 3 <= Math.max(one, other);

/** Positions packed in one step of the building: a millisecond. */
const PACKED_A_STEP = 50_000;
/** Names added in one step. */
const NAMES_A_STEP = 250;

function trigramsOf(folded: string): Set<string> {
  const padded = `  ${folded} `;
  const found = new Set<string>();
  for (let at = 0; at + 3 <= padded.length; at++) found.add(padded.slice(at, at + 3));
  return found;
}

export interface NameIndex {
  /** Names that are the text, letter for letter; else those without the company's form. In the order in which they were added. */
  exact(text: string): readonly IndexedName[];
  /** Names near to the text, best first. */
  near(text: string, limit: number): readonly NameHit[];
}

/** Whether a hit is near enough to be taken for what was meant. */
export const isTypo = ({ similarity }: NameHit): boolean => similarity >= SIMILARITY_MIN;

/** Makes the index in slices: each step takes a millisecond or two, so that a server can answer in between. */
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
    const bare = name.kind === 'LEGAL_NAME' || name.kind === 'ALIAS' ? foldWithoutForm(name.text) : '';
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
  const touched = new Uint32Array(LIMITS.registerPostingsMax + all.length);

  /** Positions of the names that share most trigrams, few enough to be measured letter by letter. */
  function candidates(folded: string): number[] {
    const found = [...trigramsOf(folded)]
      .map((trigram) => lists.get(trigram))
      .filter((list) => list !== undefined)
      .sort((a, b) => a.length - b.length);
    let count = 0;
    let read = 0;
    for (const list of found) {
      if (read > 0 && read + list.length > LIMITS.registerPostingsMax) break;
      read += list.length;
      for (const position of list) {
        if (shared[position] === 0) touched[count++] = position;
        shared[position] = (shared[position] as number) + 1;
      }
    }
    // How many names share so many trigrams, and from which number on they are few enough.
    const names = new Uint32Array(256);
    for (let at = 0; at < count; at++) {
      const trigrams = shared[touched[at] as number] as number;
      names[trigrams] = (names[trigrams] as number) + 1;
    }
    let least = 255;
    for (let sum = 0; least > 1; least--) {
      sum += names[least] as number;
      if (sum >= LIMITS.registerCandidatesMax) break;
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
    return [...best, ...atLeast.slice(0, Math.max(0, LIMITS.registerCandidatesMax - best.length))];
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
        // The beginning of a longer name is worth showing, and never taken for it.
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
