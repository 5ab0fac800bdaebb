/** The process of a copier: runs one task per message, and ends with its parent process. */
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';
import { sha256OfFile } from '../replication/blobs.ts';
import { syncFolder } from '../state/atomic-file.ts';
import { PRIVATE_FILE } from '../state/data-folder.ts';
import { openEnvironment } from '../state/lmdb.ts';
import { eraseUnused } from '../state/lmdb-erase.ts';
import { asStorageFull, isStorageFull } from '../state/storage.ts';
import type { CopierFailure, CopierReply, CopierResult, CopierTask } from './copier.ts';
import { type DatabaseDigest, digestDatabases } from './digests.ts';

/** Serves the parent process until the channel to it closes. */
export function runCopier(): void {
  // The parent decides when this process ends: a signal to the process group must not end it before the parent has reported the reason.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  process.on('disconnect', () => process.exit());
  process.on('message', async (task: CopierTask) => {
    let reply: CopierReply;
    try {
      reply = { ok: true, result: await work(task) };
    } catch (error) {
      // If the task only reads, the same error codes mean that the device fails.
      const failure = task.type === 'read-store' ? error : asStorageFull(error, task.to);
      reply = { ok: false, failure: failureOf(failure) };
    }
    process.send?.(reply);
  });
}

async function work(task: CopierTask): Promise<CopierResult> {
  if (task.type === 'read-store') return describe(task.file, await digestDatabases(task.file));
  if (task.type === 'copy-store') await copyEnvironment(task.from, task.to);
  else copyFileSync(task.from, task.to, constants.COPYFILE_FICLONE);
  flush(task.to);
  // An unreadable copy must fail this backup, and not the restore.
  const databases = task.type === 'copy-store' ? await digestDatabases(task.to) : [];
  return describe(task.to, databases);
}

const describe = async (file: string, databases: readonly DatabaseDigest[]): Promise<CopierResult> => ({
  bytes: statSync(file).size,
  sha256: await sha256OfFile(file),
  databases,
});

/**
 * Copies an environment with LMDB's hot copy, in one read transaction, while others may write. The copy has the referenced pages only: a
 * file also has pages of deleted records, until they are used again.
 */
async function copyEnvironment(from: string, to: string): Promise<void> {
  const environment = openEnvironment(from, { readOnly: true, noSubdir: true });
  try {
    await environment.backup(to, true).catch(async (cause: unknown) => {
      // The library refuses to compact a file if the pages in use and the free ones are not all of its pages.
      if (!messageOf(cause).includes('MDB_INCOMPATIBLE')) throw cause;
      rmSync(to, { force: true });
      await environment.backup(to, false);
      eraseUnused(to);
    });
  } catch (cause) {
    if (isStorageFull(cause)) throw asStorageFull(cause, to);
    throw new AssayError('STORE_CORRUPT', `${from} could not be copied: ${messageOf(cause)}.`, { cause });
  } finally {
    await environment.close();
  }
  rmSync(`${to}-lock`, { force: true });
  // LMDB creates the copy readable by everyone.
  chmodSync(to, PRIVATE_FILE);
}

function flush(path: string): void {
  const handle = openSync(path, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  syncFolder(dirname(path));
}

function failureOf(error: unknown): CopierFailure {
  const { syscall } = error as NodeJS.ErrnoException;
  return {
    message: messageOf(error),
    code: error instanceof AssayError ? error.code : null,
    syscall: typeof syscall === 'string' ? syscall : null,
  };
}
