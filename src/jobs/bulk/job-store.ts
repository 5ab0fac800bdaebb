/**
 * Records of bulk jobs on LMDB: the request of each job, its answered chunks, and its charge. All changes happen in transactions
 * that may be run again, so that the store can be one of several replicas.
 */
import type { ChainId } from '../../chains/registry.ts';
import { openLiveFile } from '../../state/live-file.ts';
import { type Fence, type LiveDatabase, type OpenStore, openLiveStore } from '../../state/live-store.ts';
import type { JobFormat, JobKind, JobState, JobView, ResultLines } from '../bulk-jobs.ts';
import type { ChunkDone } from '../chunks.ts';
import { JOB_LIMITS } from '../limits.ts';

export const FORMAT_VERSION = 1;

/** A job. Times are milliseconds since the epoch. */
export interface JobRecord {
  readonly id: string;
  readonly accountId: string;
  readonly kind: JobKind;
  readonly format: JobFormat;
  readonly chain: ChainId | null;
  /** Set if each label set has a verdict; absent in records of earlier versions. */
  readonly verdict?: true;
  readonly columns: readonly string[] | null;
  /** Bytes of the CSV header line, including its line break; 0 without a header. */
  readonly headBytes: number;
  readonly state: JobState;
  /** Final state of a job that has no more work while its charge is being settled. Null while the job continues. */
  readonly ending: Extract<JobState, 'DONE' | 'CANCELLED' | 'FAILED'> | null;
  readonly error: string | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Time of the last change of this record. */
  readonly changedAt: number;
  /** Number of lines; null while the input is received. */
  readonly items: number | null;
  readonly bytesReceived: number;
  readonly answered: number;
  readonly failed: number;
  /** Totals of the chunks that are answered without a gap from the first one on. */
  readonly prefix: {
    readonly chunks: number;
    readonly items: number;
    readonly failed: number;
    readonly bytes: number;
  };
  /**
   * Basis of the rate: start of the work, shifted by the time in which no scheduler processed the job, and the number of lines that
   * were already answered.
   */
  readonly rateFrom: { readonly at: number; readonly answered: number } | null;
  readonly unit: 'intel' | 'credits';
  readonly perLine: number;
  readonly reserved: number;
  readonly spent: number | null;
  /** The balance of the account that pays, if it is not `api`; absent in records of earlier versions. */
  readonly pool?: 'api' | 'dashboard';
  readonly filesRemoved: boolean;
  /** Idempotency key of the request, if it has one. */
  readonly once?: string;
  /** Set if a receipt binds the results. */
  readonly receipt?: JobReceiptRecord;
}

/** The receipt of a job. */
export interface JobReceiptRecord {
  /** Secret of the salts of the results, hexadecimal. */
  readonly secret: string;
  /** Results of the ended job and the root of their tree; null before. */
  readonly lines: ResultLines | null;
  /** Id of the receipt; null until it was issued. */
  readonly id: string | null;
}

/** The first request with an idempotency key, and its response. */
export interface Claim {
  readonly jobId: string;
  /** SHA-256 of the request, hexadecimal. */
  readonly bodyHash: string;
  readonly at: number;
  /** The response; null while the job is being accepted. */
  readonly answer: JobView | null;
}

/** Returns the actual or expected size of a job's files, in bytes: its body while it is processed, and its results. */
export function bytesOnDisk({ filesRemoved, endedAt, prefix, items, bytesReceived }: JobRecord): number {
  if (filesRemoved) return 0;
  if (endedAt !== null) return prefix.bytes;
  return bytesReceived + Math.max(prefix.bytes, (items ?? 0) * JOB_LIMITS.jobAnswerBytesExpected);
}

/** An answered chunk: the name of its result file within the job's folder, and the file's contents in numbers. */
export interface ChunkRecord extends ChunkDone {
  readonly file: string;
}

/** A job whose end Redis has lost. */
export interface LostJob {
  readonly job: JobRecord;
  /** Its answered chunks, in their order. */
  readonly chunks: readonly (readonly [chunk: number, record: ChunkRecord])[];
}

