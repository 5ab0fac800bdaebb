/** Services that are opened at their first use, and closed in reverse order. */

export interface OpenedOnce {
  /** Returns a function that opens the service at its first call, returns the same instance afterwards, and registers it to be closed. */
  once<T>(open: () => T, close: (part: T) => Promise<void> | void): () => T;
  /** Closes every service, even if one fails; rejects with the first error. */
  closeAll(): Promise<void>;
}

/** Runs the steps in order, each even if another fails; then rejects with the first error. */
export async function endEach(steps: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Creates an empty set of services. */
export function createOpenedOnce(): OpenedOnce {
  const closers: (() => Promise<void> | void)[] = [];
  return {
    once(open, close) {
      let part: { readonly value: ReturnType<typeof open> } | null = null;
      return () => {
        if (part === null) {
          const value = open();
          part = { value };
          closers.push(() => close(value));
        }
        return part.value;
      };
    },
    closeAll: () => endEach(closers.splice(0).reverse()),
  };
}
