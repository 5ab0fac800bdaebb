/**
 * Texts that a person is typing, kept in memory of the tab: over a change of the page, and over the end of the session, which comes after
 * twelve hours and may come in the middle of a note. A logout removes them, and so does the login of somebody else.
 */
import { useSyncExternalStore } from 'react';

const drafts = new Map<string, string>();
const listeners = new Set<() => void>();
let author: string | null = null;

/** Sets the person who is logged in; null after a logout. Drafts of another person are removed. */
export function setAuthor(person: string | null): void {
  const isAnother = person !== author;
  author = person;
  if (!isAnother) return;
  drafts.clear();
  notify();
}

function notify(): void {
  for (const listener of listeners) listener();
}

/** Returns the draft of a place; empty if there is none. */
export const draftOf = (place: string): string => drafts.get(place) ?? '';

/** Keeps the draft of a place; an empty text removes it. */
export function keepDraft(place: string, text: string): void {
  if (text === '') drafts.delete(place);
  else drafts.set(place, text);
  notify();
}

/** Removes a draft that was sent, unless the person has gone on writing since. Also for a form that is not shown any more. */
export function endDraft(place: string, sent: string): void {
  if (draftOf(place) === sent) keepDraft(place, '');
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/**
 * The draft of a place, and the function that changes it. All forms of a place show the same text.
 *
 * @param place - what the text is about, such as `case 12`
 */
export function useDraft(place: string): readonly [text: string, change: (text: string) => void] {
  const text = useSyncExternalStore(subscribe, () => draftOf(place));
  return [text, (next) => keepDraft(place, next)];
}