type ChunkKey = [jobId: string, chunk: number];

/** Maximum number of claims that one transaction removes. */
const CLAIMS_REMOVED_MAX = 1_000;

/** Sorts after every id: ids are ASCII. */
const PAST_IDS = '~';

/** Reads records, and writes them in transactions. */
export interface JobStore {
  job(id: string): JobRecord | null;
  chunk(id: string, chunk: number): ChunkRecord | null;
  /** Returns the ids of an account's jobs, newest first. */
  idsOf(accountId: string): string[];
  /** Returns the ids of all jobs that have not ended, oldest first. */
  openIds(): string[];
  /** Returns the ids of all jobs, oldest first. */
  allIds(): string[];
  /** Returns the newest `limit` jobs of all accounts, newest first. */
  newest(limit: number): JobRecord[];
  /**
   * Runs `write` in one durable transaction and resolves with its result. `write` may run more than once. Rejects if another node
   * holds the lease of `fence`.
   */
  transaction<T>(write: (writer: JobWriter) => T, fence?: Fence | null): Promise<T>;
  /** Resolves when all existing records can be read. */
  ready(): Promise<void>;
  /**
   * Returns a job that has ended, or had no more work, in a state that Redis has lost and this node has kept; null if there is none.
   *
   * @throws STORE_VERSION, STORE_CORRUPT
   */
  lost(id: string): Promise<LostJob | null>;
  /** Registers a listener that is called after writes of other nodes. */
  onApplied(listener: () => void): void;
  /** Registers a listener that is called when all records were replaced, possibly by earlier ones. */
  onCopied(listener: () => void): void;
  close(): Promise<void>;
}

/** Reads and writes records inside one transaction. */
export interface JobWriter {
  job(id: string): JobRecord | null;
  chunk(id: string, chunk: number): ChunkRecord | null;
  openOf(accountId: string): number;
  countOf(accountId: string): number;
  /** Returns the bytes of an account's jobs except one, and the earliest end time of those ended jobs that still have files. */
  keptOf(
    accountId: string,
    exceptId: string,
  ): { readonly bytes: number; readonly firstEndedAt: number | null };
  /** Adds a new job. */
  add(job: JobRecord): void;
  /** Replaces the record of a job. */
  put(job: JobRecord): void;
  putChunk(id: string, chunk: number, record: ChunkRecord): void;
  /** Removes the records of a job's answered chunks. */
  removeChunks(id: string): void;
  /** Removes a job, and the idempotency key of its request if that was not answered. */
  remove(job: JobRecord): void;
  claim(name: string): Claim | null;
  putClaim(name: string, claim: Claim): void;
  /** Removes a limited number of claims that were made before the given time; returns the number of removed claims. */
  removeClaims(before: number): number;
}

