/** Sources of COPY in the Dockerfile. Plain JavaScript, like the script that reads them. */
import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/**
 * Returns the files that a source names: itself, or those that fit if its last part has a `*`.
 *
 * @param path - absolute
 * @throws Error if nothing fits, as COPY does
 */
export function filesOf(path) {
  const name = basename(path);
  if (!name.includes('*')) return [path];
  const [before, after] = name.split('*');
  const fitting = readdirSync(dirname(path)).filter(
    (one) => one.length >= before.length + after.length && one.startsWith(before) && one.endsWith(after),
  );
  if (fitting.length === 0) throw new Error(`COPY: no file fits ${path}.`);
  return fitting.map((one) => join(dirname(path), one));
}
