/** The keys under which a word is found again: itself, its sound, its consonants, its group, and itself with a letter missing. */
import type { NamePart } from '../parse.ts';

/** A shorter skeleton is shared by too many words to say anything. */
const SKELETON_LEAST = 3;
const DELETION_LEAST = 3;
const CONSONANTS_LEAST = 2;

/** Two words within one edit of each other's folded spelling share a key; so do words of one sound, group or skeleton. */
export function keysOf(part: NamePart): string[] {
  if (part.kind === 'number') return [`=${part.text}`];
  if (part.kind === 'initial' || part.kind === 'form') return [];
  const keys = [`:${part.folded}`];
  if (part.skeleton.length >= SKELETON_LEAST) {
    keys.push(`~${part.skeleton}`);
    // One consonant more or less, with any vowels: what two edits of a long word leave alike.
    if (part.skeleton.length > SKELETON_LEAST + 1) {
      for (const shorter of without(part.skeleton)) keys.push(`~${shorter}`);
    }
  }
  if (part.consonants.length >= CONSONANTS_LEAST && part.script !== 'syllabic')
    keys.push(`'${part.consonants}`);
  if (part.folded.length >= DELETION_LEAST)
    for (const shorter of without(part.folded)) keys.push(`:${shorter}`);
  // A slip inside a digraph parts what is heard by more than a letter: the letters as written are one edit apart still.
  if (part.text !== part.folded && part.script === 'latin') {
    keys.push(`:${part.text}`);
    if (part.text.length >= DELETION_LEAST)
      for (const shorter of without(part.text)) keys.push(`:${shorter}`);
  }
  for (const group of part.groups) keys.push(`#${group}`);
  return [...new Set(keys)];
}

function without(text: string): string[] {
  const shorter: string[] = [];
  for (let at = 0; at < text.length; at++) {
    if (at > 0 && text[at] === text[at - 1]) continue;
    shorter.push(text.slice(0, at) + text.slice(at + 1));
  }
  return shorter;
}

/**
 * The key of the whole name: names that are identical but for their legal forms share it, and no word is too common or too light to be
 * found by it.
 */
export const wholeKey = (parts: readonly NamePart[]): string =>
  parts.reduce((key, part) => `${key} ${sameThing(part)}`, '=');

const sameThing = ({ kind, script, text, groups }: NamePart): string =>
  kind === 'descriptive' && groups.length > 0 ? `#${groups[0]}` : `${kind} ${script} ${text}`;

const JOIN_LETTERS_MIN = 4;

/** Neighbours written as one: two of them anywhere, three and four too, and the whole of a short name. */
export function joinsOf(parts: readonly NamePart[], most: number): string[] {
  const joined = new Set<string>();
  for (let at = 0; at < parts.length; at++) {
    let text = (parts[at] as NamePart).folded;
    for (let count = 2; count <= most && at + count <= parts.length; count++) {
      text += (parts[at + count - 1] as NamePart).folded;
      // Three initials are a name; two letters are a part of many.
      if (text.length >= JOIN_LETTERS_MIN || (text.length === count && count === 3)) joined.add(text);
    }
  }
  return [...joined];
}
