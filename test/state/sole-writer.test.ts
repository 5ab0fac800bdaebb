/** A store that one thread has open twice. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

let folder: TempFolder;
let path: string;
beforeEach(() => {
  folder = tempFolder();
  path = join(folder.path, 'own.mdb');
});
afterEach(() => folder.remove());

it('is refused where it would wait for itself: while one of the two writes without waiting', async () => {
  const first = openEnvironment(path, {});
  const second = openEnvironment(path, {});
  const write = first.transaction(() => {
    first.putSync('a', 1);
    // The library ends the first transaction only when this thread returns.
    expect(() => second.transactionSync(() => {})).toThrow(`${path} is written by this thread`);
    expect(() => openEnvironment(path, {})).toThrow(`${path} is written by this thread`);
    return first.transactionSync(() => first.get('a'));
  });
  expect(() => second.transactionSync(() => {})).toThrow(`${path} is written by this thread`);
  expect(await write).toBe(1);
  second.transactionSync(() => second.putSync('a', 2));
  await openEnvironment(path, {}).close();
  const refused = first.transaction(() => {
    throw new Error('no');
  });
  await expect(refused).rejects.toThrow('no');
  second.transactionSync(() => second.putSync('a', 3));
  const reader = openEnvironment(path, { readOnly: true });
  expect(reader.get('a')).toBe(3);
  for (const each of [reader, second, first]) await each.close();
});
