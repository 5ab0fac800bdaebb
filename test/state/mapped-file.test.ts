/** An index that was written once: what is refused when it is opened, and what is closed when reading fails. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { openMappedFile } from '../../src/state/mapped-file.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => folder.remove());

const errorOf = (file: string, read: () => unknown = () => 'read'): AssayError => {
  try {
    openMappedFile(file, 'The index', read);
  } catch (error) {
    return error as AssayError;
  }
  throw new Error('nothing was refused');
};

it('is refused if it is missing or empty, by the name of the index', () => {
  const missing = errorOf(join(folder.path, 'missing.mdb'));
  const empty = join(folder.path, 'empty.mdb');
  writeFileSync(empty, '');
  for (const error of [missing, errorOf(empty)]) {
    expect(error).toBeInstanceOf(AssayError);
    expect(error.code).toBe('STORE_CORRUPT');
    expect(error.message).toMatch(/^The index .*\.mdb cannot be opened: /);
  }
});

it('is refused with the finding of the check of stores if it is damaged', () => {
  for (const content of [Buffer.alloc(100, 1), Buffer.alloc(65_536, 7), Buffer.alloc(65_536)]) {
    const file = join(folder.path, `damaged${content.length}-${content[0]}.mdb`);
    writeFileSync(file, content);
    const { code, message } = errorOf(file);
    expect([code, message.startsWith(`${file} is damaged: `)]).toEqual(['STORE_CORRUPT', true]);
  }
});

it('passes on what its reader throws', async () => {
  const file = join(folder.path, 'index.mdb');
  const written = openEnvironment(file, { encoding: 'binary', keyEncoding: 'binary' });
  await written.put(Buffer.from('a'), Buffer.from('b'));
  await written.close();
  const error = errorOf(file, () => {
    throw new AssayError('STORE_VERSION', 'of another version');
  });
  expect(error.code).toBe('STORE_VERSION');
  expect(openMappedFile(file, 'The index', (environment) => environment.get(Buffer.from('a')))).toEqual(
    Buffer.from('b'),
  );
});

it('is mapped again with another size if the address of the mapping had a smaller file', async () => {
  const file = join(folder.path, 'index.mdb');
  const written = openEnvironment(file, { encoding: 'binary', keyEncoding: 'binary' });
  await written.put(Buffer.from('a'), Buffer.from('b'));
  await written.close();
  const sizes: number[] = [];
  const value = openMappedFile(file, 'The index', (environment) => {
    sizes.push((environment.getStats() as { readonly mapSize: number }).mapSize);
    // What the view of a file beyond the remembered end throws.
    if (sizes.length < 3) return new Uint8Array(new ArrayBuffer(8), 4, 8);
    return environment.get(Buffer.from('a'));
  });
  expect(value).toEqual(Buffer.from('b'));
  expect(new Set(sizes).size).toBe(3);
});

it('passes on a RangeError that every address has', async () => {
  const file = join(folder.path, 'index.mdb');
  const written = openEnvironment(file, { encoding: 'binary', keyEncoding: 'binary' });
  await written.put(Buffer.from('a'), Buffer.from('b'));
  await written.close();
  expect(() =>
    openMappedFile(file, 'The index', () => {
      throw new RangeError('Invalid typed array length: 8');
    }),
  ).toThrow(RangeError);
});
