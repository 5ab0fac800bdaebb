/**
 * The oracle at 1,000 requests a second beside every other kind of work that a server does: how long an answer waits. The server is the built
 * program. The control is a bare handler of the same bytes, paced alike beside two busy loops: what the scheduler of this machine adds by itself.
 * Clients, server and the programs beside it share the cores. Needs wrk.
 * Run: node dist/bench/paced.js [--seconds S] [--addresses N] [--edges N] [--beside TEXT] [--no-save]
 * With `--beside`, only the loads whose names contain the text run.
 */
import { createReadStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { POWER_LAW_CHAIN, powerLawAddress, writePowerLawCsv } from '../scripts/power-law-graph.ts';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { seededUint32 } from '../src/base/random.ts';
import type { JobView } from '../src/jobs/bulk-jobs.ts';
import { argument, type BenchRow, publish, report, row } from './harness.ts';
import {
  type Address,
  bulkBodies,
  busyLoop,
  controlAnswer,
  oracleRequests,
  pacedClient,
  startControl,
  writeLines,
  wrk,
} from './http.ts';
import type { PacedClientResult } from './http-paced-client.ts';
import { type ProgramServer, runProgram, startProgram } from './program-server.ts';

const PER_SECOND = 1_000;
const LABELS = 300_000;
const SEED = 5;
/** The load runs before the first paced request, and after the last. */
const LEAD_MS = 1_000;
const JOB_LINES = 1_000_000;
const NAMES_A_REQUEST = 50;

const NAMES = ['Ivan Petrov', 'Maria Gonzalez', 'Mohammed Al Hassan', 'Wei Zhang', 'John Smith', 'Anna Kim'];

interface Beside {
  readonly folder: string;
  readonly server: ProgramServer;
  readonly addresses: readonly Address[];
  readonly seconds: number;
}

type Waits = Pick<PacedClientResult, 'p50Ms' | 'p99Ms' | 'lateP99Ms'>;

/** Starts a load; the function that it returns ends it, and returns its requests per second if it counts them. */
type Load = (beside: Beside) => Promise<() => Promise<number | null>>;

/** A load by wrk with these bodies. */
const posting =
  (path: string, connections: number, bodies: (addresses: readonly Address[]) => readonly string[]): Load =>
  async ({ folder, server, addresses, seconds }) => {
    const items = join(folder, 'bodies.txt');
    const keys = join(folder, 'keys.txt');
    await writeLines(items, bodies(addresses));
    await writeLines(keys, [server.key]);
    const load = wrk({
      ...{ items, keys, kind: 'post', prefix: `/api/v1${path}`, start: 0, connections },
      port: Number(new URL(server.url).port),
      seconds: seconds + (2 * LEAD_MS) / 1_000,
    });
    return async () => {
      const { failed, requests, perSecond } = await load;
      if (failed > 0 || requests === 0) throw new Error(`${path}: ${failed} of ${requests} requests failed.`);
      return perSecond;
    };
  };

/** Runs `once` again and again until the load ends. */
const repeating =
  (once: (beside: Beside, round: number) => Promise<void>): Load =>
  async (beside) => {
    let isEnding = false;
    const running = (async () => {
      for (let round = 0; !isEnding; round++) await once(beside, round);
    })();
    // A failure is reported by the end of the load.
    running.catch(() => {});
    return async () => {
      isEnding = true;
      await running;
      return null;
    };
  };

async function sendJob({ folder, server }: Beside): Promise<void> {
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/x-ndjson' };
  const jobs = `${server.url}/api/v1/jobs`;
  const body = createReadStream(join(folder, 'lines.ndjson'));
  const sent = await request(`${jobs}?kind=labels&chain=${POWER_LAW_CHAIN}`, {
    method: 'POST',
    headers,
    body,
  });
  const answer = (await sent.body.json()) as { readonly data?: { readonly job: JobView } };
  const id = answer.data?.job.id;
  if (id === undefined) throw new Error(`The job was refused: ${JSON.stringify(answer)}`);
  for (let state = 'QUEUED'; state !== 'DONE'; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const seen = await request(`${jobs}/${id}`, { headers });
    ({ state } = ((await seen.body.json()) as { readonly data: { readonly job: JobView } }).data.job);
    if (state === 'FAILED') throw new Error('The job failed.');
  }
  await (await request(`${jobs}/${id}`, { method: 'DELETE', headers })).body.dump();
}

const onChain = (addresses: readonly Address[], more: object = {}): string[] =>
  addresses.map(({ text, chain }) => JSON.stringify({ address: text, chain, ...more }));

const nameBodies = (): string[] => {
  const next = seededUint32(SEED);
  const word = (): string => (NAMES[next() % NAMES.length] as string).split(' ')[next() % 2] as string;
  return Array.from({ length: 500 }, () =>
    JSON.stringify({
      names: Array.from({ length: NAMES_A_REQUEST }, () => ({ name: `${word()} ${word()} ${next() % 100}` })),
    }),
  );
};

const LOADS: Readonly<Record<string, Load>> = {
  'nothing else': async () => async () => null,
  'bulk of 100 addresses': posting('/screen/bulk', 16, bulkBodies),
  'bulk jobs of a million lines': repeating(sendJob),
  '50 names a request': posting('/namescreen/bulk', 4, nameBodies),
  'traces of 3 hops': posting('/trace', 4, (addresses) => onChain(addresses, { hops: 3 })),
  'full screenings': posting('/screening', 6, onChain),
  'the same screenings again, each charged durably': posting('/screening', 16, (addresses) =>
    onChain(addresses.slice(0, 100)),
  ),
  'an import of transfers': repeating(({ folder }, round) => {
    const file = join(folder, `more-${round}.csv`);
    writePowerLawCsv(file, { addresses: 20_000, edges: 200_000, seed: 1_000 + round });
    return runProgram(folder, ['ingest', 'ndjson', file, '--chain', 'BSC', '--no-attribute']);
  }),
  'imports of labels, each a new index': repeating(async ({ folder }, round) => {
    await runProgram(folder, ['index', 'synth', '--count', String(LABELS), '--seed', String(100 + round)]);
    await runProgram(folder, ['index', 'build']);
  }),
};

/** Waits until the exposure of all addresses is computed. */
async function untilExposed({ url, key }: ProgramServer): Promise<void> {
  const headers = { authorization: `Bearer ${key}` };
  for (;;) {
    const target = `${url}/api/v1/oracle/address/${POWER_LAW_CHAIN}/${powerLawAddress(0)}`;
    const { data } = (await (await request(target, { headers })).body.json()) as {
      readonly data: { readonly exposureAsOf: string | null };
    };
    if (data.exposureAsOf !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

async function measure(beside: Beside, name: string, load: Load, control: Waits): Promise<BenchRow[]> {
  const { server, addresses, seconds } = beside;
  const end = await load(beside);
  await new Promise((resolve) => setTimeout(resolve, LEAD_MS));
  const { p50Ms, p99Ms, lateP99Ms } = await pacedClient({
    port: Number(new URL(server.url).port),
    ...{ perSecond: PER_SECOND, seconds, requests: oracleRequests(addresses, [server.key]) },
  });
  const perSecond = await end();
  return [
    row(
      `beside ${name}, p50`,
      p50Ms,
      'ms',
      name === 'bulk of 100 addresses' ? { atMost: 0.3 } : null,
      control.p50Ms,
    ),
    row('  p99', p99Ms, 'ms', { atMost: 5 }, control.p99Ms),
    ...(perSecond === null ? [] : [row('  requests of the load', perSecond, '1/s')]),
    row('  the client itself late, p99', lateP99Ms, 'ms', null, control.lateP99Ms),
  ];
}

/** The control: a bare handler, beside two busy loops. */
async function measureControl({ server, addresses, seconds }: Beside): Promise<Waits> {
  const port = Number(new URL(server.url).port);
  const { control, port: bare } = await startControl(await controlAnswer(port, server.key, addresses));
  const loops = [busyLoop(), busyLoop()];
  try {
    const requests = oracleRequests(addresses, [server.key]);
    return await pacedClient({ port: bare, perSecond: PER_SECOND, seconds, requests });
  } finally {
    for (const loop of loops) loop.kill('SIGKILL');
    await control.stop();
  }
}

const startedAt = isoTime(systemClock.now());
const folder = mkdtempSync(join(tmpdir(), 'assay-bench-paced-'));
const graph = {
  addresses: argument('--addresses', 200_000),
  edges: argument('--edges', 2_000_000),
  seed: SEED,
};
const seconds = argument('--seconds', 10);
const onlyAt = process.argv.indexOf('--beside');
const only = onlyAt < 0 ? null : (process.argv[onlyAt + 1] ?? '');
const loads = Object.entries(LOADS).filter(([name]) => only === null || name.includes(only));
if (only === '' || loads.length === 0) {
  process.stderr.write(`bench: --beside: must be a part of one of ${Object.keys(LOADS).join('; ')}.\n`);
  process.exit(2);
}
let server: ProgramServer | null = null;
try {
  mkdirSync(join(folder, 'store'));
  const csv = join(folder, 'transfers.csv');
  writePowerLawCsv(csv, graph);
  await runProgram(folder, ['ingest', 'ndjson', csv, '--chain', POWER_LAW_CHAIN, '--no-attribute']);
  rmSync(csv);
  await runProgram(folder, ['index', 'synth', '--count', String(LABELS), '--seed', '1']);
  server = await startProgram(folder);
  await untilExposed(server);
  const next = seededUint32(SEED);
  const draw = (): Address => ({
    chain: POWER_LAW_CHAIN,
    text: powerLawAddress(next() % graph.addresses).toLowerCase(),
  });
  const addresses = Array.from({ length: 20_000 }, draw);
  await writeLines(
    join(folder, 'lines.ndjson'),
    (function* lines() {
      for (let line = 0; line < JOB_LINES; line++) yield JSON.stringify({ address: draw().text });
    })(),
  );
  const beside = { folder, server, addresses, seconds };
  const control = await measureControl(beside);
  const rows: BenchRow[] = [];
  for (const [name, load] of loads) {
    process.stderr.write(`beside ${name}\n`);
    rows.push(...(await measure(beside, name, load, control)));
  }
  publish(
    report(
      // A run of some loads is kept beside that of all.
      only === null ? 'paced' : 'paced-some',
      startedAt,
      { ...graph, 'synthetic labels': LABELS, 'oracle requests/s': PER_SECOND },
      rows,
    ),
  );
} finally {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
}
