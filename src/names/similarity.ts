/** The similarity of two words: edits weighted by pronunciation, initials, given names of one group, consonants alone. */
import { distance } from 'fastest-levenshtein';
import { isOneEdit, weighedEdits } from './edits.ts';
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
const SAME_THING: Meeting = { kind: 'orgForm', similarity: 1 };
/** By the number of equal consonants: many names share two or three. */
const SAME_CONSONANTS: readonly Meeting[] = [0, 0, 0.68, 0.88, 0.92].map((similarity) => ({
  kind: 'phonetic',
  similarity,
}));
const INITIAL: Meeting = { kind: 'initial', similarity: 0.75 };

/** Words with a lower similarity do not match. */
export const LEAST_SIMILARITY = 0.5;

/** Compares two parts: returns the kind of match and the similarity. */
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
  for (const group of a.groups) {
    if (b.groups.includes(group)) return a.kind === 'descriptive' ? SAME_THING : SAME_GIVEN_NAME;
  }
  const heard = spelled(a.folded, b.folded);
  // An error in a digraph changes the folded spelling by more than one letter, but the spelling as written by only one.
  if (heard.similarity > ONE_EDIT || a.text.length < 3 || !isOneEdit(a.text, b.text)) return heard;
  const written = spelled(a.text, b.text);
  return written.similarity > heard.similarity ? written : heard;
}

/** Maximum similarity of words one edit apart, unless they sound the same. */
const ONE_EDIT = 0.9;

function meetConsonants(a: NamePart, b: NamePart): Meeting {
  const shorter = Math.min(a.consonants.length, b.consonants.length);
  if (shorter < 2) return NO_MEETING;
  if (a.consonants === b.consonants) return SAME_CONSONANTS[Math.min(4, shorter)] as Meeting;
  const edits = distance(a.consonants, b.consonants);
  return shorter >= 4 && edits === 1 ? { kind: 'phonetic', similarity: 0.75 } : NO_MEETING;
}

/** Weights edits by length: one letter of eight leaves 0.85, one of three 0.6; a vowel counts half. */
function spelled(a: string, b: string): Meeting {
  const longer = Math.max(a.length, b.length);
  if (a.length < 2 || b.length < 2) return NO_MEETING;
  if (longer - Math.min(a.length, b.length) > 1 + longer * 0.45) return NO_MEETING;
  const bare = distance(a, b);
  if (bare > 1 + longer * 0.45) return NO_MEETING;
  const cost = weighedEdits(a, b);
  const alike = 1 - cost / (0.72 * longer + 0.5);
  // One wrong letter in a short word may be an error: the words match, and the model decides the weight.
  const similarity = bare === 1 && longer >= 3 ? Math.max(LEAST_SIMILARITY, alike) : alike;
  return similarity < LEAST_SIMILARITY ? NO_MEETING : { kind: 'spelling', similarity };
}
