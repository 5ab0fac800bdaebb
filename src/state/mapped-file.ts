/** Opens an index that was written once and is only read: one LMDB file, whose values are views of its mapped memory. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';
import { openEnvironment, type RootDatabase } from './lmdb.ts';
import { withOpeningLock } from './opening-lock.ts';

/**
 * Opens `file` under its folder's opening lock and passes it to `read`. If `read` throws, the environment is closed.
 * @param file - the LMDB file; the caller has checked that it is complete.
 * @param name - description of the file, to begin an error with: 'The label snapshot'.
 * @param mapBytes - the size of the mapping.
 * @throws STORE_CORRUPT if the file cannot be opened; STORE_BUSY if the lock cannot be taken; errors of `read`.
 */
export function openMappedFile<T>(
  file: string,
  name: string,
  mapBytes: number,
  read: (environment: RootDatabase) => T,
): T {
  return withOpeningLock(dirname(file), () => {
    // Opening an empty file for reading ends the whole process inside the library.
    if (statSync(file, { throwIfNoEntry: false })?.size === 0)
      throw new AssayError('STORE_CORRUPT', `${name} ${file} cannot be opened: it is empty.`);
    let environment: RootDatabase;
    try {
      environment = openEnvironment(file, {
        encoding: 'binary',
        keyEncoding: 'binary',
        readOnly: true,
        mapSize: mapBytes,
      });
    } catch (cause) {
      if (cause instanceof AssayError) throw cause;
      throw new AssayError('STORE_CORRUPT', `${name} ${file} cannot be opened: ${messageOf(cause)}`, {
        cause,
      });
    }
    try {
      return read(environment);
    } catch (error) {
      void environment.close();
      throw error;
    }
  });
}
