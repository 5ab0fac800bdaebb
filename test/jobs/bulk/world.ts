/** A world with bulk jobs: real label index and graph, chunks worked in this thread, and a billing that counts every unit. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { AssayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import type { JobBilling } from '../../../src/jobs/bulk/billing.ts';
import type { ChunkWork } from '../../../src/jobs/bulk/chunk-work.ts';
import { type OpenBulkJobs, openBulkJobs } from '../../../src/jobs/bulk/open.ts';
import type { BulkJobs, JobKind, JobRequest, JobView } from '../../../src/jobs/bulk-jobs.ts';
import type { ChunkRunner, ChunkTask } from '../../../src/jobs/chunks.ts';
import { createTaskTable } from '../../../src/pool/task.ts';
import { TASKS } from '../../../src/pool/tasks/index.ts';
import { createTaskServices } from '../../../src/pool/worker-services.ts';
import { type OpenStore, openLiveStore } from '../../../src/state/live-store.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { createWorld, WALLETS, type World } from '../../screening/world.ts';
import { untilValue } from '../../support/wait.ts';

export { WALLETS };

export const wallet = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;

export interface TestBilling extends JobBilling {
  /** Units that each job holds. */
  readonly taken: Map<string, number>;
  left: number;
  /** Called before each settlement; may throw. */
  before: (units: number) => void;
}

export function createTestBilling(left = 1_000_000_000): TestBilling {
  const taken = new Map<string, number>();
  const billing: TestBilling = {
    taken,
    left,
    before: () => {},
    priceOf: (kind) => ({
      unit: kind === 'labels' || kind === 'sanctions' ? 'intel' : 'credits',
      perLine: 1,
    }),
    async settle({ id }, units) {
      billing.before(units);
      const missing = units - (taken.get(id) ?? 0);
      if (missing > billing.left) throw new AssayError('QUOTA_EXHAUSTED', `Only ${billing.left} are left.`);
      billing.left -= missing;
      taken.set(id, units);
    },
  };
  return billing;
}

/** Runs chunks in this thread, a turn of the event loop later; tests may interfere. */
export interface TestRunner extends ChunkRunner {
  slots: number;
  readonly tasks: ChunkTask[];
  before: (task: ChunkTask) => Promise<void> | void;
}

export function createTestRunner(work: ChunkWork, slots = 2): TestRunner {
  const runner: TestRunner = {
    slots,
    tasks: [],
    before: () => {},
    async run(task) {
      runner.tasks.push(task);
      await new Promise((resolve) => setImmediate(resolve));
      await runner.before(task);
      return work(task);
    },
    close: async () => {},
  };
  return runner;
}

export interface JobWorld {
  readonly work: ChunkWork;
  readonly folder: TempFolder;
  readonly clock: { at: number };
  readonly screening: World;
  open(
    runner: ChunkRunner,
    billing: JobBilling,
    more?: { freeBytes?: () => number; name?: string; openStore?: OpenStore },
  ): OpenBulkJobs;
  close(): Promise<void>;
}

/** Creates the world. @param folder for the files of jobs; default: a new one */
export async function jobWorld(folder: TempFolder = tempFolder()): Promise<JobWorld> {
  const screening = await createWorld();
  const tasks = createTaskTable(
    TASKS,
    createTaskServices(screening.deps, () => {
      throw new Error('this test does not screen names');
    }),
  );
  const clock = { at: Date.UTC(2026, 10, 21, 12) };
  return {
    work: tasks['job-chunk'],
    folder,
    clock,
    screening,
    open(runner, billing, more = {}) {
      const { freeBytes = () => 1e12, name = 'jobs', openStore = openLiveStore } = more;
      mkdirSync(folder.path, { recursive: true });
      return openBulkJobs(
        { storePath: join(folder.path, name, 'jobs.mdb'), folder: join(folder.path, name, 'files') },
        {
          runner,
          billing,
          clock: { now: () => clock.at++, monotonic: systemClock.monotonic },
          random: systemRandom,
          log: silentLogger,
          openStore,
          freeBytes: async () => freeBytes(),
        },
      );
    },
    async close() {
      await screening.close();
      folder.remove();
    },
  };
}

/** Lists the folders of jobs, without the files of its name. */
export const jobFoldersIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => !name.startsWith('.folder'))
        .sort()
    : [];

export async function send(
  jobs: BulkJobs,
  text: string | Uint8Array,
  { accountId = 'a', kind = 'labels' as JobKind, ...more }: Partial<JobRequest> = {},
): Promise<JobView> {
  const upload = await jobs.receive({ accountId, kind, format: 'ndjson', chain: 'ETH', ...more });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 60_000) {
    // The caller reuses the buffer, as a server does.
    const piece = Buffer.from(bytes.subarray(at, at + 60_000));
    await upload.write(piece);
    piece.fill(0x21);
  }
  return upload.end();
}

export const ended = (jobs: BulkJobs, id: string, accountId = 'a'): Promise<JobView> =>
  untilValue(
    () => jobs.get(accountId, id) as JobView,
    (job) => job.endedAt !== null,
  );

export async function resultOf(
  jobs: BulkJobs,
  id: string,
  accountId = 'a',
  start = 0,
  end = Number.MAX_SAFE_INTEGER,
): Promise<string> {
  const result = await jobs.result(accountId, id);
  if (result === null) throw new Error('There is no such job.');
  return Buffer.concat(
    result.parts(start, end).map((part) => readFileSync(part.path).subarray(part.start, part.end)),
  ).toString();
}

export interface Line {
  readonly address?: string;
  readonly from?: string;
  readonly chain?: string;
  readonly labels?: readonly { readonly name: string }[];
  readonly sanctioned?: boolean;
  readonly reasonCodes?: readonly string[];
  readonly error?: string;
  readonly line?: number;
}

export function linesOf(text: string): Line[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new Error('The last line has no end.');
  return lines.map((line) => JSON.parse(line) as Line);
}
