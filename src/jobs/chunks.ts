/**
 * The port between the scheduler of bulk jobs and the runners of chunks. A chunk is a reference: a byte range of the input, and a
 * file for the results. Both sides see the same folder of jobs, so no message contains results.
 */
import type { ChainId } from '../chains/registry.ts';
import type { FilePart, JobFormat, JobKind } from './bulk-jobs.ts';

/** Plain data: can be stored as JSON and sent to another machine. */
export interface ChunkTask {
  readonly jobId: string;
  /** Counted from 0, in the order of the input. */
  readonly chunk: number;
  readonly kind: JobKind;
  /** Chain of the lines that name none; null if every line must name one. */
  readonly chain: ChainId | null;
  readonly format: JobFormat;
  /** Columns of a CSV with a header line, in their order; null if each line is one address. */
  readonly columns: readonly string[] | null;
  /** Adds the verdict of the oracle to each label set. Default: false. */
  readonly verdict?: boolean;
  /** Set if a receipt binds the results: the secret of their salts, hexadecimal, and the position of the first one in the result. */
  readonly receipt?: { readonly secret: string; readonly line: number };
  /** Consists of whole lines. */
  readonly input: FilePart;
  /** Line number of the first line in the input, counted from 1, for error messages. */
  readonly firstLine: number;
  /**
   * File for the results, one line each, in the order of the input lines. A retried chunk gets another file, so that a delayed
   * runner does not overwrite its results.
   */
  readonly output: string;
}

/** A chunk with durable results in its output file. */
export interface ChunkDone {
  /** Number of lines, including errors. */
  readonly items: number;
  /** Number of lines that were answered with an error. */
  readonly failed: number;
  /** Size of the output file, in bytes. */
  readonly bytes: number;
  /** CRC-32 of the output file. Absent if a worker of an earlier version answered. */
  readonly crc32?: number;
  /** Hashes of the perfect subtrees of the results (`MerkleRange`), hexadecimal, one after another. Set if a receipt binds the results. */
  readonly subtrees?: string;
}

/** Processes chunks, in this process or on other nodes. */
export interface ChunkRunner {
  /** Number of chunks that may run at once; it may change over time. */
  readonly slots: number;
  /**
   * Processes a chunk: writes its results under a temporary name, makes them durable, and renames the file. Running a task twice is
   * harmless.
   *
   * @param signal - aborted when the caller does not need the result any more; the run may then reject or still resolve
   * @throws NOT_READY or OVERLOADED if the chunk should be retried later; any other error if it failed
   */
  run(task: ChunkTask, signal: AbortSignal): Promise<ChunkDone>;
  /** Accepts no more chunks and finishes the running ones. */
  close(): Promise<void>;
}
