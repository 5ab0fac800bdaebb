/** Where the keyboard continues when the button that was pressed goes away. */
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
