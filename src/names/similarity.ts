/** How alike two words are: edits weighed by what is heard, initials, given names of one group, consonants alone. Symmetric. */
import { distance } from 'fastest-levenshtein';
import type { NamePart } from './parse.ts';

export type MeetingKind = 'exact' | 'nickname' | 'initial' | 'phonetic' | 'spelling' | 'number' | 'orgForm';

export interface Meeting {
  readonly kind: MeetingKind;
  /** 0–1. */
  readonly similarity: number;
}

export const NO_MEETING: Meeting = { kind: 'spelling', similarity: 0 };
const EXACT: Meeting = { kind: 'exact', similarity: 1 };
const SAME_NUMBER: Meeting = { kind: 'number', similarity: 1 };
const SAME_FORM: Meeting = { kind: 'orgForm', similarity: 1 };
const SAME_SOUND: Meeting = { kind: 'phonetic', similarity: 0.97 };
const SAME_GIVEN_NAME: Meeting = { kind: 'nickname', similarity: 0.93 };
/** By the number of consonants that agree: two or three of them are shared by many names. */
const SAME_CONSONANTS: readonly Meeting[] = [0, 0, 0.68, 0.88, 0.92].map((similarity) => ({
  kind: 'phonetic',
  similarity,
}));
const INITIAL: Meeting = { kind: 'initial', similarity: 0.75 };

/** Words less alike than this do not meet. */
export const LEAST_SIMILARITY = 0.5;

export function meet(a: NamePart, b: NamePart): Meeting {
  if (a.text === b.text && a.script === b.script) {
    if (a.kind === 'form' || b.kind === 'form') return a.kind === b.kind ? SAME_FORM : NO_MEETING;
    return a.kind === 'number' ? SAME_NUMBER : EXACT;
  }
  if (a.kind === 'number' || b.kind === 'number' || a.kind === 'form' || b.kind === 'form') return NO_MEETING;
  if (a.kind === 'initial' || b.kind === 'initial') {
    const [initial, word] = a.kind === 'initial' ? [a, b] : [b, a];
    return word.kind === 'name' && word.text.startsWith(initial.text) ? INITIAL : NO_MEETING;
  }
  if (a.script !== b.script && (a.script === 'abjad' || b.script === 'abjad')) return meetConsonants(a, b);
  if (a.folded === b.folded) return SAME_SOUND;
  for (const group of a.groups) if (b.groups.includes(group)) return SAME_GIVEN_NAME;
  return spelled(a.folded, b.folded);
}

function meetConsonants(a: NamePart, b: NamePart): Meeting {
  const shorter = Math.min(a.consonants.length, b.consonants.length);
  if (shorter < 2) return NO_MEETING;
  if (a.consonants === b.consonants) return SAME_CONSONANTS[Math.min(4, shorter)] as Meeting;
  const edits = distance(a.consonants, b.consonants);
  return shorter >= 4 && edits === 1 ? { kind: 'phonetic', similarity: 0.75 } : NO_MEETING;
}

/** Edits weighed against length: one letter of eight leaves 0.85, one of three 0.6; a vowel counts half. */
function spelled(a: string, b: string): Meeting {
  const longer = Math.max(a.length, b.length);
  if (a.length < 2 || b.length < 2) return NO_MEETING;
  if (longer - Math.min(a.length, b.length) > 1 + longer * 0.45) return NO_MEETING;
  const bare = distance(a, b);
  if (bare > 1 + longer * 0.45) return NO_MEETING;
  const cost = weighedEdits(a, b);
  const alike = 1 - cost / (0.72 * longer + 0.5);
  // One letter of a short word may be a slip: it meets, and the model says what that is worth.
  const similarity = bare === 1 && longer >= 3 ? Math.max(LEAST_SIMILARITY, alike) : alike;
  return similarity < LEAST_SIMILARITY ? NO_MEETING : { kind: 'spelling', similarity };
}

const VOWELS = 'aeiou';
/** Consonants that romanisations swap. */
const NEAR: ReadonlySet<string> = new Set(
  ['bp', 'dt', 'gk', 'sz', 'fv', 'ck', 'gj', 'jz', 'hg', 'hk', 'mn', 'js', 'lr'].flatMap((pair) => [
    pair,
    `${pair[1]}${pair[0]}`,
  ]),
);

const ROW = 64;
/** Costs by letter codes: a letter for another, and one too many. Digits take the places from 26 on. */
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
/** What a wrong first letter costs besides. */
const FIRST_LETTER = 0.15;
const TRANSPOSED = 0.8;

const before = new Float64Array(ROW);
const last = new Float64Array(ROW);
const now = new Float64Array(ROW);
const codesA = new Uint8Array(ROW);
const codesB = new Uint8Array(ROW);

function encode(text: string, into: Uint8Array): number {
  const length = Math.min(text.length, ROW - 4);
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at);
    into[at] = unit >= 97 ? (unit - 97) % 26 : 26 + ((unit - 48) % 10);
  }
  return length;
}

/** Optimal string alignment with weights; a swapped pair of neighbours costs one edit. Only the first 60 letters count. */
function weighedEdits(left: string, right: string): number {
  const m = encode(left, codesA);
  const n = encode(right, codesB);
  last[0] = 0;
  for (let j = 1; j <= n; j++) last[j] = (last[j - 1] as number) + (gaps[codesB[j - 1] as number] as number);
  for (let i = 1; i <= m; i++) {
    const x = codesA[i - 1] as number;
    const gapX = gaps[x] as number;
    now[0] = (last[0] as number) + gapX;
    for (let j = 1; j <= n; j++) {
      const y = codesB[j - 1] as number;
      const swapped =
        x === y ? 0 : (swaps[x * CODES + y] as number) + (i === 1 || j === 1 ? FIRST_LETTER : 0);
      let best = (last[j - 1] as number) + swapped;
      const less = (last[j] as number) + gapX;
      const more = (now[j - 1] as number) + (gaps[y] as number);
      if (less < best) best = less;
      if (more < best) best = more;
      if (i > 1 && j > 1 && x === codesB[j - 2] && codesA[i - 2] === y) {
        const turned = (before[j - 2] as number) + TRANSPOSED;
        if (turned < best) best = turned;
      }
      now[j] = best;
    }
    for (let j = 0; j <= n; j++) {
      before[j] = last[j] as number;
      last[j] = now[j] as number;
    }
  }
  return last[n] as number;
}
