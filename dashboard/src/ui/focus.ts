/** Where the keyboard continues when what had the focus goes away. */
import { useEffect, useRef } from 'react';

/**
 * Moves the focus to the content when a new answer is asked for, if the button for that went away with the old one.
 *
 * @param isPending - whether there is no answer yet
 */
export function useFocusWhileAsking(isPending: boolean): void {
  const wasPending = useRef(isPending);
  useEffect(() => {
    if (isPending && !wasPending.current && document.activeElement === document.body)
      document.getElementById('content')?.focus({ preventScroll: true });
    wasPending.current = isPending;
  }, [isPending]);
}

/** Parts of a page in which the keyboard can continue. */
const PARTS = '[role=dialog], [role=group], section, aside, main';
/** A dialog that closes gives the focus back to its button within this time. */
const HANDOVER_MS = 100;

/** Moves the focus to the part of the page around an element that had it and was removed, such as the row of a person who was removed. */
export function keepFocusInPart(): void {
  let last: Element | null = null;
  let parts: readonly HTMLElement[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const isLost = (): boolean => last?.isConnected === false && document.activeElement === document.body;
  document.addEventListener('focusin', ({ target }) => {
    last = target as Element;
    const around: HTMLElement[] = [];
    for (let part = last.closest<HTMLElement>(PARTS); part !== null; ) {
      around.push(part);
      part = part.parentElement?.closest<HTMLElement>(PARTS) ?? null;
    }
    parts = around;
  });
  new MutationObserver(() => {
    if (!isLost()) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!isLost()) return;
      // The page behind an open dialog cannot be used.
      const part =
        parts.find(({ isConnected }) => isConnected) ??
        document.querySelector<HTMLElement>('[role=dialog]') ??
        document.getElementById('content');
      if (part?.hasAttribute('tabindex') === false) part.tabIndex = -1;
      part?.focus({ preventScroll: true });
    }, HANDOVER_MS);
  }).observe(document.body, { childList: true, subtree: true });
}
