/** Opens an index that was written once and is only read: one LMDB file, whose values are views of its mapped memory. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';
import { openEnvironment, type RootDatabase } from './lmdb.ts';
import { withOpeningLock } from './opening-lock.ts';

/**
 * Files are mapped with multiples of this size. lmdb-js keeps the memory of its views by the address at which a file is mapped, with its size,
 * also after the file is closed: a larger file at the same address has a view that is too short. Files of few sizes seldom meet this. One
 * size for all would never, but V8 counts a mapping as memory of its own, and collects the whole heap at once if it is larger than half of
 * the heap's limit (2 GB on most machines).
 */
const MAP_UNIT_BYTES = 256 * 1024 ** 2;
/** Added to the size for another attempt, so that the file is mapped at another address: files begin at multiples of it. */
const ATTEMPT_BYTES = 2 * 1024 ** 2;
/** In a test with random files of seven sizes, one in twenty needed a second attempt, and none more than three. */
const ATTEMPTS_MAX = 20;

/**
 * Opens `file` under its folder's opening lock and passes it to `read`. If `read` throws, the environment is closed.
 * @param file - the LMDB file; the caller has checked that it is complete.
 * @param name - description of the file, to begin an error with: 'The label snapshot'.
 * @param read - reads the views of the file; it is called again if the address of the mapping is not usable
 * @throws STORE_CORRUPT if the file cannot be opened; STORE_BUSY if the lock cannot be taken; errors of `read`.
 */
export function openMappedFile<T>(file: string, name: string, read: (environment: RootDatabase) => T): T {
  return withOpeningLock(dirname(file), () => {
    const bytes = statSync(file, { throwIfNoEntry: false })?.size;
    // Opening an empty file for reading ends the whole process inside the library.
    if (bytes === 0) throw new AssayError('STORE_CORRUPT', `${name} ${file} cannot be opened: it is empty.`);
    const mapBytes = Math.ceil((bytes ?? 1) / MAP_UNIT_BYTES) * MAP_UNIT_BYTES;
    for (let attempt = 0; ; attempt++) {
      const environment = openMapping(file, name, mapBytes + attempt * ATTEMPT_BYTES);
      try {
        return read(environment);
      } catch (error) {
        void environment.close();
        const isTooShort = error instanceof RangeError;
        if (!isTooShort || attempt === ATTEMPTS_MAX) throw error;
      }
    }
  });
}

function openMapping(file: string, name: string, mapSize: number): RootDatabase {
  try {
    return openEnvironment(file, {
      encoding: 'binary',
      keyEncoding: 'binary',
      readOnly: true,
      mapSize,
    });
  } catch (cause) {
    if (cause instanceof AssayError) throw cause;
    throw new AssayError('STORE_CORRUPT', `${name} ${file} cannot be opened: ${messageOf(cause)}`, {
      cause,
    });
  }
}
