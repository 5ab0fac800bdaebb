/** Keyboard shortcuts: components register theirs while they are shown, and the help lists them. */
import { useEffect, useRef, useSyncExternalStore } from 'react';
import type { MessageKey } from '../i18n/messages.ts';

export interface Shortcut {
  /** One key, such as `?`, or two in succession, such as `g h`. */
  readonly keys: string;
  readonly label: MessageKey;
}

interface Registered extends Shortcut {
  readonly run: () => void;
}

/** Milliseconds within which the second key of two must follow. */
const SECOND_KEY_MS = 1_000;

let registered: readonly Registered[] = [];
const listeners = new Set<() => void>();
let firstKey = '';
let firstAt = 0;

function setRegistered(next: readonly Registered[]): void {
  registered = next;
  for (const listener of listeners) listener();
}

/** Whether the person is writing: then letters are text. */
const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.matches('input, textarea, select, [role=menu] *, [role=listbox] *'));

const STORED = 'assay.shortcuts';

/** Whether keys run shortcuts. A person who dictates turns them off: words would change alerts (WCAG 2.1.4). */
export const areShortcutsOn = (): boolean => localStorage.getItem(STORED) !== 'off';

/** Turns the shortcuts on or off in this browser. */
export const setShortcutsOn = (isOn: boolean): void => localStorage.setItem(STORED, isOn ? 'on' : 'off');

/** Whether a dialog covers the page: then a key must not change what is below it. */
const isCovered = (): boolean => document.querySelector('[role=dialog], [role=alertdialog]') !== null;

/** Runs the shortcut of a pressed key. */
export function handleKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isWriting(event.target))
    return;
  // Escape is no character: it also closes what dialogs do not.
  if (isCovered() || (event.key !== 'Escape' && !areShortcutsOn())) return;
  const isSecond = firstKey !== '' && performance.now() - firstAt < SECOND_KEY_MS;
  const keys = isSecond ? `${firstKey} ${event.key}` : event.key;
  const match = registered.findLast((shortcut) => shortcut.keys === keys);
  firstKey = '';
  if (match !== undefined) {
    event.preventDefault();
    match.run();
    return;
  }
  if (!isSecond && registered.some((shortcut) => shortcut.keys.startsWith(`${event.key} `))) {
    firstKey = event.key;
    firstAt = performance.now();
  }
}

/**
 * Registers a shortcut while the component is shown. The one that was registered last has precedence.
 *
 * @param isActive - false: the shortcut does nothing at the moment, and the help does not list it
 */
export function useShortcut(keys: string, label: MessageKey, run: () => void, isActive = true): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (!isActive) return;
    const own: Registered = { keys, label, run: () => latest.current() };
    setRegistered([...registered, own]);
    return () => setRegistered(registered.filter((each) => each !== own));
  }, [keys, label, isActive]);
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Returns the shortcuts that work now. */
export const useShortcuts = (): readonly Shortcut[] => useSyncExternalStore(subscribe, () => registered);
