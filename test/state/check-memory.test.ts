/** Checking a store must not raise memory by the size of the store. */
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { spawnSync } from '../support/child-process.ts';

const folder = tempFolder();
afterAll(() => folder.remove());

const VALUE_BYTES = 64 * 1024;
const VALUES = 900;

/** The check runs in a process of its own, so that earlier allocations do not count. */
const CHECK = `
import { processMemory } from ${JSON.stringify(join(projectRoot, 'dist/src/base/process-memory.js'))};
import { verifyFile } from ${JSON.stringify(join(projectRoot, 'dist/src/state/sound-file.js'))};
const before = processMemory().ownBytes;
const { bytes } = verifyFile(process.argv[1]);
console.log(JSON.stringify({ bytes, grown: processMemory().ownBytes - before }));
`;

/** Checks a closed file, and returns its size and by how many bytes the memory of the process grew. */
function check(path: string): { bytes: number; grown: number } {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', CHECK, path], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

it.skipIf(process.platform !== 'linux')('gives the memory of a check back at once', async () => {
  const path = join(folder.path, 'large.mdb');
  const root = openEnvironment(path, { encoding: 'binary' });
  await root.transaction(() => {
    for (let key = 0; key < VALUES; key++) void root.put(key, Buffer.alloc(VALUE_BYTES, key));
  });
  await root.close();
  const { bytes, grown } = check(path);
  expect(bytes).toBeGreaterThan(VALUES * VALUE_BYTES);
  expect(grown).toBeLessThan(bytes / 2);
});

it.skipIf(process.platform !== 'linux')(
  'reads a value that is larger than small files in parts',
  async () => {
    const path = join(folder.path, 'one.mdb');
    const root = openEnvironment(path, { encoding: 'binary', noSync: true });
    const valueBytes = 280 * 2 ** 20;
    root.putSync('value', Buffer.alloc(valueBytes, 7));
    await root.close();
    const { bytes, grown } = check(path);
    expect(bytes).toBeGreaterThan(valueBytes);
    expect(grown).toBeLessThan(bytes / 8);
  },
);
