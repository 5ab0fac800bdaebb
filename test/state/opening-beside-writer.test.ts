/**
 * A store that other processes open while one writes to it. As lmdb is published, each open sets back the number of the last transaction,
 * and the writer overwrites commits (docs/decisions/lmdb-open.md): of 6,000 commits, 2 to 17 were lost beside two processes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';

/** In memory: on a disk, each of them waits for a flush. */
const COMMITS = 6_000;

let folder: TempFolder;
beforeEach(() => {
  folder = memoryFolder();
});
afterEach(() => folder.remove());

it('keeps every commit of the writer', async () => {
  const path = `${folder.path}/store.mdb`;
  const options = JSON.stringify({ path, noSubdir: true, overlappingSync: false });
  const first = openEnvironment(path, { overlappingSync: false });
  await first.put('first', 0);
  const program = (body: string) =>
    spawn(
      process.execPath,
      ['--input-type=module', '-e', `import { open } from 'lmdb'; const options = ${options}; ${body}`],
      { cwd: projectRoot, stdio: ['pipe', 'inherit', 'inherit'] },
    );
  const opener = `let ends = false; process.stdin.on('data', () => { ends = true; });
    while (!ends) { const store = open({ ...options, readOnly: true }); store.get('first'); await store.close(); await new Promise(setImmediate); }
    process.exit();`;
  const openers = [program(opener), program(opener)];
  const writer = program(
    `const store = open(options); for (let i = 0; i < ${COMMITS}; i++) store.putSync('commit ' + i, i); await store.close();`,
  );
  const [code] = await once(writer, 'exit');
  for (const one of openers) one.stdin?.write('end');
  await Promise.all(openers.map((one) => once(one, 'exit')));
  first.resetReadTxn();
  const lost = Array.from({ length: COMMITS }, (_, i) => i).filter((i) => first.get(`commit ${i}`) !== i);
  await first.close();
  expect([code, lost]).toEqual([0, []]);
});
