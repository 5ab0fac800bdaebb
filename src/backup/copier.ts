/**
 * Copies and reads store files in a separate process. LMDB's copy and its walks cannot be interrupted, and reading a damaged file can end
 * the process that reads it. The separate process can be ended at any time, and its unexpected end is reported as an error.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { AssayError, type ErrorCode } from '../base/errors.ts';
import { workerUrl } from '../base/paths.ts';
import type { DatabaseDigest } from './digests.ts';

/** One request to the process. */
export type CopierTask =
  /** An LMDB environment, by LMDB's hot copy. */
  | { readonly type: 'copy-store'; readonly from: string; readonly to: string }
  | { readonly type: 'copy-file'; readonly from: string; readonly to: string }
  | { readonly type: 'read-store'; readonly file: string };

/** The file that was written or read. */
export interface CopierResult {
  readonly bytes: number;
  readonly sha256: string;
  /** Digests of the databases of an environment; empty for any other file. */
  readonly databases: readonly DatabaseDigest[];
}

/** An error as data, with fields that would be lost between processes. */
export interface CopierFailure {
  readonly message: string;
  /** Code of an AssayError; null for any other error. */
  readonly code: ErrorCode | null;
  /** The system call that failed; null if none did. */
  readonly syscall: string | null;
}

export type CopierReply =
  | { readonly ok: true; readonly result: CopierResult }
  | { readonly ok: false; readonly failure: CopierFailure };

export interface Copier {
  /**
   * Runs a task. Tasks must not overlap.
   *
   * @throws the error of the task; STORE_CORRUPT naming the file if the process ended while reading it; the reason of the aborted signal.
   */
  run(task: CopierTask): Promise<CopierResult>;
  /** Ends the process. */
  close(): void;
}

/**
 * Opens a copier. Its process starts with the first task, and again after a task that ended it.
 *
 * @param signal - if aborted, ends the process at once.
 */
export function openCopier(signal?: AbortSignal): Copier {
  let child: ChildProcess | null = null;

  function start(): ChildProcess {
    const started = fork(fileURLToPath(workerUrl('copier')), [], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [],
    });
    // Without a task, the child process does not keep this one alive.
    started.unref();
    started.channel?.unref();
    return started;
  }

  const end = (): void => {
    child?.kill('SIGKILL');
    child = null;
  };

  return {
    async run(task) {
      signal?.throwIfAborted();
      child ??= start();
      const process = child;
      process.ref();
      process.channel?.ref();
      const ended = new AbortController();
      try {
        const reply = await new Promise<CopierReply>((resolve, reject) => {
          const onMessage = (message: unknown): void => resolve(message as CopierReply);
          const onExit = (code: number | null, killedBy: NodeJS.Signals | null): void => {
            child = null;
            reject(endOf(task, code, killedBy));
          };
          process.once('message', onMessage).once('error', reject).once('exit', onExit);
          ended.signal.addEventListener('abort', () => {
            process.off('message', onMessage).off('error', reject).off('exit', onExit);
          });
          const interrupt = (): void => {
            reject(signal?.reason);
            end();
          };
          signal?.addEventListener('abort', interrupt, { once: true, signal: ended.signal });
          process.send(task);
        });
        if (!reply.ok) throw errorFrom(reply.failure);
        return reply.result;
      } finally {
        ended.abort();
        process.unref();
        process.channel?.unref();
      }
    },
    close: end,
  };
}

function endOf(task: CopierTask, code: number | null, signal: NodeJS.Signals | null): AssayError {
  const file = task.type === 'read-store' ? task.file : task.from;
  return new AssayError(
    'STORE_CORRUPT',
    `${file}: the process that read it ended (${signal ?? `code ${code}`}).`,
  );
}

function errorFrom({ message, code, syscall }: CopierFailure): Error {
  if (code !== null) return new AssayError(code, message);
  return syscall === null ? new Error(message) : Object.assign(new Error(message), { syscall });
}
