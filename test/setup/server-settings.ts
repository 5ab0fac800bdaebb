/** The settings with which the image and `npm start` start a server. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';

/** Whether a variable is a setting of memory, which is not one of Assay. */
export const isMemorySetting = (name: string): boolean =>
  name.startsWith('MALLOC_') || name === 'NODE_OPTIONS';

/** Reads the settings of memory from a file. @param file `Dockerfile` or `scripts/bootstrap.mjs` */
export function memorySettings(file: string): Readonly<Record<string, string>> {
  const text = readFileSync(join(projectRoot, file), 'utf8');
  const settings = text.matchAll(/\b(MALLOC_[A-Z_]+|NODE_OPTIONS)(?:=|: ')([-\w=]+)/g);
  return Object.fromEntries([...settings].map(([, name = '', value = '']) => [name, value]));
}
