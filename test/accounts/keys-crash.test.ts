/** A process that is killed at the moment at which a change of its keys is answered: the change is there. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { KeyStore } from '../../src/accounts/keys.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { systemRandom } from '../../src/base/random.ts';
import { spawnSync } from '../support/child-process.ts';
import { type TempFolder, tempFolder } from './temp-folder.ts';

const BUILT = join(projectRoot, 'dist', 'src');

let folder: TempFolder;
let path: string;
beforeEach(() => {
  folder = tempFolder();
  path = join(folder.path, 'keys.mdb');
});
afterEach(() => folder.remove());

/** Runs calls of the store `keys` in a process that is killed as soon as they are answered, and returns what they printed. */
function killedAfter(calls: string): string {
  const script = `
    import { writeSync } from 'node:fs';
    import { openKeyStore } from '${BUILT}/accounts/keys-lmdb.js';
    import { systemClock } from '${BUILT}/base/clock.js';
    import { silentLogger } from '${BUILT}/base/log.js';
    import { systemRandom } from '${BUILT}/base/random.js';
    const keys = openKeyStore({ path: ${JSON.stringify(path)} },
      { clock: systemClock, random: systemRandom, log: silentLogger });
    ${calls}
    process.kill(process.pid, 'SIGKILL');
  `;
  const { signal, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  expect([signal, stderr]).toEqual(['SIGKILL', '']);
  return stdout;
}

async function reopened<T>(look: (keys: KeyStore) => T): Promise<T> {
  const keys = openKeyStore({ path }, { clock: systemClock, random: systemRandom, log: silentLogger });
  const found = look(keys);
  await keys.close();
  return found;
}

it('keeps a key whose creation was answered, and its revocation', async () => {
  const apiKey = killedAfter("writeSync(1, (await keys.create({ name: 'k' })).apiKey);");
  const id = await reopened((keys) => keys.verify(apiKey)?.id ?? '');
  expect(id).not.toBe('');
  killedAfter(`await keys.revoke(${JSON.stringify(id)});`);
  expect(await reopened((keys) => keys.verify(apiKey))).toBe(null);
});
