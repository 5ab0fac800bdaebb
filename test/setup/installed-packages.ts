/** Packages for tests only, installed below node_modules/.cache from a lockfile of their own at first use. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';
import { execFileSync } from '../support/child-process.ts';
import { madeOnce } from './made-once.ts';

/**
 * Returns the folder with the packages of a lockfile, installed once and without running their scripts. Returns null, with the reason on
 * the console, if they are not available.
 *
 * @param name name of the folder in the cache
 * @param source folder of `package.json` and `package-lock.json`; default: test/setup/<name>
 */
export function installedPackages(
  name: string,
  source = join(projectRoot, 'test', 'setup', name),
): string | null {
  const folder = join(projectRoot, 'node_modules', '.cache', name);
  try {
    madeOnce(folder, (into) => {
      for (const file of ['package.json', 'package-lock.json']) cpSync(join(source, file), join(into, file));
      execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: into,
        encoding: 'utf8',
        timeout: 600_000,
        stdio: ['ignore', 'pipe', 'pipe'],
        shell: process.platform === 'win32',
      });
    });
    return folder;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    console.warn(`Tests that need the packages of ${name} are left out: ${reason}`);
    return null;
  }
}
