/** The folder of all state: made and tried before anything is opened in it. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AssayError, messageOf } from './errors.ts';

/** How folders of state are made: nobody else of the machine looks inside. One that is there already is left as it is. */
export const PRIVATE_FOLDER = { recursive: true, mode: 0o700 } as const;
/** The same of files, whose folder somebody else may have made. */
export const PRIVATE_FILE = 0o600;

/**
 * Makes a folder, closed to other users, and those above it, one at a time: Node's recursive form never returns below some folders of
 * /proc. Used for every folder that an operator names.
 *
 * @throws the error of the system.
 */
export function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  mkdirSync(path, { mode: PRIVATE_FOLDER.mode });
}

/** Makes the folder where it is missing. Throws INVALID_CONFIG naming `variable` where it cannot be made, read or written. */
export function ensureDataFolder(path: string, variable: string): void {
  try {
    makeFolder(path);
    if (!statSync(path).isDirectory()) throw new Error('it is not a folder');
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new AssayError('INVALID_CONFIG', `${variable}: '${path}' cannot be used: ${messageOf(cause)}.`, {
      field: variable,
      cause,
    });
  }
}
