/**
 * Programs of Debian packages for tests of real nodes: the installed ones, or copies unpacked into a folder below node_modules/.cache.
 * Nothing is installed into the system, and no rights are needed if apt's lists exist.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';
import { execFileSync } from '../support/child-process.ts';
import { madeOnce } from './made-once.ts';

export interface DebianProgram {
  readonly path: string;
  /** Added to the environment of the program. */
  readonly env: Readonly<Record<string, string>>;
}

const run = (command: string, args: readonly string[], cwd?: string): string =>
  execFileSync(command, args, {
    encoding: 'utf8',
    timeout: 240_000,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });

/** Names of the packages that installing `name` would add, by apt's own dry run. */
const missingFor = (name: string): string[] =>
  [
    ...run('apt-get', ['install', '--simulate', '--no-install-recommends', name]).matchAll(/^Inst (\S+)/gm),
  ].map(([, found]) => found as string);

function unpack(name: string, into: string): void {
  let packages: string[];
  try {
    packages = missingFor(name);
  } catch {
    run('apt-get', ['update']);
    packages = missingFor(name);
  }
  run('apt-get', ['download', ...packages], into);
  for (const file of readdirSync(into).filter((each) => each.endsWith('.deb'))) {
    run('dpkg-deb', ['--extract', file, 'root'], into);
    rmSync(join(into, file));
  }
}

/** Private libraries, such as those of PulseAudio, are in a folder of their own below that of the machine. */
const LIBRARY_DEPTH = 2;

const foldersBelow = (folder: string, depth: number): string[] =>
  depth === 0
    ? []
    : readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => join(folder, entry.name))
        .flatMap((path) => [path, ...foldersBelow(path, depth - 1)]);

/**
 * Finds a program of a package by its path below /usr, such as `bin/monerod`. Returns null, with the reason on the console, if it is not
 * available.
 */
export function debianProgram(name: string, program: string): DebianProgram | null {
  const installed = join('/usr', program);
  if (existsSync(installed)) return { path: installed, env: {} };
  const folder = join(projectRoot, 'node_modules', '.cache', 'debian', name);
  try {
    madeOnce(folder, (into) => unpack(name, into));
    const root = join(folder, 'root', 'usr');
    const path = join(root, program);
    if (!existsSync(path)) throw new Error(`The package ${name} does not contain ${program}.`);
    const libraries = join(root, 'lib');
    const searched = existsSync(libraries) ? foldersBelow(libraries, LIBRARY_DEPTH) : [];
    return { path, env: { LD_LIBRARY_PATH: [libraries, ...searched].join(':') } };
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error);
    console.warn(`Tests of ${name} are left out: ${reason} (apt-get install ${name} helps)`);
    return null;
  }
}
