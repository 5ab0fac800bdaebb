/** Bulk jobs in a folder: an upload is a file, its result another one in three parts, made at once or when the test says so. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../src/base/errors.ts';
import { combine, inclusionParts, MerkleFrontier } from '../../src/base/merkle.ts';
import { LineLeaves, lineSalt } from '../../src/base/salted-lines.ts';
import {
  type BulkJobs,
  type FilePart,
  JOB_KINDS,
  type JobRequest,
  type JobState,
  type JobView,
} from '../../src/jobs/bulk-jobs.ts';

const SECRET = Buffer.alloc(32, 5);

interface Held {
  readonly request: JobRequest;
  readonly id: string;
  state: JobState;
  items: number | null;
  bytesReceived: number;
  readonly createdAt: string;
}

export interface FolderJobs extends BulkJobs {
  /** Uploads that were started and neither ended nor aborted. */
  readonly uploads: () => number;
  readonly aborted: () => number;
  /** Answers `lines` more of a held job, or all of them by default. */
  answer(id: string, lines?: number): void;
  /** Whether new jobs wait for `answer`. */
  isHeld: boolean;
  /** Runs at each write of an upload. */
  onWrite: (bytes: Uint8Array) => Promise<void> | void;
}

/** Returns the result of one line. */
export const answerOf = (line: string): string => `${JSON.stringify({ asked: line, sanctioned: false })}\n`;

