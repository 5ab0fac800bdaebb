import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openLiveFile } from '../../src/state/live-file.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

let folder: TempFolder;
let path: string;
beforeEach(() => {
  folder = tempFolder();
  path = join(folder.path, 'store.lmdb');
});
afterEach(() => folder.remove());

describe('a live store', () => {
  it('opens while another process makes it: its first database is there, and its version is not', async () => {
    const other = openEnvironment(path, { noSubdir: true, maxDbs: 8 });
    other.openDB({ name: 'meta', encoding: 'json' });
    await other.close();
    const store = openLiveStore(path, 3);
    expect(store.meta.get('formatVersion')).toBe(3);
    await store.root.close();
  });

  it('refuses a store that holds data and no version, and leaves it as it is', async () => {
    const other = openEnvironment(path, { noSubdir: true, maxDbs: 8 });
    await other.openDB({ name: 'meta', encoding: 'json' }).put('something', 1);
    await other.close();
    expect(() => openLiveStore(path, 3)).toThrow(expect.objectContaining({ code: 'STORE_VERSION' }));
  });

  it('is not there yet for a reader of its file while the file is empty', () => {
    writeFileSync(path, '');
    expect(openLiveFile({ path, formatVersion: 3 })).toBeNull();
  });
});
