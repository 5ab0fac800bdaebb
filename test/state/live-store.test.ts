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
  it('opens while another process creates it and has not written the version yet', async () => {
    const other = openEnvironment(path, { noSubdir: true, maxDbs: 8 });
    other.openDB({ name: 'meta', encoding: 'json' });
    await other.close();
    const store = openLiveStore(path, 3);
    expect(store.meta.get('formatVersion')).toBe(3);
    await store.root.close();
  });

  it('rejects a store with data and no version, and does not change it', async () => {
    const other = openEnvironment(path, { noSubdir: true, maxDbs: 8 });
    await other.openDB({ name: 'meta', encoding: 'json' }).put('something', 1);
    await other.close();
    expect(() => openLiveStore(path, 3)).toThrow(expect.objectContaining({ code: 'STORE_VERSION' }));
  });

  it('does not exist for a reader while its file is empty', () => {
    writeFileSync(path, '');
    expect(openLiveFile({ path, formatVersion: 3 })).toBeNull();
  });
});
