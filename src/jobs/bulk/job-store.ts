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
type RemovalKey = [atMs: number, name: string];

/** Records that one step of a sweep reads or removes: 5 ms. */
const SWEPT_AT_ONCE = 500;

/** Returns when something of an ended job is removed next: its files, then its record. */
export const removalDueMs = ({ endedAt, filesRemoved }: JobRecord): number =>
  (endedAt ?? Number.POSITIVE_INFINITY) + (filesRemoved ? JOB_LIMITS.jobKeptMs : JOB_LIMITS.jobFilesKeptMs);

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
  /** Returns ended jobs of which something is due to be removed, a limited number; none if nothing is. */
  due(nowMs: number): readonly JobRecord[];
  /** Removes a limited number of claims that were made before the given time; returns whether more may remain. */
  removeClaims(before: number): boolean;
  /**
   * Adds claims and ended jobs that earlier versions stored to the indexes of what is removed by time, a limited number of them.
   *
   * @param place - the result of the call before; null for the first
   * @returns where the next call continues; null at the end
   */
  indexRemovals(place: IndexingPlace | null): IndexingPlace | null;
}

/** The last record that was indexed. */
export interface IndexingPlace {
  readonly of: 'jobs' | 'claims';
  readonly key: string;
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
  const live = openStore(path, FORMAT_VERSION, { name: 'jobs', maxDbs: 12 });
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
  /** Claims by their time, and ended jobs by the time of their next removal: a sweep reads only what it removes. */
  const claimTimes: LiveDatabase<0, RemovalKey> = root.openDB({ name: 'claimTimes', encoding: 'json' });
  const removals: LiveDatabase<0, RemovalKey> = root.openDB({ name: 'removals', encoding: 'json' });

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
      const before = job(record.id);
      jobs.putSync(record.id, record);
      if (record.endedAt === null) return;
      open.removeSync(record.id);
      const dueMs = removalDueMs(record);
      if (before !== null && before.endedAt !== null && removalDueMs(before) !== dueMs)
        removals.removeSync([removalDueMs(before), record.id]);
      removals.putSync([dueMs, record.id], 0);
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
      if (record.endedAt !== null) removals.removeSync([removalDueMs(record), record.id]);
      if (record.once === undefined) return;
      const claim = claims.get(record.once);
      if (claim?.jobId !== record.id || claim.answer !== null) return;
      claims.removeSync(record.once);
      claimTimes.removeSync([claim.at, record.once]);
    },
    claim: (name) => claims.get(name) ?? null,
    putClaim(name, claim) {
      const before = claims.get(name);
      if (before !== undefined && before.at !== claim.at) claimTimes.removeSync([before.at, name]);
      claims.putSync(name, claim);
      claimTimes.putSync([claim.at, name], 0);
    },
    due(nowMs) {
      for (;;) {
        const keys = [...removals.getKeys(upTo(nowMs + 1))];
        const found = keys.flatMap((key) => {
          const record = job(key[1]);
          if (record !== null && removalDueMs(record) === key[0]) return [record];
          // An earlier version changed or removed the job without this index.
          removals.removeSync(key);
          if (record !== null && record.endedAt !== null)
            removals.putSync([removalDueMs(record), record.id], 0);
          return [];
        });
        if (found.length > 0 || keys.length < SWEPT_AT_ONCE) return found;
      }
    },
    removeClaims(before) {
      const old = [...claimTimes.getKeys(upTo(before))];
      for (const key of old) {
        const [at, name] = key;
        claimTimes.removeSync(key);
        // An earlier version may have stored it again without this index.
        if (claims.get(name)?.at === at) claims.removeSync(name);
      }
      return old.length === SWEPT_AT_ONCE;
    },
    indexRemovals(place) {
      const range = {
        ...(place === null ? {} : { start: place.key }),
        limit: SWEPT_AT_ONCE,
      };
      if (place?.of === 'claims') {
        const rows = [...claims.getRange(range)];
        for (const { key, value } of rows) putNew(claimTimes, [value.at, key]);
        const last = rows.length === SWEPT_AT_ONCE ? rows.at(-1) : undefined;
        return last === undefined ? null : { of: 'claims', key: last.key };
      }
      const rows = [...jobs.getRange(range)];
      for (const { key, value } of rows)
        if (value.endedAt !== null) putNew(removals, [removalDueMs(value), key]);
      const last = rows.length === SWEPT_AT_ONCE ? rows.at(-1) : undefined;
      return last === undefined ? { of: 'claims', key: '' } : { of: 'jobs', key: last.key };
    },
  };

  // Usually all are there, and a transaction that writes nothing costs no flush.
  const putNew = (index: LiveDatabase<0, RemovalKey>, key: RemovalKey): void => {
    if (index.get(key) === undefined) index.putSync(key, 0);
  };

  const upTo = (beforeMs: number) => ({
    start: [0, ''] as RemovalKey,
    end: [beforeMs, ''] as RemovalKey,
    limit: SWEPT_AT_ONCE,
  });

  return {
    job,
    chunk,
    idsOf: (accountId) => [...byAccount.getKeys(accountRange(accountId))].map(([, id]) => id).reverse(),
    openIds: () => [...open.getKeys()],
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
