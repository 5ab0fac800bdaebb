/**
 * Logs the changes of a state that several parts share, for example all stores of a node when Redis is away. The first part that enters the
 * state and the last part that leaves it write a log line; the others write none.
 */
export interface StateLog {
  /** Calls `say` if no part was in this state. */
  enter(state: string, part: string, say: () => void): void;
  /** Calls `say` if the part was the last in this state. */
  leave(state: string, part: string, say: () => void): void;
}

/** Creates a state log without active states. */
export function createStateLog(): StateLog {
  const parts = new Map<string, Set<string>>();
  return {
    enter(state, part, say) {
      const there = parts.get(state) ?? new Set();
      parts.set(state, there);
      if (there.size === 0) say();
      there.add(part);
    },
    leave(state, part, say) {
      const there = parts.get(state);
      if (there?.delete(part) && there.size === 0) say();
    },
  };
}
