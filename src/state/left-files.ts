/** Removes temporary files that killed processes have left below a folder of state. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';

/** Names of temporary files with the id of their process: of atomic writes, checksums, locks and new stores. */
const LEFT = /\.\d+-\d+(?:-\d+)?\.tmp$/;
/** A process that lives writes such a file in milliseconds; on a full or slow disk, in minutes. */
const AGE_MS = 24 * 3_600_000;
/** Folders below the folder of state that have such files: `labels/datasets` is the deepest. */
const DEPTH = 3;

/**
 * Removes the temporary files that are older than a day. A failure is logged: the next start tries again.
 *
 * @returns the number of removed files
 */
export async function removeLeftFiles(
  folder: string,
  { nowMs, log }: { readonly nowMs: number; readonly log: Logger },
): Promise<number> {
  let removed = 0;
  async function look(below: string, depth: number): Promise<void> {
    for (const entry of await readdir(below, { withFileTypes: true })) {
      const path = join(below, entry.name);
      if (entry.isDirectory() && depth < DEPTH) await look(path, depth + 1);
      if (!entry.isFile() || !LEFT.test(entry.name)) continue;
      if (nowMs - (await stat(path)).mtimeMs < AGE_MS) continue;
      await rm(path, { force: true });
      removed++;
    }
  }
  try {
    await look(folder, 1);
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'temporary files not removed');
  }
  if (removed > 0) log.info({ files: removed }, 'temporary files of earlier processes removed');
  return removed;
}
