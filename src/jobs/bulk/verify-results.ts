/** Verifies the results of bulk jobs: compares each result file with the recorded checksum of its chunk. */
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { openLiveFile } from '../../state/live-file.ts';
import { replicaPath } from '../../state/replicated-store.ts';
import { type ChunkRecord, FORMAT_VERSION } from './job-store.ts';
import { jobPlaces } from './places.ts';

export interface JobFiles {
  /** File of the records of a standalone node. */
  readonly storePath: string;
  /** Folder of the jobs' files. */
  readonly folder: string;
  /** Whether the records are in Redis, with a replica on this machine. */
  readonly isShared: boolean;
}

type ChunkKey = [jobId: string, chunk: number];

const READ_BYTES = 1024 * 1024;

/** Returns the size and the CRC-32 of a file; null if it does not exist. */
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
 * Verifies every result file. Results of workers of an earlier version have only a size.
 *
 * @returns one sentence for each file that is missing or damaged. Jobs that are deleted meanwhile are skipped.
 * @throws STORE_VERSION or STORE_CORRUPT of the records; the reason of the signal
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
      // A read transaction shows the state at its start; the next turn of the event loop has a new one.
      if (isWritten || chunks.get(key) === undefined) continue;
      faults.push(
        `${answers} is ${found === null ? 'missing' : 'damaged: its checksum differs'} (chunk ${chunk} of the job ${jobId}). Restore it from a backup, or delete the job and send it again.`,
      );
    }
    return faults;
  } finally {
    await file.close();
  }
}
