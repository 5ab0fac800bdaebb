/** `npm run size` runs the steps of the Dockerfile, so it must read the sources of COPY as an image builder does. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { tempFolder } from '../accounts/temp-folder.ts';

/** Plain JavaScript, because it runs before anything is built. */
const SCRIPT = pathToFileURL(join(projectRoot, 'scripts', 'supply', 'copy-sources.mjs')).href;

it('expands a pattern of files, and refuses one that no file fits', async () => {
  const { filesOf } = (await import(SCRIPT)) as { filesOf(path: string): string[] };
  const folder = tempFolder();
  try {
    for (const name of ['main.cjs', 'loader.cjs', 'main.1dbazs.compiled'])
      writeFileSync(join(folder.path, name), '');
    expect(filesOf(join(folder.path, '*.cjs')).sort()).toEqual(
      ['loader.cjs', 'main.cjs'].map((name) => join(folder.path, name)),
    );
    expect(filesOf(join(folder.path, 'loader.cjs'))).toEqual([join(folder.path, 'loader.cjs')]);
    expect(() => filesOf(join(folder.path, '*.mjs'))).toThrow(/^COPY: no file fits /);
  } finally {
    folder.remove();
  }
});
