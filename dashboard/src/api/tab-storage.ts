/** The state that the dashboard keeps in the tab over a reload. It belongs to the person who is logged in, so it is cleared with the session. */

const PREFIX = 'assay.';
/** Texts that the storage has no room for (5 MB in most browsers). They last until the page is loaded again. */
const tooLarge = new Map<string, string>();
const listeners: (() => void)[] = [];

/** Returns a text; null if missing. */
export const readTab = (name: string): string | null =>
  tooLarge.get(name) ?? sessionStorage.getItem(PREFIX + name);

/** Removes a text. */
export function removeTab(name: string): void {
  tooLarge.delete(name);
  sessionStorage.removeItem(PREFIX + name);
}

/** Keeps a text. */
export function writeTab(name: string, text: string): void {
  removeTab(name);
  try {
    sessionStorage.setItem(PREFIX + name, text);
  } catch {
    // The storage is full.
    tooLarge.set(name, text);
  }
}

/** Calls a listener whenever the tab is cleared: for what a module keeps in memory. */
export function whenTabCleared(listener: () => void): void {
  listeners.push(listener);
}

/** Removes everything that was kept, so that the next person in this tab finds nothing. */
export function clearTab(): void {
  tooLarge.clear();
  const keys = Array.from({ length: sessionStorage.length }, (_, at) => sessionStorage.key(at) ?? '');
  for (const key of keys) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
  for (const listener of listeners) listener();
}
