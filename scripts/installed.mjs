/** Whether the packages of a lockfile are installed. Plain JavaScript, because it runs before anything is installed. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns true if `node_modules` of a folder contains exactly the packages of its lockfile, according to npm's own record.
 *
 * @param folder - has package-lock.json
 */
export function isInstalled(folder) {
  const record = join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages;
  const locked = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  return Object.entries(locked).every(([path, { version, optional }]) => {
    if (path === '') return true;
    // npm does not install binaries of other platforms.
    if (installed[path] === undefined) return optional === true;
    return installed[path].version === version;
  });
}
