/** The labels and names that ship, as the first start of a server builds them: most tests begin after that. */
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { projectRoot } from '../../src/base/paths.ts';

/** Where `bundle.ts` keeps them. */
export const PREPARED: string = join(projectRoot, 'dist', 'bundled', 'prepared');

/** What exists once they are built. */
export const BUILT_AT_FIRST_START = [
  'labels/built.json',
  'names/index/CURRENT',
  'snapshots/CURRENT',
] as const;

const FOLDERS = ['labels', 'names', 'snapshots'] as const;

/**
 * Copies them to a folder of state that has none of them. A server over it starts as it does after a first start; it still creates its keys,
 * accounts and everything else. If shipped data changed since, it imports the change.
 */
export function prepareFolder(store: string): void {
  const isThere = (name: string): boolean => existsSync(join(store, name));
  if (FOLDERS.some(isThere) || !existsSync(PREPARED)) return;
  mkdirSync(dirname(store), { recursive: true });
  mkdirSync(store, { recursive: true, mode: 0o700 });
  for (const name of FOLDERS) cpSync(join(PREPARED, name), join(store, name), { recursive: true });
}

/** Returns true for the files of a folder of state that copies keep: locks and leases are those of the processes that ran. */
export const isKeptInCopies = (path: string): boolean =>
  !path.endsWith('-lock') && !path.includes('/leases/');
