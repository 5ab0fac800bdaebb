/** Locations of the program's own files, the same from src/ and from dist/. */
import { existsSync } from 'node:fs';
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

export const projectRoot: string = findProjectRoot();

/** Returns the path of a file that ships in `data/`. */
export const shippedData = (...parts: string[]): string => join(projectRoot, 'data', ...parts);

/** Returns the URL of a built worker entry. Workers always run built JavaScript, even if the caller runs from source. */
export const workerUrl = (name: string): URL =>
  new URL(`file://${join(projectRoot, 'dist', 'workers', `${name}.js`)}`);
