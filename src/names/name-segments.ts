/** Segments of names that are written without spaces, which may be several words of another script. */
import { makePart, type NamePart } from './name-parts.ts';
import type { Vocabulary } from './vocabulary.ts';
import { WORD_MAX, type Written } from './written-words.ts';

export interface NameSegment {
  /** Position of the first character in `parts`. */
  readonly at: number;
  readonly count: number;
  readonly part: NamePart;
}

/** Marks a segment of a name with a middle dot, which separates the parts of a foreign name. */
const FOREIGN_MARK = '·';

/** Returns the runs of characters of a name that may be the words of another script; none if the name has no such run. */
export function segmentsOf(
  parts: readonly NamePart[],
  source: readonly (Written | null)[],
  isForeign: boolean,
  vocab: Vocabulary,
): readonly NameSegment[] {
  let segments: NameSegment[] | null = null;
  for (let at = 0; at < parts.length; ) {
    const word = source[at]?.word;
    let end = at + 1;
    while (end < parts.length && source[end]?.word === word && (parts[end] as NamePart).script === 'syllabic')
      end++;
    if (end - at >= 2 && end - at <= SEGMENT_MAX && (parts[at] as NamePart).script === 'syllabic') {
      const run = parts.slice(at, end);
      const origin = (isForeign ? FOREIGN_MARK : '') + run.map((part) => part.origin).join('');
      const text = run
        .map((part) => part.text)
        .join('')
        .slice(0, WORD_MAX);
      segments ??= [];
      segments.push({ at, count: end - at, part: makePart(text, 'segment', 'syllabic', vocab, origin) });
    }
    at = end;
  }
  return segments ?? NO_SEGMENTS;
}

/** Returns the positions of stored segments: each is the run of parts whose letters it joins. */
export function placeSegments(
  parts: readonly NamePart[],
  stored: readonly NamePart[],
): readonly NameSegment[] {
  const segments: NameSegment[] = [];
  let from = 0;
  for (const part of stored) {
    const origin = part.origin.startsWith(FOREIGN_MARK) ? part.origin.slice(1) : part.origin;
    for (let at = from; at < parts.length; at++) {
      let end = at;
      let text = '';
      while (end < parts.length && text.length < origin.length) text += (parts[end++] as NamePart).origin;
      if (text !== origin) continue;
      segments.push({ at, count: end - at, part });
      from = end;
      break;
    }
  }
  return segments;
}

/** Longer runs of characters are the names of organisations. */
const SEGMENT_MAX = 8;
export const NO_SEGMENTS: readonly NameSegment[] = [];
