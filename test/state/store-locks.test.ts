/** Which stores are open, by the kernel's table of locks: in this process, in another one, and after that was killed. */
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { isOpenSomewhere } from '../../src/state/store-locks.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

describe.skipIf(!existsSync('/proc/locks'))('the locks of stores', () => {
  let folder: TempFolder;
  let path: string;
  beforeEach(() => {
    folder = tempFolder();
    path = join(folder.path, 'own.mdb');
  });
  afterEach(() => folder.remove());

  /** Opens the store in another process. */
  async function openElsewhere(options: object): Promise<{ kill(): Promise<void> }> {
    const library = pathToFileURL(join(projectRoot, 'node_modules/lmdb/index.js')).href;
    const script = `
      import { open } from ${JSON.stringify(library)};
      globalThis.root = open(${JSON.stringify({ path, noSubdir: true, ...options })});
      process.stdout.write('open');
      setInterval(() => {}, 60_000);
    `;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    return {
      kill: () =>
        new Promise((resolve) => {
          child.once('close', () => resolve());
          child.kill('SIGKILL');
        }),
    };
  }

  it('show a store that this process has open, until it closes it', async () => {
    const root = openEnvironment(path, { noSubdir: true });
    expect(isOpenSomewhere(path)).toBe(true);
    const again = openEnvironment(path, { noSubdir: true, readOnly: true });
    await root.close();
    expect(isOpenSomewhere(path)).toBe(true);
    await again.close();
    expect(isOpenSomewhere(path)).toBe(false);
  });

  it.each([false, true])(
    'show a store that another process has open, until it is killed (readOnly: %s)',
    async (readOnly) => {
      const root = openEnvironment(path, { noSubdir: true });
      root.putSync('a', 1);
      const other = await openElsewhere({ readOnly });
      await root.close();
      expect(isOpenSomewhere(path)).toBe(true);
      // It is still open there, so nothing was recorded.
      expect(existsSync(`${path}-sums`)).toBe(false);
      await other.kill();
      expect(isOpenSomewhere(path)).toBe(false);
      const last = openEnvironment(path, { noSubdir: true });
      last.putSync('a', 2);
      await last.close();
      expect(existsSync(`${path}-sums`)).toBe(true);
    },
  );

  it('do not tell of a store without a lock file, or behind a link', async () => {
    const root = openEnvironment(path, { noSubdir: true });
    root.putSync('a', 1);
    await root.close();
    const copy = join(folder.path, 'copy.mdb');
    copyFileSync(path, copy);
    expect(isOpenSomewhere(copy)).toBe(null);
    const link = join(folder.path, 'link.mdb');
    symlinkSync(path, link);
    copyFileSync(`${path}-lock`, `${link}-lock`);
    expect(isOpenSomewhere(link)).toBe(null);
    rmSync(`${path}-lock`);
    expect(isOpenSomewhere(path)).toBe(null);
  });
});
