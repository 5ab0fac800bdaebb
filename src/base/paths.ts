/** Locations of the program's own files, the same from src/ and from dist/. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

function findProjectRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error('package.json of Assay not found above its own source files.');
    folder = parent;
  }
  return folder;
}

/** Folder of the program, with its package.json. */
export const projectRoot: string = findProjectRoot();

/** Returns the path of a file that ships in `data/`. */
export const shippedData = (...parts: string[]): string => join(projectRoot, 'data', ...parts);

/** Folder of the built guide: scripts/guide writes it, and the server sends its files. */
export const builtGuide: string = join(projectRoot, 'dist', 'guide');

/** Folder of the built dashboard: dashboard/build.mjs writes it, and the server sends its files. */
export const builtDashboard: string = join(projectRoot, 'dist', 'dashboard');

/** Folder of the WebAssembly kernels: scripts/kernels writes it. */
export const builtKernels: string = join(projectRoot, 'dist', 'kernels');

/** Whether this module is a part of the joined program (scripts/joined), whose commands and threads are joined, too. */
const isJoined = dirname(fileURLToPath(import.meta.url)) === join(projectRoot, 'dist', 'joined');

/** The program, for commands that it starts. They always run built JavaScript, even if the caller runs from source. */
export const programFile: string = join(projectRoot, 'dist', isJoined ? 'joined/main.cjs' : 'src/main.js');

/** Returns the URL of a built worker entry. Workers always run built JavaScript, even if the caller runs from source. */
export const workerUrl = (name: string): URL =>
  new URL(
    `file://${join(projectRoot, 'dist', isJoined ? `joined/workers/${name}.cjs` : `workers/${name}.js`)}`,
  );

/**
 * Reads a Redis script. The scripts are `.lua` files in src/, next to the module that runs them; they are not compiled to dist/, so they
 * ship in src/.
 *
 * @param parts - path below src/, without `.lua`
 */
export const luaScript = (...parts: string[]): string =>
  readFileSync(`${join(projectRoot, 'src', ...parts)}.lua`, 'utf8');
