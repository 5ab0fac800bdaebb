/** If the scheduler of a bulk job and one worker are killed, the job has the same result, byte for byte, as an undisturbed one. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { newWorld, patiently, type RunningServer, type World } from './program.ts';

/** So many lines that nodes are killed long before they are done, also on a fast machine: two of 20 chunks are answered then. */
const LINES = 650_000;
const LINES_OF_A_CHUNK = 32_768;

/** A step of the test takes seconds. After this time it has failed, and the error names it. */
const STEP_MS_MAX = 150_000;

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;

/** Calls `ask` until it returns an answer. @throws an error with the last `seen` if there is no answer within STEP_MS_MAX */
async function eventually<T>(
  what: string,
  everyMs: number,
  ask: () => Promise<{ readonly answer?: T; readonly seen: unknown }>,
): Promise<T> {
  for (const startedMs = performance.now(); ; ) {
    const { answer, seen } = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() - startedMs > STEP_MS_MAX)
      throw new Error(`${what}: not within ${STEP_MS_MAX} ms; seen last: ${JSON.stringify(seen)}`);
    await sleep(everyMs);
  }
}

interface View {
  readonly id: string;
  readonly state: string;
  readonly answered: number;
  readonly failed: number;
  readonly cost: { readonly spent: number };
}

describe.runIf(hasRedis)('a job scheduler that is killed', { timeout: 400_000 }, () => {
  const ROLES = ['api,worker', 'api,worker', 'worker'] as const;
  let redis: RedisServer;
  let worlds: World[];
  let servers: RunningServer[];
  let shared: Record<string, string>;
  let headers: Record<string, string>;

  // New for each try: a server that was killed in one try cannot answer in the next.
  beforeEach(async () => {
    redis = await startRedis();
    worlds = ROLES.map(() => newWorld());
    const [first] = worlds as [World];
    const jobs = join(first.folder, 'jobs');
    mkdirSync(jobs);
    shared = { ASSAY_REDIS_URL: redis.url, ASSAY_JOBS_DIR: jobs };
    const done = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await first.here(args, { environment: shared });
      expect(code, err).toBe(0);
      return out;
    };
    await done('redis', 'found');
    const made = await done('keys', 'create', '--name', 'all', '--plan', 'ENTERPRISE', '--json');
    headers = {
      authorization: `Bearer ${(JSON.parse(made) as { apiKey: string }).apiKey}`,
      'content-type': 'text/csv',
    };
    servers = await Promise.all(
      ROLES.map((roles, node) => (worlds[node] as World).serve({ ...shared, ASSAY_ROLES: roles })),
    );
  }, 240_000);
  afterEach(async () => {
    await Promise.all(worlds.map((world) => world.end()));
    await redis.stop();
  });

  const serverOf = (node: number): RunningServer => servers[node] as RunningServer;

  /** Waits until one of the nodes holds the lease of the scheduler by its own metrics, and returns that node. */
  const schedulerAmong = (nodes: readonly number[]): Promise<number> =>
    eventually('a scheduler', 50, async () => {
      const seen: string[] = [];
      for (const node of nodes) {
        const metrics = await (await fetch(`${serverOf(node).url}/metrics`)).text();
        if (/^assay_lease_here\{lease="[^"]*scheduler[^"]*"\} 1$/m.test(metrics))
          return { answer: node, seen };
        seen.push(metrics.match(/^assay_lease_here.*$/gm)?.join(' ') ?? 'no lease');
      }
      return { seen };
    });

  async function submit(node: number): Promise<string> {
    const body = Array.from({ length: LINES }, (_, i) => address(i + 1)).join('\n');
    const sent = await patiently(() =>
      fetch(`${serverOf(node).url}/api/v1/jobs?kind=labels&chain=ETH`, { method: 'POST', headers, body }),
    );
    const answer = (await sent.json()) as { data: { job: View } };
    expect(sent.status, JSON.stringify(answer)).toBe(200);
    return answer.data.job.id;
  }

  const ended = (node: number, id: string): Promise<View> =>
    eventually(`the end of job ${id}`, 1_000, async () => {
      const response = await fetch(`${serverOf(node).url}/api/v1/jobs/${id}`, { headers });
      const text = await response.text();
      if (response.status !== 200) return { seen: [response.status, text] };
      const { job } = (JSON.parse(text) as { data: { job: View } }).data;
      return ['QUEUED', 'RUNNING'].includes(job.state) ? { seen: job } : { answer: job, seen: job };
    });

  async function hashOfResult(node: number, id: string): Promise<{ sha256: string; lines: number }> {
    const response = await patiently(() =>
      fetch(`${serverOf(node).url}/api/v1/jobs/${id}/result`, { headers }),
    );
    const bytes = Buffer.from(await response.arrayBuffer());
    const lines = bytes.toString('latin1').split('\n').length - 1;
    return { sha256: createHash('sha256').update(bytes).digest('hex'), lines };
  }

  it('is replaced by another node, which completes the job with the same bytes and cost, even if a worker dies as well', async () => {
    const calm = await submit(0);
    const undisturbed = await ended(0, calm);
    expect(undisturbed).toMatchObject({ state: 'DONE', answered: LINES, failed: 0 });
    const wanted = await hashOfResult(0, calm);
    expect(wanted.lines).toBe(LINES);

    // Any node with workers may be the scheduler, also the one without an API.
    const scheduler = await schedulerAmong([0, 1, 2]);
    const other = scheduler === 0 ? 1 : 0;
    const id = await submit(other);
    const answers = join(shared.ASSAY_JOBS_DIR as string, id, 'answers');
    const chunks = (): number => (existsSync(answers) ? readdirSync(answers).length : 0);
    await eventually('two chunks of answers', 5, async () => ({
      seen: [chunks(), existsSync(answers)],
      ...(chunks() < 2 ? {} : { answer: true }),
    }));
    const killed = [0, 1, 2].filter((node) => node !== other);
    await Promise.all(killed.map((node) => serverOf(node).stop('SIGKILL')));
    expect(chunks()).toBeLessThan(LINES / LINES_OF_A_CHUNK);

    const view = await ended(other, id);
    expect(view).toMatchObject({ state: 'DONE', answered: LINES, failed: 0 });
    expect(view.cost.spent).toBe(undisturbed.cost.spent);
    expect(await schedulerAmong([other])).toBe(other);
    expect(await hashOfResult(other, id)).toEqual(wanted);
  });
});
