/**
 * A process with the id of one that was killed, as in a container, where each start has the same id: files that the killed one left under its
 * id must not stop it.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { afterAll, expect, it } from 'vitest';
import { currentSnapshot, leaseCurrent } from '../../src/labels/index/folder.ts';
import { openRegisterStore } from '../../src/registers/store.ts';
import { readJson, writeJsonAtomically } from '../../src/state/atomic-file.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { tempFolder } from '../accounts/temp-folder.ts';

const folder = tempFolder();
afterAll(() => folder.remove());
/** More than this process has used. */
const NUMBERS = 1_000;

it('leases a snapshot, and leaves the leases of the other process', () => {
  const leases = join(folder.path, 'snapshots', 'snapshot-1', 'leases');
  mkdirSync(leases, { recursive: true });
  writeFileSync(join(folder.path, 'snapshots', 'CURRENT'), 'snapshot-1\n');
  const left = Array.from({ length: NUMBERS }, (_, n) => join(leases, `${process.pid}-${threadId}-${n}`));
  for (const path of left) writeFileSync(path, `${process.pid} 1`);
  const root = join(folder.path, 'snapshots');
  const leased = leaseCurrent(root);
  expect(leased?.path).toBe(currentSnapshot(root));
  expect(left).not.toContain(leased?.lease.path);
  leased?.lease.release();
  expect(left.every((path) => readFileSync(path, 'utf8') === `${process.pid} 1`)).toBe(true);
});

it('writes a file atomically, and does not touch the temporary files of the other process', () => {
  const path = join(folder.path, 'file.json');
  const left = Array.from({ length: NUMBERS }, (_, n) => `${path}.${process.pid}-${n}.tmp`);
  for (const each of left) writeFileSync(each, 'half');
  writeJsonAtomically(path, { a: 1 });
  expect(readJson(path)).toEqual({ a: 1 });
  expect(left.every((each) => existsSync(each))).toBe(true);
});

it('creates a store', async () => {
  const path = join(folder.path, 'new.mdb');
  writeFileSync(`${path}.${process.pid}-${threadId}.tmp`, 'half');
  await openEnvironment(path, {}).close();
  expect(existsSync(path)).toBe(true);
});

it.each([
  `${process.pid} 1`,
  // As earlier versions wrote it.
  String(process.pid),
])('takes over the lock of registers that says %j', async (text) => {
  const store = openRegisterStore({ dataDir: folder.path });
  mkdirSync(store.folder, { recursive: true });
  writeFileSync(join(store.folder, 'LOCK'), text);
  expect(await store.locked(async () => 'in')).toBe('in');
  expect(existsSync(join(store.folder, 'LOCK'))).toBe(false);
});
