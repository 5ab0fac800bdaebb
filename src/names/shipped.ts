/** Reads the data files that ship with the product. */
import { readFileSync } from 'node:fs';
import { AssayError, messageOf } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';

/**
 * Reads a JSON file of `data/`.
 *
 * @throws STORE_CORRUPT if it cannot be read.
 */
export function readShipped<T>(...parts: string[]): T {
  const path = shippedData(...parts);
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch (cause) {
    throw new AssayError('STORE_CORRUPT', `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
