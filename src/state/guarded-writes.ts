/**
 * Guards the writes of an LMDB environment in one place: a failed commit throws or rejects with its real cause, as STORAGE_FULL if the disk
 * refused it, and no unhandled promise of the library ends the process.
 */
import { asStorageFull, isStorageFull, noteRefused, noteWritten } from './storage.ts';

/** Error code of a transaction in which an earlier write failed; its commit reports this code without the cause. */
const MDB_BAD_TXN = -30782;

type WriteMethod = (this: unknown, ...parameters: unknown[]) => unknown;

/** The writing methods of the library's class. The library creates one class per environment, for the root and all its databases. */
interface Methods {
  put: WriteMethod;
  remove: WriteMethod;
  transactionAsync: WriteMethod;
  transactionSync: WriteMethod;
  readonly flushed: PromiseLike<unknown>;
}

/** A promise of the library; `isSync` is set if it is settled already. */
type Settling = Promise<unknown> & { readonly isSync?: boolean };

/** Environments of this thread whose asynchronous writes are in progress, by path. */
const writing = new Map<string, Set<object>>();

/**
 * Fails if this thread has the environment at `path` open elsewhere and writes to it there. A synchronous transaction, or an open, would wait
 * for those writes, which wait for this thread: it would stop for ever.
 *
 * @param own - the environment that is about to write; null for one that is about to be opened
 * @throws Error that names the path
 */
export function requireSoleWriter(path: string, own: object | null): void {
  for (const other of writing.get(path) ?? [])
    if (other !== own) throw new Error(`${path} is written by this thread, which has opened it twice.`);
}

/**
 * Replaces the writing methods of the environment at `path`.
 *
 * @param root - The library's root database.
 *
 * lmdb-js rejects a failed commit with a general error, and a promise `commitError` of the real one; the process ends if that
 * promise is not handled. Its `flushed` never settles after a failed commit.
 */
export function guardWrites(root: object, path: string): void {
  const methods = Object.getPrototypeOf(root) as Methods;
  const { put, remove, transactionAsync, transactionSync } = methods;
  /** The error of a write inside the running transaction. */
  let inside: unknown = null;
  /** The error of the last commit; null if it succeeded. */
  let failure: unknown = null;
  const waiting = new Set<(error: unknown) => void>();
  let inProgress = 0;

  function begun(): void {
    if (inProgress++ > 0) return;
    const writers = writing.get(path) ?? new Set();
    writing.set(path, writers.add(methods));
  }

  function ended(): void {
    if (--inProgress > 0) return;
    const writers = writing.get(path);
    writers?.delete(methods);
    if (writers?.size === 0) writing.delete(path);
  }

  function refused(cause: unknown): unknown {
    const isBad = cause instanceof Error && 'code' in cause && cause.code === MDB_BAD_TXN;
    const error = asStorageFull(isBad && inside !== null ? inside : cause, path);
    if (!isStorageFull(error)) return error;
    noteRefused(path, error);
    return error;
  }

  function failed(cause: unknown): unknown {
    const error = refused(cause);
    failure = error;
    for (const tell of waiting) tell(error);
    return error;
  }

  function written(): void {
    failure = null;
    inside = null;
    noteWritten(path);
  }

  /** Returns the real error of a rejected commit. */
  async function causeOf(error: unknown): Promise<unknown> {
    const pending = error instanceof Error && 'commitError' in error ? error.commitError : null;
    if (!(pending instanceof Promise)) return null;
    // The promise rejects in the same turn, or never.
    const late = new Promise<null>((resolve) => setImmediate(() => resolve(null)));
    const cause = await Promise.race([
      pending.then(
        () => null,
        (found: unknown) => found,
      ),
      late,
    ]);
    return cause ?? error;
  }

  /** Many writes of one turn share one promise of the library. */
  const guarded = new WeakMap<Promise<unknown>, Promise<unknown>>();

  function settled(promise: Settling): Promise<unknown> {
    if (promise.isSync === true) return promise;
    const known = guarded.get(promise);
    if (known !== undefined) return known;
    begun();
    const guard = promise.then(
      (value) => {
        ended();
        written();
        return value;
      },
      async (error: unknown) => {
        ended();
        const cause = await causeOf(error);
        // Without a cause, the callback of the transaction threw: its other writes may have been committed.
        throw cause === null ? refused(error) : failed(cause);
      },
    );
    // A caller that waits only for `flushed` gets the error there.
    guard.catch(() => {});
    guarded.set(promise, guard);
    return guard;
  }

  const later = (write: WriteMethod): WriteMethod =>
    function guardedWrite(...parameters) {
      try {
        const result = write.apply(this, parameters);
        return result instanceof Promise ? settled(result) : result;
      } catch (error) {
        const refusal = refused(error);
        if (isStorageFull(refusal)) inside = refusal;
        throw refusal;
      }
    };

  methods.put = later(put);
  methods.remove = later(remove);
  methods.transactionAsync = later(transactionAsync);
  methods.transactionSync = function guardedTransaction(...parameters) {
    requireSoleWriter(path, methods);
    try {
      const result = transactionSync.apply(this, parameters);
      if (!(result instanceof Promise)) written();
      return result;
    } catch (error) {
      throw refused(error);
    }
  };

  const { flushed } = methods;
  Object.defineProperty(methods, 'flushed', {
    value: {
      // biome-ignore lint/suspicious/noThenProperty: the library's own form, which is awaited
      then(resolve?: (value: unknown) => unknown, reject?: (error: unknown) => unknown) {
        const error = failure;
        if (error !== null) return Promise.reject(error).then(resolve, reject);
        const done = new Promise((finish, refuse) => {
          waiting.add(refuse);
          const settle =
            (end: (value: unknown) => void) =>
            (value: unknown): void => {
              waiting.delete(refuse);
              end(value);
            };
          void flushed.then(settle(finish), settle(refuse));
        });
        return done.then(resolve, reject);
      },
    },
  });
}
