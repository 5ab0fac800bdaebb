/**
 * The records of bulk jobs on LMDB: what each asked for, which of its chunks are answered, what it took. All changes happen inside
 * transactions that may be run again, so that the same store may be one of many that follow each other.
 */
import { LIMITS } from '../../base/limits.ts';
import { type Fence, type LiveDatabase, type OpenStore, openLiveStore } from '../../base/live-store.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { JobFormat, JobKind, JobState, JobView } from '../bulk-jobs.ts';
import type { ChunkDone } from '../chunks.ts';

export const FORMAT_VERSION = 1;

/** Times are milliseconds since the epoch. */
export interface JobRecord {
  readonly id: string;
  readonly accountId: string;
  readonly kind: JobKind;
  readonly format: JobFormat;
  readonly chain: ChainId | null;
  /** Set if each label set has a verdict; records of earlier versions lack it. */
  readonly verdict?: true;
  readonly columns: readonly string[] | null;
  /** Bytes of the head line of a CSV, its end among them; 0 for none. */
  readonly headBytes: number;
  readonly state: JobState;
  /** How it is to end: its work is over, and what it took is being settled. Null while it goes on. */
  readonly ending: Extract<JobState, 'DONE' | 'CANCELLED' | 'FAILED'> | null;
  readonly error: string | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** When something of it was written down last. */
  readonly changedAt: number;
  /** Lines; null while it is received. */
  readonly items: number | null;
  readonly bytesReceived: number;
  readonly answered: number;
  readonly failed: number;
  /** The chunks from the first on that are answered without a gap. */
  readonly prefix: {
    readonly chunks: number;
    readonly items: number;
    readonly failed: number;
    readonly bytes: number;
  };
  /** Since when, and from how many answers on, the rate is taken: the start of the work, less the time in which no scheduler worked it. */
  readonly rateFrom: { readonly at: number; readonly answered: number } | null;
  readonly unit: 'intel' | 'credits';
  readonly perLine: number;
  readonly reserved: number;
  readonly spent: number | null;
  readonly filesRemoved: boolean;
  /** Name of the request that sent it, where it had one. */
  readonly once?: string;
}

/** What became of the first request under a name. */
export interface Claim {
  readonly jobId: string;
  /** SHA-256 of what was asked, hexadecimal. */
  readonly bodyHash: string;
  readonly at: number;
  /** What it was answered; null while the job is being taken on. */
  readonly answer: JobView | null;
}

/** Bytes that the files of a job take, or will at about: its body for as long as it is worked, and its answers. */
export function bytesOnDisk({ filesRemoved, endedAt, prefix, items, bytesReceived }: JobRecord): number {
  if (filesRemoved) return 0;
  if (endedAt !== null) return prefix.bytes;
  return bytesReceived + Math.max(prefix.bytes, (items ?? 0) * LIMITS.jobAnswerBytesExpected);
}

/** An answered chunk: the name of its file among the job's, and what is in it. */
export interface ChunkRecord extends ChunkDone {
  readonly file: string;
}

type ChunkKey = [jobId: string, chunk: number];

/** Names that are forgotten in one transaction. */
const CLAIMS_REMOVED_MAX = 1_000;

/** Behind every id: they are ASCII. */
const PAST_IDS = '~';

/** Reading, and writing inside a transaction. */
export interface JobStore {
  job(id: string): JobRecord | null;
  chunk(id: string, chunk: number): ChunkRecord | null;
  /** Ids of an account, newest first. */
  idsOf(accountId: string): string[];
  /** Ids of all jobs that have not ended, oldest first. */
  openIds(): string[];
  /** Ids of all jobs, oldest first. */
  allIds(): string[];
  /**
   * Runs `write` in one durable transaction, and resolves with what it returned. It may run more than once. Refused where another
   * holds the lease that `fence` names.
   */
  transaction<T>(write: (writer: JobWriter) => T, fence?: Fence | null): Promise<T>;
  /** Resolves when all that was there before can be read. */
  ready(): Promise<void>;
  /** Told when other nodes wrote. */
  onApplied(listener: () => void): void;
  close(): Promise<void>;
}

export interface JobWriter {
  job(id: string): JobRecord | null;
  chunk(id: string, chunk: number): ChunkRecord | null;
  openOf(accountId: string): number;
  countOf(accountId: string): number;
  /** What an account keeps but for one job, and when the first that has ended did, of those that still have files. */
  keptOf(
    accountId: string,
    exceptId: string,
  ): { readonly bytes: number; readonly firstEndedAt: number | null };
  /** A new job. */
  add(job: JobRecord): void;
  /** A job as it is now. */
  put(job: JobRecord): void;
  putChunk(id: string, chunk: number, record: ChunkRecord): void;
  /** Forgets the answered chunks of a job. */
  removeChunks(id: string): void;
  /** Removes a job, and the name of its request where that was not answered. */
  remove(job: JobRecord): void;
  claim(name: string): Claim | null;
  putClaim(name: string, claim: Claim): void;
  /** Forgets some of the names that were given before `at`; how many. */
  removeClaims(before: number): number;
}

/** Opens (or makes) the store at `path`, a file. Throws STORE_VERSION, STORE_CORRUPT. */
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
  /** Jobs that have not ended, with their accounts. */
  const open: LiveDatabase<string, string> = root.openDB({ name: 'open', encoding: 'json' });
  const chunks: LiveDatabase<ChunkRecord, ChunkKey> = root.openDB({ name: 'chunks', encoding: 'json' });
  const claims: LiveDatabase<Claim, string> = root.openDB({ name: 'claims', encoding: 'json' });

  const job = (id: string): JobRecord | null => jobs.get(id) ?? null;
  const chunk = (id: string, at: number): ChunkRecord | null => chunks.get([id, at]) ?? null;
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
      const range = { start: [id, 0] as ChunkKey, end: [id, Number.MAX_SAFE_INTEGER] as ChunkKey };
      for (const key of [...chunks.getKeys(range)]) chunks.removeSync(key);
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
    async transaction<T>(write: (writer: JobWriter) => T, fence: Fence | null = null): Promise<T> {
      let result: T | undefined;
      const work = (): void => {
        result = write(writer);
      };
      await (fence === null ? root.transaction(work) : root.childTransaction(work, fence));
      return result as T;
    },
    ready: () => live.ready(),
    onApplied: (listener) => live.onApplied(listener),
    close: () => root.close(),
  };
}
