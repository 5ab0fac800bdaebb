/**
 * Texts that a person is typing, kept in memory of the tab: over a change of the page, and over the end of the session, which comes after
 * twelve hours and may come in the middle of a note. A logout removes them, and so does the login of somebody else.
 */
import { useState } from 'react';

const drafts = new Map<string, string>();
let author: string | null = null;

/** Sets the person who is logged in; null after a logout. Drafts of another person are removed. */
export function setAuthor(person: string | null): void {
  if (person !== author) drafts.clear();
  author = person;
}

/** Returns the draft of a place; empty if there is none. */
export const draftOf = (place: string): string => drafts.get(place) ?? '';

/** Keeps the draft of a place; an empty text removes it. */
export function keepDraft(place: string, text: string): void {
  if (text === '') drafts.delete(place);
  else drafts.set(place, text);
}

/**
 * The draft of a place, and the function that changes it.
 *
 * @param place - what the text is about, such as `case 12`; the same for the whole life of the component
 */
export function useDraft(place: string): readonly [text: string, change: (text: string) => void] {
  const [text, setText] = useState(() => draftOf(place));
  const change = (next: string): void => {
    keepDraft(place, next);
    setText(next);
  };
  return [text, change];
}
