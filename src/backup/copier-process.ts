/** The process of a copier: takes one task a message, and ends with the process that started it. */
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
import { syncFolder } from '../base/atomic-file.ts';
import { PRIVATE_FILE } from '../base/data-folder.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { openEnvironment } from '../base/lmdb.ts';
import { asStorageFull, isStorageFull } from '../base/storage.ts';
import { sha256OfFile } from '../travel/blobs.ts';
import type { CopierFailure, CopierReply, CopierResult, CopierTask } from './copier.ts';
import { type DatabaseDigest, digestDatabases } from './digests.ts';

/** Serves the process that forked this one until the channel to it closes. */
export function runCopier(): void {
  // The parent decides when this process ends: a signal to the group of both must not end it before the parent has said why.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  process.on('disconnect', () => process.exit());
  process.on('message', async (task: CopierTask) => {
    let reply: CopierReply;
    try {
      reply = { ok: true, result: await work(task) };
    } catch (error) {
      // Of a file that is only read, the same errors say that its device fails.
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
  // A copy that cannot be read is an error of this backup, and not of the day on which it is needed.
  const databases = task.type === 'copy-store' ? await digestDatabases(task.to) : [];
  return describe(task.to, databases);
}

const describe = async (file: string, databases: readonly DatabaseDigest[]): Promise<CopierResult> => ({
  bytes: statSync(file).size,
  sha256: await sha256OfFile(file),
  databases,
});

/** LMDB's hot copy: one read transaction, whatever is written meanwhile. */
async function copyEnvironment(from: string, to: string): Promise<void> {
  const environment = openEnvironment(from, { readOnly: true, noSubdir: true });
  try {
    await environment.backup(to, false);
  } catch (cause) {
    if (isStorageFull(cause)) throw asStorageFull(cause, to);
    throw new AssayError('STORE_CORRUPT', `${from} could not be copied: ${messageOf(cause)}.`, { cause });
  } finally {
    await environment.close();
  }
  rmSync(`${to}-lock`, { force: true });
  // LMDB's own copy is everybody's to read.
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
