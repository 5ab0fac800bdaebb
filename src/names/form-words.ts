/** Finds legal forms among the words of a name, also with a typo. */

import { isOneEdit } from './edits.ts';
import { formWord, type LatinWord } from './transliterate.ts';
import type { Vocabulary } from './vocabulary.ts';

/** Returns the legal form that begins with a word, and the number of its words; null if none does. */
export function formAt(
  words: readonly LatinWord[],
  at: number,
  vocab: Vocabulary,
): { kind: string; words: number } | null {
  let phrase = '';
  let found: { kind: string; words: number } | null = null;
  const most = Math.min(vocab.longestForm, words.length - at);
  for (let count = 1; count <= most; count++) {
    phrase += (count === 1 ? '' : ' ') + formWord(words[at + count - 1] as LatinWord);
    const kind = vocab.forms.get(phrase);
    // A single word of two letters is a legal form only at either end: elsewhere it is part of a person's name.
    if (kind && (phrase.length > 2 || at === 0 || at + count === words.length))
      found = { kind, words: count };
    if (!vocab.formStarts.has(phrase)) break;
  }
  const slipped = slippedFormAt(words, at, vocab);
  if (slipped !== null && slipped.words > (found?.words ?? 0)) return slipped;
  // At the beginning, two letters are a legal form only in Cyrillic and Indonesian names.
  if (found && phrase.length > 0 && at === 0) {
    const first = formWord(words[at] as LatinWord);
    if (found.words === 1 && first.length === 2 && !LEADING_FORMS.has(first)) return null;
  }
  return found;
}

/**
 * Finds a legal form of several words with one wrong letter in one of them, or a long one-word form with a wrong letter at the end
 * of the name.
 */
function slippedFormAt(
  words: readonly LatinWord[],
  at: number,
  vocab: Vocabulary,
): { kind: string; words: number } | null {
  const text = formWord(words[at] as LatinWord);
  if (at + 1 === words.length) {
    const first = text.charCodeAt(0);
    const last = text.charCodeAt(text.length - 1);
    for (let length = text.length - 1; length <= text.length + 1; length++) {
      const forms = vocab.longForms.get(length);
      if (forms === undefined) continue;
      for (const { form, kind } of forms) {
        // One edit leaves the first or the last letter as it is.
        const isNear = form.charCodeAt(0) === first || form.charCodeAt(form.length - 1) === last;
        if (isNear && isOneEdit(text, form)) return { kind, words: 1 };
      }
    }
    return null;
  }
  const next = formWord(words[at + 1] as LatinWord);
  const third = words[at + 2];
  const afterNext = third === undefined ? '' : formWord(third);
  if (!vocab.formWords.has(text) && !vocab.formWords.has(next) && !vocab.formWords.has(afterNext))
    return null;
  const most = Math.min(vocab.longestForm, words.length - at);
  for (let count = most; count >= 2; count--) {
    for (let wrong = 0; wrong < count; wrong++) {
      const found = vocab.formsWithout.get(withGap(words, at, count, wrong));
      const word = formWord(words[at + wrong] as LatinWord);
      const form = found?.find((each) => isOneEdit(each.word, word));
      if (form) return { kind: form.kind, words: count };
    }
  }
  return null;
}

function withGap(words: readonly LatinWord[], at: number, count: number, gap: number): string {
  let phrase = '';
  for (let word = 0; word < count; word++) {
    if (word > 0) phrase += ' ';
    if (word !== gap) phrase += formWord(words[at + word] as LatinWord);
  }
  return phrase;
}

const LEADING_FORMS: ReadonlySet<string> = new Set(['ao', 'pt', 'ad', 'at', 'ag']);
