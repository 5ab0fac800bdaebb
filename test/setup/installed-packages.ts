/** Packages for tests only, installed below node_modules/.cache from a lockfile of their own at first use. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';

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
  if (existsSync(folder)) return folder;
  const making = `${folder}.${process.pid}`;
  try {
    rmSync(making, { recursive: true, force: true });
    mkdirSync(making, { recursive: true });
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(source, file), join(making, file));
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: making,
      encoding: 'utf8',
      timeout: 600_000,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    });
    renameSync(making, folder);
    return folder;
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    if (existsSync(folder)) return folder;
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    console.warn(`Tests that need the packages of ${name} are left out: ${reason}`);
    return null;
  }
}
