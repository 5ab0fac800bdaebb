/**
 * Scroll positions on the way back. The router restores them as soon as a page is rendered, but the rows of most lists arrive later. So
 * they are restored while the content grows, until the person does something.
 */
import type { router as appRouter } from '../router.tsx';

/** Name of a part that scrolls by itself, in the document. The router keeps its position by the same name. */
const PART = 'data-scroll-restoration-id';
/** After this time, a person has begun to read at the top. */
const PATIENCE_MS = 15_000;
/** What a person does first. */
const ACTIONS = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;
/** Entries of the history that are kept. */
const ENTRIES_MAX = 100;

/** Positions of the document (an empty name) and of its parts, in pixels. */
type Positions = ReadonlyMap<string, number>;

function scrollable(): readonly (readonly [name: string, element: Element])[] {
  const parts = [...document.querySelectorAll(`[${PART}]`)];
  return [
    ['', document.documentElement],
    ...parts.map((part) => [part.getAttribute(PART) ?? '', part] as const),
  ];
}

/** Restores positions as soon as the content is long enough. Returns a function that ends it. */
function restore(positions: Positions): () => void {
  const missing = new Map(positions);
  const attempt = (): void => {
    for (const [name, element] of scrollable()) {
      const position = missing.get(name);
      if (position === undefined || element.scrollHeight - element.clientHeight < position) continue;
      missing.delete(name);
      element.scrollTop = position;
    }
    if (missing.size === 0) stop();
  };
  const observer = new MutationObserver(attempt);
  const stop = (): void => {
    clearTimeout(timer);
    observer.disconnect();
    for (const action of ACTIONS) removeEventListener(action, stop, true);
  };
  const timer = setTimeout(stop, PATIENCE_MS);
  for (const action of ACTIONS) addEventListener(action, stop, true);
  observer.observe(document.body, { childList: true, subtree: true, attributes: true });
  attempt();
  return stop;
}

/** Keeps the positions of the entries of the history, and restores them on the way back to an entry. */
export function keepScroll(router: typeof appRouter): void {
  const kept = new Map<string, Positions>();
  let stop = (): void => {};
  router.subscribe('onBeforeLoad', ({ fromLocation, pathChanged }) => {
    stop();
    const key = fromLocation?.state.__TSR_key;
    if (key === undefined || !pathChanged) return;
    const [oldest] = kept.keys();
    if (kept.size >= ENTRIES_MAX && oldest !== undefined) kept.delete(oldest);
    const positions = scrollable().map(([name, element]) => [name, element.scrollTop] as const);
    kept.set(key, new Map(positions.filter(([, position]) => position > 0)));
  });
  router.subscribe('onRendered', ({ toLocation, pathChanged }) => {
    const positions = kept.get(toLocation.state.__TSR_key ?? '');
    if (positions !== undefined && pathChanged) stop = restore(positions);
  });
}
