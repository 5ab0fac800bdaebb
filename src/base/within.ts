/** A timeout for operations without one of their own, such as a command to a server that may never reply. */

/**
 * Rejects if `promise` takes longer than `ms` milliseconds; its later result is ignored.
 *
 * @param what - begins the error message, for example 'Redis'
 */
export async function within<T>(ms: number, promise: Promise<T>, what: string): Promise<T> {
  promise.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not respond within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
