/** Parts that are opened when first asked for, and closed in the opposite order. */

export interface OpenedOnce {
  /** Who opens a part at its first call, gives the same one at every other, and remembers to close it. */
  once<T>(open: () => T, close: (part: T) => Promise<void> | void): () => T;
  /** Closes each though another one fails; rejects with what the first of them threw. */
  closeAll(): Promise<void>;
}

/** Takes the steps in their order, each though another one fails; then rejects with what the first of them threw. */
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
