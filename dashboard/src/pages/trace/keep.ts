/** The state that a trace keeps in the tab: notes over a reload, and a file on its way to its page. */
import { readTab, removeTab, whenTabCleared, writeTab } from '../../api/tab-storage.ts';
import type { Picture } from './picture.ts';

const placeOf = ({ chain, start }: Picture): string => `notes.${chain}.${start}`;

/** Keeps the notes of a picture. They never leave the browser, except in a file. */
export function keepNotes(picture: Picture): void {
  const place = placeOf(picture);
  if (picture.notes.size === 0) removeTab(place);
  else writeTab(place, JSON.stringify([...picture.notes]));
}

/** Returns the notes that the tab has of the address. */
export function keptNotes(picture: Picture): ReadonlyMap<string, string> {
  const parsed: unknown = JSON.parse(readTab(placeOf(picture)) ?? '[]');
  const pairs = Array.isArray(parsed) ? parsed : [];
  return new Map(pairs.filter((pair): pair is [string, string] => Array.isArray(pair) && pair.length === 2));
}

/** A file may be larger than the storage of a tab. */
let imported: Picture | null = null;
whenTabCleared(() => {
  imported = null;
});

/** Keeps the picture of a file while its page is opened. */
export function keepImported(picture: Picture): void {
  imported = picture;
}

/** Returns the picture of the file, if it is that of the address. */
export const takeImported = (chain: string, address: string): Picture | null =>
  imported?.chain === chain && imported.start === address ? imported : null;

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select');

/** Reads the usual keys of undo and redo; in a field, they are those of the field. */
export function isUndo(event: KeyboardEvent): 'undo' | 'redo' | null {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || isWriting(event.target)) return null;
  const key = event.key.toLowerCase();
  if (key === 'y' || (key === 'z' && event.shiftKey)) return 'redo';
  return key === 'z' ? 'undo' : null;
}
