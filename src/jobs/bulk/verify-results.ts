/** The check of the results of bulk jobs: each file of answers is compared with the checksum that its chunk was recorded with. */
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { openLiveFile } from '../../base/live-file.ts';
import { replicaPath } from '../../base/replicated-store.ts';
import { type ChunkRecord, FORMAT_VERSION } from './job-store.ts';
import { jobPlaces } from './places.ts';

export interface JobFiles {
  /** File of the records, of a machine that is alone. */
  readonly storePath: string;
  /** Folder of the jobs' files. */
  readonly folder: string;
  /** Whether the records are those of a Redis, of which this machine has a replica. */
  readonly isShared: boolean;
}

type ChunkKey = [jobId: string, chunk: number];

const READ_BYTES = 1024 * 1024;

/** @returns null if there is no such file. */
async function checksumOfFile(path: string): Promise<{ bytes: number; sum: number } | null> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return null;
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  try {
    for (let bytes = 0, sum = 0; ; ) {
      const { bytesRead } = await file.read(buffer, 0, READ_BYTES, bytes);
      if (bytesRead === 0) return { bytes, sum };
      sum = crc32(buffer.subarray(0, bytesRead), sum);
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}

/**
 * Reads every file of answers. Results of workers of an earlier version have a size alone.
 *
 * @returns one sentence for each file that is missing, or not what was written. A job that is deleted meanwhile is left out.
 * @throws STORE_VERSION, STORE_CORRUPT of the records; the signal's reason.
 */
export async function faultsOfResults(
  { storePath, folder, isShared }: JobFiles,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const path = isShared ? replicaPath(storePath, FORMAT_VERSION, 'jobs') : storePath;
  const file = openLiveFile({ path, formatVersion: FORMAT_VERSION });
  if (file === null) return [];
  const places = jobPlaces(folder);
  const faults: string[] = [];
  try {
    const chunks = file.open<ChunkRecord, ChunkKey>({ name: 'chunks', encoding: 'json' });
    if (chunks === null) return [];
    for (const key of [...chunks.getKeys()]) {
      signal.throwIfAborted();
      const record = chunks.get(key);
      if (record === undefined) continue;
      const [jobId, chunk] = key;
      const answers = places.answer(jobId, record.file);
      const found = await checksumOfFile(answers);
      const isWritten =
        found?.bytes === record.bytes && (record.crc32 === undefined || found.sum === record.crc32);
      // A read transaction is of the moment it began: the next turn has another one.
      if (isWritten || chunks.get(key) === undefined) continue;
      faults.push(
        `${answers} is ${found === null ? 'missing' : 'damaged: it is not what was written'} (chunk ${chunk} of the job ${jobId}). Restore it from a backup, or delete the job and send it again.`,
      );
    }
    return faults;
  } finally {
    await file.close();
  }
}
