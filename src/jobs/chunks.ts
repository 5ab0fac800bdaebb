/**
 * The port between who plans the chunks of bulk jobs and who works them off. A chunk is a reference: a stretch of the input, and the
 * file that its answers go to. Both ends see the same folder of jobs, and no answer travels in a message.
 */
import type { ChainId } from '../chains/registry.ts';
import type { FilePart, JobFormat, JobKind } from './bulk-jobs.ts';

/** Plain data: may be kept as JSON and sent to another machine. */
export interface ChunkTask {
  readonly jobId: string;
  /** Counted from 0, in the order of the input. */
  readonly chunk: number;
  readonly kind: JobKind;
  /** Of lines that name none; null where every line has to. */
  readonly chain: ChainId | null;
  readonly format: JobFormat;
  /** Names of the columns of a CSV with a head line, in their order; null where each line is one address. */
  readonly columns: readonly string[] | null;
  /** Adds the verdict of the oracle to each label set; left out: false. */
  readonly verdict?: boolean;
  /** Whole lines. */
  readonly input: FilePart;
  /** Number of the first of them in the input, counted from 1: what an error names. */
  readonly firstLine: number;
  /**
   * Where the answers are wanted, a line each, in the order of the lines. A chunk that is tried again gets another name, so that who
   * comes late writes over nobody.
   */
  readonly output: string;
}

/** A chunk whose answers are in its output file, and on the disk. */
export interface ChunkDone {
  /** Lines, errors among them. */
  readonly items: number;
  /** Of them: lines that were answered with an error in their place. */
  readonly failed: number;
  /** Size of the output file. */
  readonly bytes: number;
  /** CRC-32 of the output file. Absent if a worker of an earlier version answered. */
  readonly crc32?: number;
}

export interface ChunkRunner {
  /** Chunks that may be given to it at once; may change from look to look. */
  readonly slots: number;
  /**
   * Works a chunk: writes its answers under a temporary name, brings them to the disk, and renames them. Running one task twice does
   * no harm. `signal` says that nobody waits for it any more; then it may reject, or resolve all the same. Rejects with NOT_READY or
   * OVERLOADED where it should be tried again later, with anything else where it failed.
   */
  run(task: ChunkTask, signal: AbortSignal): Promise<ChunkDone>;
  /** Takes no more and ends what runs. */
  close(): Promise<void>;
}
