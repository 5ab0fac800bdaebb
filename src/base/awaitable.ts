/** What an embedded part answers at once, and one behind a network later: whoever asks serves both, and pays no turn for the first. */
export type Awaitable<T> = T | Promise<T>;

/** Goes on with a value, in the same turn where it is there already. What `next` throws at once it throws. */
export function whenReady<T, U>(value: Awaitable<T>, next: (value: T) => U): Awaitable<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
