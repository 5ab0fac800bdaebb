/** Groups values that are ready at the same time, so that a consumer can process them together without waiting for more. */
import { setImmediate } from 'node:timers/promises';

/**
 * Yields the values of `source` in groups: a value that was waited for, and those behind it that are ready, up to `limit`. The source is
 * asked for one value beyond a group that is not full.
 *
 * @param limit returns the most values of the next group, at least 1
 * @throws what the source throws, after the values before
 */
export async function* readyGroups<T>(source: AsyncIterable<T>, limit: () => number): AsyncGenerator<T[]> {
  const iterator = source[Symbol.asyncIterator]();
  let pending: Promise<IteratorResult<T>> | null = null;
  const ask = (): Promise<IteratorResult<T>> => {
    const asked = iterator.next();
    // The error is thrown where the value is taken.
    asked.catch(() => {});
    return asked;
  };
  try {
    for (;;) {
      const first = await (pending ?? ask());
      pending = null;
      if (first.done === true) return;
      const group = [first.value];
      for (const most = limit(); group.length < most; ) {
        pending ??= ask();
        const ready = await Promise.race([pending.catch(() => null), setImmediate(null)]);
        if (ready === null || ready.done === true) break;
        group.push(ready.value);
        pending = null;
      }
      yield group;
    }
  } finally {
    const end = iterator.return?.();
    // A generator ends behind the value that it is waiting for, which may never come.
    if (pending === null) await end;
    else end?.catch(() => {});
  }
}
