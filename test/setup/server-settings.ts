/** The settings under which a server is started by the image and by `npm start`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';

/** Reads the allocator's settings that a file names. @param file `Dockerfile` or `scripts/bootstrap.mjs` */
export function allocatorSettings(file: string): Readonly<Record<string, string>> {
  const text = readFileSync(join(projectRoot, file), 'utf8');
  const settings = text.matchAll(/\b(MALLOC_[A-Z_]+)(?:=|: ')(\d+)/g);
  return Object.fromEntries([...settings].map(([, name = '', value = '']) => [name, value]));
}
