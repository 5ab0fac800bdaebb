/**
 * A value that an embedded part returns at once, and a part behind a network returns later. The caller handles both, and spends no turn of
 * the event loop on the first.
 */
export type Awaitable<T> = T | Promise<T>;

/** Calls `next` with a value, in the same turn if the value is available already. An error of `next` is then thrown synchronously. */
export function whenReady<T, U>(value: Awaitable<T>, next: (value: T) => U): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
