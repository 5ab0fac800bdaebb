/** Bulk jobs: an acknowledged job answers each line once and in its place, and costs what it answered; any other job costs nothing. */
import { readFileSync } from 'node:fs';
import { LIMITS } from '../../src/base/limits.ts';
import type { JobKind, JobPage, JobView } from '../../src/jobs/bulk-jobs.ts';
import { JOB_LIMITS } from '../../src/jobs/limits.ts';
import { ACCOUNTS } from './area-accounts.ts';
import { addressOf } from './area-monitoring.ts';
import { type Area, must, type Schedule, type Standing } from './schedule.ts';

const HOUR_MS = 3_600_000;
/** Lines of a chunk of a screening job: longer jobs have several. */
const CHUNK_LINES = 128;
/** The number of checks for the end of all jobs, the later ones a minute apart. */
const LOOKS_MAX = 60;

interface ModelJob {
  readonly account: string;
  readonly kind: JobKind;
  readonly lines: readonly string[];
  readonly bad: number;
  /** The Idempotency-Key of its request, with which it may be repeated; null if it has none. */
  readonly once: string | null;
  standing: Standing;
  /** The id in every response to a request for it. */
  id: string | null;
  sends: number;
  /** Requests that this process has not answered yet. */
  inFlight: number;
  /** Jobs before the one with `id`, of requests that were in flight when the Idempotency-Key expired. */
  readonly earlier: Set<string>;
  mayRepeat: boolean;
  cancel: Standing | 'none';
  /** The latest and the earliest time of the clock since then. */
  peak: number;
  trough: number;
}

