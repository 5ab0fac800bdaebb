/** Parts that are opened when first asked for, and closed in the opposite order. */

export interface OpenedOnce {
  /** Who opens a part at its first call, gives the same one at every other, and remembers to close it. */
  once<T>(open: () => T, close: (part: T) => Promise<void> | void): () => T;
  /** Closes each though another one fails; rejects with what the first of them threw. */
  closeAll(): Promise<void>;
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
    async closeAll() {
      const failures: unknown[] = [];
      for (const close of closers.splice(0).reverse()) {
        try {
          await close();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
