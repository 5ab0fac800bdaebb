/** The data folder, which holds all state. It is created and checked before anything in it is opened. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';

/** Options for folders that hold state: other users of the machine have no access. A folder that exists already keeps its mode. */
export const PRIVATE_FOLDER = { recursive: true, mode: 0o700 } as const;
/** Mode of files that hold state, in case another program created their folder. */
export const PRIVATE_FILE = 0o600;

/** Name of the manifest of a backup: written last, and a part of each restored folder. */
export const BACKUP_MANIFEST = 'BACKUP.json';

/** File of the data folder with the first API key, if the first start could not show it. It is not part of a backup. */
export const FIRST_KEY_FILE = 'first-api-key';

/**
 * File of the data folder with the name of the jobs folder. Backups leave it out, because an installation that is restored elsewhere may
 * have another jobs folder.
 */
export const JOBS_FOLDER_FILE = 'jobs-folder';

/**
 * Creates a folder with access for the owner only, and its missing parents, one at a time: Node's recursive form never returns below some
 * folders of /proc. Used for every folder that an operator names.
 *
 * @throws the error of the operating system.
 */
export function makeFolder(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  mkdirSync(path, { mode: PRIVATE_FOLDER.mode });
}

/**
 * Creates the folder if it is missing.
 *
 * @param variable - name of the setting that holds the path, for the error message.
 * @throws INVALID_CONFIG if the folder cannot be created, read or written.
 */
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
