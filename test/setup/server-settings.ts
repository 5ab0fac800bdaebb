/** The settings with which the image and `npm start` start a server. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';

/** Reads the allocator's settings from a file. @param file `Dockerfile` or `scripts/bootstrap.mjs` */
export function allocatorSettings(file: string): Readonly<Record<string, string>> {
  const text = readFileSync(join(projectRoot, file), 'utf8');
  const settings = text.matchAll(/\b(MALLOC_[A-Z_]+)(?:=|: ')(\d+)/g);
  return Object.fromEntries([...settings].map(([, name = '', value = '']) => [name, value]));
}
