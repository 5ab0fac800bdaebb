/** Backups have the records of a store alone: a file also has the bytes of deleted ones, in pages and parts of pages that are unused. */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backUp, verifyBackup } from '../../src/backup/backup.ts';
import { systemClock } from '../../src/base/clock.ts';
import { openEnvironment, type RootDatabase } from '../../src/state/lmdb.ts';
import { eraseUnused } from '../../src/state/lmdb-erase.ts';

const SECRET = 'Customer 4711, marker 8b1f3c77';
/** Longer than a page, so it has pages of its own. */
const FILE = Buffer.from(`${SECRET} `.repeat(900));
/** Offset of the number of the last page in a header page. */
const LAST_PAGE_AT = 144;

let folder: string;
let dataDir: string;
let store: RootDatabase;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-deleted-'));
  dataDir = join(folder, 'store');
  mkdirSync(dataDir);
  store = openStore();
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const openStore = (): RootDatabase => openEnvironment(join(dataDir, 'cases.mdb'), { maxDbs: 4 });

/** Stores notes and files, and deletes those with the marker in a later transaction. */
async function deleteRecords(): Promise<void> {
  const notes = store.openDB<string, string>({ name: 'notes' });
  const files = store.openDB<Buffer, string>({ name: 'files', encoding: 'binary' });
  store.transactionSync(() => {
    for (let number = 0; number < 400; number++) void notes.put(`kept-${number}`, `note ${number}`);
    for (let number = 0; number < 20; number++) {
      void notes.put(`kept-${number * 20}-deleted`, SECRET);
      void files.put(`deleted-${number}`, FILE);
      void files.put(`kept-${number}`, Buffer.alloc(9_000, number));
    }
  });
  store.transactionSync(() => {
    for (let number = 0; number < 20; number++) {
      void notes.remove(`kept-${number * 20}-deleted`);
      void files.remove(`deleted-${number}`);
    }
  });
  await store.flushed;
}

const filesWithSecret = (of: string): readonly string[] =>
  readdirSync(of, { recursive: true })
    .map(String)
    .filter((name) => statSync(join(of, name)).isFile() && readFileSync(join(of, name)).includes(SECRET));

describe('a backup', () => {
  it('has no byte of deleted records, which the file of the store still has', async () => {
    await deleteRecords();
    const backup = join(folder, 'backup');
    const { files } = await backUp({ dataDir, folder: backup }, { clock: systemClock });
    expect(filesWithSecret(dataDir)).toEqual(['cases.mdb']);
    expect(filesWithSecret(backup)).toEqual([]);
    expect(files[0]?.databases?.map(({ name, entries }) => [name, entries])).toEqual([
      ['files', 20],
      ['notes', 400],
    ]);
    expect(await verifyBackup(backup)).toMatchObject({ entries: 420 });
  });

  it('is opened, written to and opened again after a restore', async () => {
    await deleteRecords();
    const backup = join(folder, 'backup');
    await backUp({ dataDir, folder: backup }, { clock: systemClock });
    await store.close();
    rmSync(dataDir, { recursive: true });
    mkdirSync(dataDir);
    copyFileSync(join(backup, 'cases.mdb'), join(dataDir, 'cases.mdb'));
    for (let round = 0; round < 3; round++) {
      store = openStore();
      const notes = store.openDB<string, string>({ name: 'notes' });
      expect(notes.getCount()).toBe(400 + round);
      expect(notes.get('kept-7')).toBe('note 7');
      notes.putSync(`later-${round}`, 'later');
      await store.close();
    }
    store = openStore();
  });

  it('has no byte of deleted records if the library refuses to compact the file', async () => {
    await deleteRecords();
    await store.close();
    const path = join(dataDir, 'cases.mdb');
    // One page more than those in use and the free ones, as after an interrupted transaction of an earlier version.
    const file = await open(path, 'r+');
    const { size } = await file.stat();
    const number = Buffer.alloc(8);
    for (const page of [0, 4096]) {
      await file.read(number, 0, 8, page + LAST_PAGE_AT);
      number.writeBigUInt64LE(number.readBigUInt64LE() + 1n);
      await file.write(number, 0, 8, page + LAST_PAGE_AT);
    }
    await file.truncate(size + 4096);
    await file.close();
    rmSync(`${path}-sums`, { force: true });
    store = openStore();
    await expect(store.backup(join(folder, 'compacted.mdb'), true)).rejects.toThrow('MDB_INCOMPATIBLE');
    const backup = join(folder, 'backup');
    await backUp({ dataDir, folder: backup }, { clock: systemClock });
    expect(filesWithSecret(dataDir)).toEqual(['cases.mdb']);
    expect(filesWithSecret(backup)).toEqual([]);
    expect(await verifyBackup(backup)).toMatchObject({ entries: 420 });
  });
});

describe('eraseUnused', () => {
  it('removes deleted records from a file and leaves the others', async () => {
    await deleteRecords();
    await store.close();
    eraseUnused(join(dataDir, 'cases.mdb'));
    rmSync(join(dataDir, 'cases.mdb-sums'), { force: true });
    expect(filesWithSecret(dataDir)).toEqual([]);
    store = openStore();
    const files = store.openDB<Buffer, string>({ name: 'files', encoding: 'binary' });
    expect(store.openDB({ name: 'notes' }).getCount()).toBe(400);
    expect(files.get('kept-19')).toEqual(Buffer.alloc(9_000, 19));
    files.putSync('new', FILE);
    expect(files.getCount()).toBe(21);
  });
});
