/** Waiting for no longer than some time, for what has no limit of its own: a command to a server that may never answer. */

/** Rejects where `promise` takes longer than `ms`; what it comes to later is of no interest. `what` begins the sentence of the error. */
export async function within<T>(ms: number, promise: Promise<T>, what: string): Promise<T> {
  promise.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} did not answer within ${ms} ms.`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
