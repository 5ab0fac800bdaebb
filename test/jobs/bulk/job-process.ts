/**
 * A process that receives and works bulk jobs until it is killed, with the threads and the quota of the program. Arguments: folder, and the
 * number of jobs of LINES lines to send. Lines: `ready`, `sending`, `sent <id>`, `ended <id>` once for each job, and `all ended` as soon as
 * everything was sent and no job is left, including jobs that a killed process had accepted but could not report.
 */
import { join } from 'node:path';
import { argv } from 'node:process';
import { openLedger } from '../../../src/accounts/ledger-lmdb.ts';
import { quotaExhausted } from '../../../src/accounts/quota.ts';
import { openQuotaMeter } from '../../../src/accounts/quota-lmdb.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { openBulkJobs } from '../../../src/jobs/bulk/open.ts';
import type { JobKind } from '../../../src/jobs/bulk-jobs.ts';
import { createLocalChunks } from '../../../src/pool/local-chunks.ts';
import { writeLine } from '../../setup/write-line.ts';
import { BAD_EVERY, LINES } from './killed-job.ts';

const [folder, jobsToSend] = [argv[2] as string, Number(argv[3] ?? 0)];
const log = createLogger({ level: 'error' });
const clock = systemClock;
const quota = openQuotaMeter(
  { path: join(folder, 'quotas.mdb') },
  { clock, log, limitOf: () => null, generation: () => 0 },
);
const ledger = openLedger({ path: join(folder, 'ledger.mdb') }, { clock, log, freeCredits: () => 1_000_000 });
const runner = createLocalChunks(
  {
    threads: 2,
    snapshotsFolder: join(folder, 'labels', 'snapshots'),
    labelsFolder: join(folder, 'labels'),
    transfersFolder: join(folder, 'transfers'),
    outputsFolder: join(folder, 'outputs'),
    clustersFolder: join(folder, 'clusters'),
    namesFolder: join(folder, 'names'),
    listMaxAgeDays: 7,
    logLevel: 'error',
  },
  { log },
);
const jobs = openBulkJobs(
  { storePath: join(folder, 'jobs.mdb'), folder: join(folder, 'jobs') },
  {
    runner,
    billing: {
      priceOf: (kind) => ({ unit: kind === 'labels' ? 'intel' : 'credits', perLine: 1 }),
      async settle({ id, accountId, kind }, units) {
        const once = `job:${id}`;
        if (kind === 'labels') {
          const decision = await quota.settle(accountId, 'intel', once, units);
          if (!decision.ok) throw quotaExhausted(decision, 'intel', units);
        } else await ledger.settle({ accountId, type: 'SCREENING', once, total: units, reference: null });
      },
    },
    clock,
    random: systemRandom,
    log,
    freeBytes: async () => 1e12,
  },
);
jobs.start();
writeLine('ready');

const printed = new Set<string>();
let isAllSent = false;
async function tell(): Promise<void> {
  const { jobs: page } = await jobs.list('a', { limit: 100, offset: 0 });
  for (const { id, endedAt } of page) {
    if (endedAt === null || printed.has(id)) continue;
    printed.add(id);
    writeLine(`ended ${id}`);
  }
  if (isAllSent && page.every(({ endedAt }) => endedAt !== null)) writeLine('all ended');
}
setInterval(() => void tell(), 20);

for (let sent = 0; sent < jobsToSend; sent++) {
  const kind: JobKind = sent % 2 === 0 ? 'labels' : 'screening';
  const upload = await jobs.receive({ accountId: 'a', kind, format: 'ndjson', chain: 'ETH' });
  writeLine('sending');
  for (let from = 0; from < (LINES[kind] as number); from += 1_000) {
    let text = '';
    for (let line = from; line < from + 1_000; line++)
      text += line % BAD_EVERY === 0 ? `bad ${line}\n` : `0x${line.toString(16).padStart(40, '0')}\n`;
    await upload.write(Buffer.from(text));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { id } = await upload.end();
  writeLine(`sent ${id}`);
}
isAllSent = true;
