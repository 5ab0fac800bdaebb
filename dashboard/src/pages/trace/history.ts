/** Undo and redo: the pictures before and after. */
import { useCallback, useMemo, useState } from 'react';

/** Steps that can be undone. Pictures share what did not change, so a step of a large one is a few maps. */
const STEPS_MAX = 100;

export interface Steps<T> {
  readonly past: readonly T[];
  readonly now: T;
  readonly future: readonly T[];
}

export const firstStep = <T>(now: T): Steps<T> => ({ past: [], now, future: [] });

/** Adds a step; what was undone before is gone. */
export const nextStep = <T>({ past, now }: Steps<T>, next: T): Steps<T> => ({
  past: [...past, now].slice(-STEPS_MAX),
  now: next,
  future: [],
});

export function undoStep<T>(steps: Steps<T>): Steps<T> {
  const before = steps.past.at(-1);
  if (before === undefined) return steps;
  return { past: steps.past.slice(0, -1), now: before, future: [steps.now, ...steps.future] };
}

export function redoStep<T>(steps: Steps<T>): Steps<T> {
  const [after, ...future] = steps.future;
  if (after === undefined) return steps;
  return { past: [...steps.past, steps.now], now: after, future };
}

export interface History<T> {
  readonly now: T;
  readonly canUndo: boolean;
  readonly canRedo: boolean;
  readonly change: (next: (now: T) => T) => void;
  readonly undo: () => void;
  readonly redo: () => void;
}

/** Keeps a value with its steps. */
export function useHistory<T>(first: () => T): History<T> {
  const [steps, setSteps] = useState(() => firstStep(first()));
  const change = useCallback(
    (next: (now: T) => T) =>
      setSteps((before) => {
        const now = next(before.now);
        return now === before.now ? before : nextStep(before, now);
      }),
    [],
  );
  const undo = useCallback(() => setSteps(undoStep), []);
  const redo = useCallback(() => setSteps(redoStep), []);
  return useMemo(
    () => ({
      now: steps.now,
      canUndo: steps.past.length > 0,
      canRedo: steps.future.length > 0,
      change,
      undo,
      redo,
    }),
    [steps, change, undo, redo],
  );
}
