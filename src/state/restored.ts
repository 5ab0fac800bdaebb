/**
 * A data folder that was restored from a backup: the manifest is still in it. The state is that of the backup, so changes since are undone,
 * and the operator has to do some of them again.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readJson } from './atomic-file.ts';
import { BACKUP_MANIFEST } from './data-folder.ts';

export interface Restored {
  /** The file that the operator deletes after the steps that follow a restore. */
  readonly manifest: string;
  /** ISO time of the backup; null if the manifest cannot be read. */
  readonly takenAt: string | null;
}

/** Returns null if the folder is not that of a restored backup, or if the operator has confirmed that its steps are done. */
export function restoredFrom(dataDir: string): Restored | null {
  const manifest = join(dataDir, BACKUP_MANIFEST);
  if (!existsSync(manifest)) return null;
  try {
    const { takenAt } = readJson(manifest) as { readonly takenAt?: unknown };
    return { manifest, takenAt: typeof takenAt === 'string' ? takenAt : null };
  } catch {
    return { manifest, takenAt: null };
  }
}

/** Says what a restore has undone, in two sentences. */
export const undoneBy = ({ takenAt }: Restored): string =>
  `The data folder was restored from a backup${takenAt === null ? '' : ` of ${takenAt}`}, and what was stored later is lost. ` +
  'API keys that were revoked, people and sessions that were removed, and passwords that were changed since are valid again, ' +
  'and the transparency log lacks the entries since.';

/** Says what the operator does about it. */
export const AFTER_RESTORE = `Do the steps after a restore (docs/OPERATIONS.md), then delete ${BACKUP_MANIFEST} in the data folder.`;