export function jobsArea(
  schedule: Schedule,
  sums: () => Promise<ReadonlyMap<string, number>>,
): Area & { readonly done: number } {
  const { below, chance, pick } = schedule;
  const jobs: ModelJob[] = [];
  let made = 0;
  let done = 0;
  let looks = 0;

  function send(job: ModelJob): void {
    const { account, kind, lines, once } = job;
    job.sends++;
    job.inFlight++;
    schedule.ask(
      `job ${kind} of ${lines.length} lines ${once ?? ''}`,
      async () => {
        const upload = await schedule.process.jobs.receive({
          ...{ accountId: account, kind, format: 'ndjson', chain: 'ETH' },
          ...(once === null ? {} : { once }),
        });
        const bytes = Buffer.from(`${lines.join('\n')}\n`);
        const half = bytes.length >> 1;
        await upload.write(bytes.subarray(0, half));
        if (chance(20)) await new Promise((resolve) => setTimeout(resolve, 1 + below(2_000)));
        await upload.write(bytes.subarray(half));
        return upload.end();
      },
      ({ value, error }) => {
        job.inFlight--;
        if (error !== null) {
          if (job.sends === 1) job.standing = 'refused';
          return;
        }
        if (job.id !== null && value.id !== job.id) {
          must(job.mayRepeat, `a job named ${once} was taken on twice`);
          job.earlier.add(job.id);
        }
        job.standing = 'done';
        job.id = value.id;
      },
      // Credits, quota, places; NOT_READY means that the first request of the key is not answered yet.
      ['CREDITS_EXHAUSTED', 'QUOTA_EXHAUSTED', 'OVERLOADED', 'NOT_READY'],
    );
  }

  function submit(): void {
    const count = chance(50) ? 1 + below(10) : 1 + below(3 * CHUNK_LINES);
    const lines: string[] = [];
    let bad = 0;
    for (let line = 0; line < count; line++) {
      const isBad = chance(4);
      if (isBad) bad++;
      lines.push(isBad ? `bad${line}` : addressOf(0x10_000 + line));
    }
    const at = schedule.now();
    const job: ModelJob = {
      account: pick(ACCOUNTS),
      kind: chance(75) ? 'screening' : 'labels',
      lines,
      bad,
      once: chance(50) ? `name${made}` : null,
      standing: 'unknown',
      id: null,
      sends: 0,
      inFlight: 0,
      earlier: new Set(),
      mayRepeat: false,
      cancel: 'none',
      peak: at,
      trough: at,
    };
    made++;
    jobs.push(job);
    send(job);
  }

  /** Whether the Idempotency-Key of its request was valid at all times of the clock. */
  const isKept = ({ peak, trough }: ModelJob): boolean => peak - trough < LIMITS.idempotencyMs - HOUR_MS;

  /** Repeats a request within the day for which its key is kept. */
  function submitAgain(): void {
    const known = jobs.filter(
      (job) => job.once !== null && job.standing !== 'refused' && job.cancel === 'none' && isKept(job),
    );
    if (known.length > 0) send(pick(known));
  }

  function cancel(): void {
    const known = jobs.filter(({ id, cancel: asked }) => id !== null && asked === 'none');
    if (known.length === 0) return;
    const job = pick(known);
    job.cancel = 'unknown';
    schedule.ask(
      `cancel ${job.id}`,
      () => schedule.process.jobs.cancel(job.account, job.id as string),
      ({ error }) => {
        if (error === null) job.cancel = 'done';
      },
    );
  }

  const mayHaveExpired = ({ peak, trough }: ModelJob, keptMs: number): boolean => peak - trough >= keptMs;

  /** Checks the readable answers of a job: whole lines, each in its place. */
  function checkResult(job: ModelJob, view: JobView): number {
    if (view.resultBytes === 0) return 0;
    const result = schedule.process.jobs.result(job.account, view.id);
    if (result === null || 'then' in result) return 0;
    const text = Buffer.concat(
      result.parts(0, result.bytes).map((part) => readFileSync(part.path).subarray(part.start, part.end)),
    ).toString();
    const answers = text.split('\n');
    must(answers.pop() === '', `an answer of the job ${view.id} is cut off`);
    for (const [at, answer] of answers.entries()) {
      const line = job.lines[at];
      const { address } = JSON.parse(answer) as { address?: string };
      must(
        address?.toLowerCase() === line,
        `the job ${view.id} answers line ${at + 1} (${line}) with ${answer}`,
      );
    }
    return answers.length;
  }

  const viewsOf = (account: string): readonly JobView[] =>
    (schedule.process.jobs.list(account, { limit: 1_000, offset: 0 }) as JobPage).jobs;

  const modelOf = (view: JobView): ModelJob | undefined =>
    jobs.find(({ id, earlier }) => id === view.id || earlier.has(view.id));

  function checkOne(job: ModelJob, views: readonly JobView[]): void {
    if (job.standing !== 'done') return;
    const view = views.find(({ id }) => id === job.id);
    if (view === undefined) {
      const mayBeGone = job.cancel !== 'none' || mayHaveExpired(job, JOB_LIMITS.jobKeptMs);
      must(mayBeGone, `the job ${job.id} is lost`);
      return;
    }
    must(view.items === job.lines.length, `the job ${job.id} has ${view.items} lines`);
    must(view.state !== 'FAILED', `the job ${job.id} failed: ${view.error}`);
    if (mayHaveExpired(job, JOB_LIMITS.jobFilesKeptMs)) return;
    const answered = checkResult(job, view);
    if (view.state === 'DONE')
      must(answered === job.lines.length, `the job ${job.id} is done and has ${answered} answers`);
  }

  /** The number of jobs that all requests for one job may create. */
  const mostOf = ({ once, sends, mayRepeat }: ModelJob): number => (once === null || mayRepeat ? sends : 1);

  /** At the end, when nothing runs, each job must have cost what it answered. */
  async function checkCosts(): Promise<void> {
    const taken = await sums();
    const idsThere = new Set<string>();
    for (const account of ACCOUNTS)
      for (const view of viewsOf(account)) {
        idsThere.add(view.id);
        const job = modelOf(view);
        if (view.kind === 'screening') {
          const cost = -(taken.get(`jobs/${view.id} screening`) ?? 0);
          must(cost === view.cost.spent, `the job ${view.id} took ${cost} and says ${view.cost.spent}`);
        }
        if (view.state === 'DONE' && job !== undefined) {
          done++;
          const wanted = job.lines.length - job.bad;
          must(view.cost.spent === wanted, `the job ${view.id} cost ${view.cost.spent}, not ${wanted}`);
        }
        if (job?.cancel === 'none') must(view.state === 'DONE', `the job ${view.id} is ${view.state}`);
      }
    for (const [reference, sum] of taken) {
      const id = /^jobs\/([0-9a-f]+) /.exec(reference)?.[1];
      if (id === undefined || idsThere.has(id)) continue;
      const job = jobs.find((one) => one.id === id);
      if (job === undefined && !jobs.some((one) => mayHaveExpired(one, JOB_LIMITS.jobKeptMs)))
        must(sum === 0, `the job ${id} is not there and took ${-sum}`);
      if (job !== undefined && job.cancel === 'none')
        must(-sum === job.lines.length - job.bad, `the job ${id} that expired took ${-sum}`);
    }
  }

  return {
    get done() {
      return done;
    },
    acts: [
      [5, submit],
      [2, submitAgain],
      [1, cancel],
    ],
    onStart() {
      for (const job of jobs) job.inFlight = 0;
    },
    onClock() {
      for (const job of jobs) {
        job.peak = Math.max(job.peak, schedule.now());
        job.trough = Math.min(job.trough, schedule.now());
        if (job.inFlight > 0 && !isKept(job)) job.mayRepeat = true;
      }
    },
    check() {
      for (const account of ACCOUNTS) {
        const views = viewsOf(account);
        must(new Set(views.map(({ id }) => id)).size === views.length, 'a job is listed twice');
        for (const job of jobs) if (job.account === account) checkOne(job, views);
        // From requests without a response: at most one job each.
        const strangers = views.filter((view) => view.state !== 'RECEIVING' && modelOf(view) === undefined);
        const unanswered = jobs
          .filter((job) => job.account === account && job.standing !== 'refused')
          .reduce((sum, job) => sum + mostOf(job) - job.earlier.size - (job.id === null ? 0 : 1), 0);
        must(
          strangers.length <= unanswered,
          `${strangers.length} jobs of ${account} that nobody was told of, for ${unanswered} requests`,
        );
      }
    },
    async settle() {
      const open = ACCOUNTS.flatMap(viewsOf).filter(({ endedAt }) => endedAt === null);
      if (open.length > 0) {
        must(looks++ < LOOKS_MAX, `the job ${open[0]?.id} is ${open[0]?.state} for ever`);
        return false;
      }
      await checkCosts();
      return true;
    },
  };
}
