/**
 * Receives the input of a job: writes the bytes to disk as they arrive, and plans the chunks at the same time. An upload needs two
 * buffers of memory.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { AssayError } from '../../base/errors.ts';
import { asStorageFull, isStorageFull } from '../../state/storage.ts';
import type { JobFormat, JobKind } from '../bulk-jobs.ts';
import { JOB_LIMITS } from '../limits.ts';
import { columnsOf } from './lines.ts';
import { type Plan, Planner } from './plan.ts';

const BUFFER_BYTES = 1024 * 1024;
/** Number of bytes between two checks of the free disk space. */
const LOOK_BYTES = 64 * 1024 * 1024;

export interface ReceivedInput {
  readonly plan: Plan;
  readonly bytes: number;
  /** Number of lines without the header. */
  readonly items: number;
  readonly columns: readonly string[] | null;
  readonly headBytes: number;
}

export interface InputFile {
  readonly bytes: number;
  /**
   * Writes bytes. If it fails, the file is closed.
   *
   * @throws (or rejects with) BODY_TOO_LARGE; INVALID_REQUEST; OVERLOADED or STORAGE_FULL if the disk has too little space
   */
  write(bytes: Uint8Array): Promise<void> | undefined;
  /**
   * Makes all bytes durable.
   *
   * @throws INVALID_REQUEST if the input has no lines
   */
  finish(): Promise<ReceivedInput>;
  close(): Promise<void>;
}

export interface InputOptions {
  readonly path: string;
  readonly kind: JobKind;
  readonly format: JobFormat;
}

export interface InputDeps {
  /** Rejects with OVERLOADED if the disk has too little space. */
  readonly checkRoom: () => Promise<void>;
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

/** Creates the input file of a job. */
export async function openInput(options: InputOptions, deps: InputDeps): Promise<InputFile> {
  const { path, kind, format } = options;
  const file = await open(path, 'wx+');
  const planner = new Planner(kind);
  let filling = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let spare = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  let used = 0;
  let position = 0;
  let writing: Promise<void> = Promise.resolve();
  let failure: unknown = null;
  let lookAt = LOOK_BYTES;

  /** Starts to write the full buffer, and continues with the other one when it is free. */
  async function turn(): Promise<void> {
    await writing;
    if (failure !== null) throw failure;
    const full = filling.subarray(0, used);
    writing = writeAll(file, full, position).catch((error: unknown) => {
      failure = isStorageFull(error)
        ? asStorageFull(error, path)
        : new AssayError('OVERLOADED', 'The input of the job cannot be stored at the moment.', {
            retryAfterSeconds: 60,
            cause: error,
          });
    });
    position += used;
    used = 0;
    [filling, spare] = [spare, filling];
    if (position < lookAt) return;
    lookAt += LOOK_BYTES;
    await deps.checkRoom();
  }

  async function spill(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (used === BUFFER_BYTES) await turn();
      const size = Math.min(BUFFER_BYTES - used, bytes.length - at);
      filling.set(bytes.subarray(at, at + size), used);
      used += size;
      at += size;
    }
  }

  /** Reads the header line: its columns and its size in bytes. */
  async function head(): Promise<{ columns: readonly string[] | null; headBytes: number }> {
    if (format !== 'csv') return { columns: null, headBytes: 0 };
    const first = Buffer.alloc(JOB_LIMITS.jobLineBytesMax + 1);
    const { bytesRead } = await file.read(first, 0, first.length, 0);
    const lineEnd = first.indexOf(0x0a);
    const size = lineEnd < 0 ? bytesRead : lineEnd + 1;
    const columns = columnsOf(first.toString('utf8', 0, size).replace(/^\uFEFF/, ''));
    return { columns, headBytes: columns === null ? 0 : size };
  }

  return {
    get bytes() {
      return planner.bytes;
    },
    write(bytes) {
      if (planner.bytes + bytes.length > JOB_LIMITS.jobBytesMax)
        throw new AssayError('BODY_TOO_LARGE', `The body has more than ${JOB_LIMITS.jobBytesMax} bytes.`, {
          field: 'body',
        });
      planner.take(bytes);
      if (used + bytes.length > BUFFER_BYTES) return spill(bytes);
      filling.set(bytes, used);
      used += bytes.length;
      return undefined;
    },
    async finish() {
      if (used > 0) await turn();
      await writing;
      if (failure !== null) throw failure;
      await file.datasync();
      const plan = planner.finish();
      const { columns, headBytes } = await head();
      const items = plan.lines - (headBytes > 0 ? 1 : 0);
      if (items === 0)
        throw new AssayError('INVALID_REQUEST', 'body: contains no lines to process.', { field: 'body' });
      return { plan, bytes: planner.bytes, items, columns, headBytes };
    },
    async close() {
      await writing;
      await file.close();
    },
  };
}
