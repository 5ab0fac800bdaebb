/** `npm start` on a machine that has only Node and npm: what it asks npm for. */
import { chmodSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { spawnSync } from '../support/child-process.ts';

it.skipIf(process.platform === 'win32')('installs the compiler also under NODE_ENV=production', () => {
  const folder = tempFolder();
  try {
    cpSync(join(projectRoot, 'scripts'), join(folder.path, 'scripts'), { recursive: true });
    const npm = join(folder.path, 'npm');
    writeFileSync(npm, `#!/bin/sh\necho "$@" > "${join(folder.path, 'asked')}"\nexit 1\n`);
    chmodSync(npm, 0o755);
    spawnSync(process.execPath, [join(folder.path, 'scripts', 'bootstrap.mjs'), 'start'], {
      env: {
        ...process.env,
        NODE_ENV: 'production',
        PATH: `${folder.path}${delimiter}${process.env.PATH}`,
      },
    });
    expect(readFileSync(join(folder.path, 'asked'), 'utf8')).toMatch(/^ci --include=dev /);
  } finally {
    folder.remove();
  }
});