export function folderJobs(folder: string): FolderJobs {
  const jobs: Held[] = [];
  let uploads = 0;
  let aborted = 0;
  let made = 0;
  const inputOf = (id: string): string => join(folder, id, 'input');
  const stretchOf = (id: string, n: number): string => join(folder, id, `result-${n}`);
  const linesOf = (id: string): string[] => readFileSync(inputOf(id), 'utf8').split('\n').filter(Boolean);
  const stretches = (id: string): FilePart[] =>
    [0, 1, 2]
      .map((n) => stretchOf(id, n))
      .filter((path) => existsSync(path))
      .map((path) => ({ path, start: 0, end: statSync(path).size }));
  const bytesOf = (id: string): number => stretches(id).reduce((sum, { end }) => sum + end, 0);
  const answered = new Map<string, number>();

  const receiptIds = new Map<string, string>();

  /** Returns the tree over the answers of a job, and the hashes of its perfect subtrees. */
  function treeOf(id: string) {
    const texts = linesOf(id).map((line) => answerOf(line).trimEnd());
    const tree = new MerkleFrontier();
    const hashes = new Map<string, Buffer>();
    const leaves = new LineLeaves();
    for (const [line, text] of texts.entries())
      tree.append(leaves.leafOf(lineSalt(SECRET, line), Buffer.from(text)), ({ level, index }, hash) =>
        hashes.set(`${level}:${index}`, hash),
      );
    return { texts, hashes, lines: { count: texts.length, root: tree.root().toString('hex') } };
  }

  const view = (job: Held): JobView => {
    const ended = ['DONE', 'CANCELLED', 'FAILED'].includes(job.state);
    return {
      id: job.id,
      kind: job.request.kind,
      format: job.request.format,
      chain: job.request.chain,
      verdict: job.request.verdict ?? false,
      state: job.state,
      createdAt: job.createdAt,
      startedAt: job.createdAt,
      endedAt: ended ? job.createdAt : null,
      expiresAt: ended ? job.createdAt : null,
      items: job.items,
      answered: answered.get(job.id) ?? 0,
      failed: 0,
      bytesReceived: job.bytesReceived,
      resultBytes: bytesOf(job.id),
      itemsPerSecond: 1000,
      secondsLeft: ended ? 0 : 1.5,
      cost: { unit: 'intel', reserved: job.items ?? 0, spent: ended ? (answered.get(job.id) ?? 0) : null },
      error: null,
      ...(job.request.hasReceipt
        ? { receipt: { id: receiptIds.get(job.id) ?? null, lines: ended ? treeOf(job.id).lines : null } }
        : {}),
    };
  };
  const found = (accountId: string, id: string): Held | null =>
    jobs.find((job) => job.id === id && job.request.accountId === accountId) ?? null;

  const all: FolderJobs = {
    uploads: () => uploads,
    aborted: () => aborted,
    isHeld: false,
    onWrite: () => {},
    answer(id, lines = Number.MAX_SAFE_INTEGER) {
      const job = jobs.find((one) => one.id === id);
      if (job === undefined) throw new Error('no such job');
      const input = linesOf(id);
      const from = answered.get(id) ?? 0;
      const to = Math.min(input.length, from + lines);
      for (let n = from; n < to; n++)
        appendFileSync(stretchOf(id, Math.floor((n * 3) / input.length)), answerOf(input[n] as string));
      answered.set(id, to);
      job.state = to === input.length ? 'DONE' : 'RUNNING';
    },
    unissued(accountId, id) {
      const job = found(accountId, id);
      if (!job?.request.hasReceipt || receiptIds.has(id) || job.state !== 'DONE') return null;
      return { lines: treeOf(id).lines, secret: SECRET.toString('hex') };
    },
    async setReceipt(accountId, id, receiptId) {
      const job = found(accountId, id);
      if (job === null) return null;
      receiptIds.set(id, receiptId);
      return view(job);
    },
    async proof(accountId, id, line) {
      if (found(accountId, id) === null) return null;
      const { texts, hashes, lines } = treeOf(id);
      const path = inclusionParts(line, lines.count).map((nodes) =>
        combine(nodes.map(({ level, index }) => hashes.get(`${level}:${index}`) as Buffer)).toString('hex'),
      );
      return { line, text: texts[line] ?? '', salt: lineSalt(SECRET, line).toString('hex'), path };
    },
    async receive(request) {
      if (uploads >= 20) throw new AssayError('OVERLOADED', 'Too many jobs.', { retryAfterSeconds: 1 });
      uploads++;
      const id = `job${++made}`;
      mkdirSync(join(folder, id), { recursive: true });
      writeFileSync(inputOf(id), '');
      let received = 0;
      const clear = (): void => {
        uploads--;
        rmSync(join(folder, id), { recursive: true });
      };
      const first = jobs.find((job) => request.once != null && job.request.once === request.once);
      return {
        isRepeated: first !== undefined,
        async write(bytes) {
          await all.onWrite(bytes);
          received += bytes.length;
          appendFileSync(inputOf(id), bytes);
          if (bytes.length > 0 && Buffer.from(bytes).includes('BROKEN'))
            throw new AssayError('INVALID_REQUEST', 'body: line 7 is longer than 16384 bytes.', {
              field: 'body',
            });
        },
        async end() {
          const lines = linesOf(id);
          if (first !== undefined) {
            clear();
            return view(first);
          }
          if (lines.length === 0) {
            clear();
            throw new AssayError('INVALID_REQUEST', 'body: holds no line.', { field: 'body' });
          }
          if (lines.length === 13) {
            clear();
            throw new AssayError('QUOTA_EXHAUSTED', 'The intel quota has 12 units left.');
          }
          uploads--;
          const job: Held = {
            request,
            id,
            state: 'QUEUED',
            items: lines.length,
            bytesReceived: received,
            createdAt: new Date().toISOString(),
          };
          jobs.unshift(job);
          if (!all.isHeld) all.answer(id);
          return view(job);
        },
        async abort() {
          aborted++;
          clear();
        },
      };
    },
    list(accountId, { limit, offset, cursor, kinds = JOB_KINDS }) {
      const own = jobs.filter(
        ({ request }) => request.accountId === accountId && kinds.includes(request.kind),
      );
      const first = own.findIndex(({ id }) => id === cursor) + 1 + offset;
      const shown = own.slice(first, first + limit).map(view);
      const nextCursor = own.length > first + limit ? (shown.at(-1)?.id ?? null) : null;
      return { jobs: shown, total: own.length, nextCursor };
    },
    get(accountId, id) {
      const job = found(accountId, id);
      return job === null ? null : view(job);
    },
    result(accountId, id) {
      const job = found(accountId, id);
      if (job === null) return null;
      const held = stretches(id);
      const bytes = bytesOf(id);
      return {
        bytes,
        isComplete: job.state === 'DONE',
        etag: `${id}-${bytes}`,
        parts(start, end) {
          let before = 0;
          return held.flatMap(({ path, end: length }) => {
            const from = Math.max(0, start - before);
            const to = Math.min(length, end - before);
            before += length;
            return from < to ? [{ path, start: from, end: to }] : [];
          });
        },
        requireFiles: () => {},
      };
    },
    async cancel(accountId, id) {
      const job = found(accountId, id);
      if (job === null) return null;
      if (job.state === 'DONE' || job.state === 'CANCELLED') jobs.splice(jobs.indexOf(job), 1);
      else job.state = 'CANCELLED';
      return view(job);
    },
  };
  return all;
}