/**
 * Opens or creates the store.
 *
 * @param options - `path`: the LMDB file
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openJobStore(
  { path }: { readonly path: string },
  { openStore = openLiveStore }: { readonly openStore?: OpenStore },
): JobStore {
  const live = openStore(path, FORMAT_VERSION, { name: 'jobs' });
  const { root } = live;
  const jobs: LiveDatabase<JobRecord, string> = root.openDB({ name: 'jobs', encoding: 'json' });
  const byAccount: LiveDatabase<0, [accountId: string, id: string]> = root.openDB({
    name: 'byAccount',
    encoding: 'json',
  });
  /** Accounts of the jobs that have not ended, by job id. */
  const open: LiveDatabase<string, string> = root.openDB({ name: 'open', encoding: 'json' });
  const chunks: LiveDatabase<ChunkRecord, ChunkKey> = root.openDB({ name: 'chunks', encoding: 'json' });
  const claims: LiveDatabase<Claim, string> = root.openDB({ name: 'claims', encoding: 'json' });

  const job = (id: string): JobRecord | null => jobs.get(id) ?? null;
  const chunk = (id: string, at: number): ChunkRecord | null => chunks.get([id, at]) ?? null;
  const chunksOf = (id: string) => ({
    start: [id, 0] as ChunkKey,
    end: [id, Number.MAX_SAFE_INTEGER] as ChunkKey,
  });
  const accountRange = (accountId: string) => ({
    start: [accountId, ''] as [string, string],
    end: [accountId, PAST_IDS] as [string, string],
  });
  const jobsOf = (accountId: string): JobRecord[] =>
    [...byAccount.getKeys(accountRange(accountId))].flatMap(([, id]) => job(id) ?? []);

  const writer: JobWriter = {
    job,
    chunk,
    openOf: (accountId) => [...open.getRange({})].filter(({ value }) => value === accountId).length,
    countOf: (accountId) => byAccount.getKeysCount(accountRange(accountId)),
    keptOf(accountId, exceptId) {
      let bytes = 0;
      let firstEndedAt: number | null = null;
      for (const record of jobsOf(accountId)) {
        const own = record.id === exceptId ? 0 : bytesOnDisk(record);
        bytes += own;
        const { endedAt } = record;
        if (own > 0 && endedAt !== null) firstEndedAt = Math.min(endedAt, firstEndedAt ?? endedAt);
      }
      return { bytes, firstEndedAt };
    },
    add(record) {
      jobs.putSync(record.id, record);
      byAccount.putSync([record.accountId, record.id], 0);
      open.putSync(record.id, record.accountId);
    },
    put(record) {
      jobs.putSync(record.id, record);
      if (record.endedAt !== null) open.removeSync(record.id);
    },
    putChunk: (id, at, record) => void chunks.putSync([id, at], record),
    removeChunks(id) {
      for (const key of [...chunks.getKeys(chunksOf(id))]) chunks.removeSync(key);
    },
    remove(record) {
      writer.removeChunks(record.id);
      jobs.removeSync(record.id);
      byAccount.removeSync([record.accountId, record.id]);
      open.removeSync(record.id);
      if (record.once === undefined) return;
      const claim = claims.get(record.once);
      if (claim?.jobId === record.id && claim.answer === null) claims.removeSync(record.once);
    },
    claim: (name) => claims.get(name) ?? null,
    putClaim: (name, claim) => void claims.putSync(name, claim),
    removeClaims(before) {
      const old: string[] = [];
      for (const { key, value } of claims.getRange({})) {
        if (value.at < before) old.push(key);
        if (old.length >= CLAIMS_REMOVED_MAX) break;
      }
      for (const name of old) claims.removeSync(name);
      return old.length;
    },
  };

  return {
    job,
    chunk,
    idsOf: (accountId) => [...byAccount.getKeys(accountRange(accountId))].map(([, id]) => id).reverse(),
    openIds: () => [...open.getKeys()],
    allIds: () => [...jobs.getKeys()],
    newest: (limit) => [...jobs.getRange({ reverse: true, limit })].map(({ value }) => value),
    async transaction<T>(write: (writer: JobWriter) => T, fence: Fence | null = null): Promise<T> {
      let result: T | undefined;
      const work = (): void => {
        result = write(writer);
      };
      await (fence === null ? root.transaction(work) : root.childTransaction(work, fence));
      return result as T;
    },
    ready: () => live.ready(),
    async lost(id) {
      for (const { path: kept } of live.newerStates().toReversed()) {
        const file = openLiveFile({ path: kept, formatVersion: FORMAT_VERSION });
        try {
          const found = file?.open<JobRecord, string>({ name: 'jobs', encoding: 'json' })?.get(id);
          if (found === undefined || found.ending === null) continue;
          const rows = file?.open<ChunkRecord, ChunkKey>({ name: 'chunks', encoding: 'json' });
          return {
            job: found,
            chunks: [...(rows?.getRange(chunksOf(id)) ?? [])].map(({ key: [, at], value }) => [at, value]),
          };
        } finally {
          await file?.close();
        }
      }
      return null;
    },
    onApplied: (listener) => live.onApplied(listener),
    onCopied: (listener) => live.onCopied(listener),
    close: () => root.close(),
  };
}
