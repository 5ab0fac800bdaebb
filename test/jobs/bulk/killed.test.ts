/** Kills a process in the middle of its bulk jobs, again and again, and counts the results. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLedger } from '../../../src/accounts/ledger-lmdb.ts';
import { openQuotaMeter } from '../../../src/accounts/quota-lmdb.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { projectRoot } from '../../../src/base/paths.ts';
import { seededUint32, systemRandom } from '../../../src/base/random.ts';
import { openBulkJobs } from '../../../src/jobs/bulk/open.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { type LabelFolder, labelFolder } from '../label-folder.ts';
import { BAD_EVERY, LINES } from './killed-job.ts';
import { createTestBilling, createTestRunner, jobFoldersIn, linesOf, resultOf, wallet } from './world.ts';

const PROCESS = join(projectRoot, 'dist', 'test', 'jobs', 'bulk', 'job-process.js');
const ROUNDS = process.env.ASSAY_TEST_LONG === '1' ? 30 : 4;

let folder: TempFolder;
let labels: LabelFolder;

beforeAll(async () => {
  folder = tempFolder();
  labels = labelFolder(join(folder.path, 'labels'));
  await labels.publish({ [wallet(7)]: 'Seven', [wallet(250_000)]: 'Late' });
});
afterAll(() => folder.remove());

/** Runs the process until `until` accepts its output, and `afterMs` longer. Returns the output. */
function run(jobs: number, until: (out: string) => boolean, afterMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROCESS, folder.path, String(jobs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    let isDue = false;
    const look = (): void => {
      if (isDue || !until(out)) return;
      isDue = true;
      setTimeout(() => child.kill('SIGKILL'), afterMs);
    };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
      look();
    });
    child.on('error', reject);
    child.on('close', (_code, signal) =>
      signal === 'SIGKILL' ? resolve(out) : reject(new Error(`the process ended by itself: ${out}`)),
    );
    look();
  });
}

it('answers every line once and charges for it, whenever the process is killed', {
  timeout: 400_000,
}, async () => {
  const next = seededUint32(8);
  const sent = new Set<string>();
  let interrupted = 0;
  const note = (out: string): void => {
    const unended = [...out.matchAll(/^sent (\w+)$/gm)].filter(([, id]) => !out.includes(`ended ${id}`));
    interrupted += unended.length;
    for (const [, id] of out.matchAll(/^sent (\w+)$/gm)) sent.add(id as string);
  };
  // Killed while it receives, just after it accepts, and later and later while it works.
  note(await run(2, (out) => out.includes('sending'), next() % 200));
  note(await run(2, (out) => out.includes('sent'), next() % 200));
  for (let round = 0; round < ROUNDS; round++)
    note(await run(0, (out) => out.includes('ready'), next() % (200 + 200 * round)));
  expect(interrupted).toBeGreaterThan(0);
  // The last run may finish.
  note(await run(2, (out) => out.includes('all ended'), 0));
  expect(sent.size).toBeGreaterThanOrEqual(2);

  const jobs = openBulkJobs(
    { storePath: join(folder.path, 'jobs.mdb'), folder: join(folder.path, 'jobs') },
    {
      runner: createTestRunner(() => {
        throw new Error('nothing is worked any more');
      }),
      billing: createTestBilling(),
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    },
  );
  const page = await jobs.list('a', { limit: 100, offset: 0 });
  const known = new Set(page.jobs.map(({ id }) => id));
  for (const id of sent) expect(known).toContain(id);
  const spent = { labels: 0, screening: 0 };
  for (const { id, kind, state, answered, failed, cost } of page.jobs) {
    expect(state).toBe('DONE');
    const lines = linesOf(await resultOf(jobs, id));
    const count = LINES[kind] as number;
    expect(lines).toHaveLength(count);
    const wrong = lines.filter(({ address, error, line }, at) =>
      at % BAD_EVERY === 0
        ? error === undefined || line !== at + 1
        : error !== undefined || address !== wallet(at),
    );
    expect(wrong).toEqual([]);
    expect([answered, failed]).toEqual([count, Math.ceil(count / BAD_EVERY)]);
    expect(cost.spent).toBe(count - failed);
    spent[kind as keyof typeof spent] += count - failed;
    // The answers of an aborted attempt do not remain under a valid name.
    expect(existsSync(join(folder.path, 'jobs', id, 'answers'))).toBe(true);
  }
  expect(new Set(jobFoldersIn(join(folder.path, 'jobs')))).toEqual(known);
  await jobs.close();

  const quota = openQuotaMeter(
    { path: join(folder.path, 'quotas.mdb') },
    { clock: systemClock, log: silentLogger, limitOf: () => null, generation: () => 0 },
  );
  expect(quota.used('a', 'intel')).toBe(spent.labels);
  await quota.close();
  const ledger = openLedger(
    { path: join(folder.path, 'ledger.mdb') },
    { clock: systemClock, log: silentLogger, freeCredits: () => 1_000_000 },
  );
  expect((await ledger.verify()).faults).toEqual([]);
  expect(ledger.balance('a')).toMatchObject({ balance: 1_000_000 - spent.screening });
  await ledger.close();
});
