/** The one importer of lmdb: opens environments the way every store of this program needs them. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Database, type Key, open, type RootDatabase, type RootDatabaseOptionsWithPath } from 'lmdb';

export type { Database, Key, RootDatabase };

/** Opens (and makes, unless read-only) an environment at `path`, a file. */
export function openEnvironment(
  path: string,
  options: Omit<RootDatabaseOptionsWithPath, 'path'>,
): RootDatabase {
  if (!options.readOnly) mkdirSync(dirname(path), { recursive: true });
  return open({ ...options, path });
}
