/**
 * Durable charges of two nodes through one Redis. Durable: the Redis flushes its append-only file to the disk before each reply (appendfsync
 * always). Control: what the same Redis executes of the same scripts, sent in pipelines by redis-benchmark.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../src/base/clock.ts';
import type { RedisStore } from '../src/state/redis.ts';
import { digestOf } from '../src/state/redis-safe-scripts.ts';
import { debianProgram } from '../test/setup/debian-package.ts';
import { startRedis } from '../test/setup/redis.ts';
import { execFileSync } from '../test/support/child-process.ts';
import { type BenchRow, median, row } from './harness.ts';
import {
  accountingOn,
  accountOf,
  type ChargeFigures,
  type ChargeOrder,
  openAt,
  REFERENCE,
} from './scale-charger.ts';

const NODES = 2;
const ACCOUNTS = 10_000;
const CHARGES = 40_000;
/** 256 in flight, as in the benchmark of the ledger of one process. */
const IN_FLIGHT_EACH = 128;
const CREDITS = 1_000_000;
const BOOKED_AT_ONCE = 500;
/** As `npm start` starts a server. */
const NODE_ARGS = ['--max-semi-space-size=32'];

const answerOf = (child: ChildProcess): Promise<ChargeFigures> =>
  new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as ChargeFigures));
    child.once('exit', (code) => reject(new Error(`A node ended with ${code}.`)));
  });

/** CPU seconds of the server. */
async function serverSeconds(redis: RedisStore): Promise<number> {
  const info = await redis.connection.info('cpu');
  const of = (name: string): number => Number(new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]);
  return of('used_cpu_user') + of('used_cpu_sys');
}

/** Replaced by redis-benchmark with a random number of twelve digits at each place. */
const RANDOM = '__rand_int__';

/** Returns the two commands of a charge as a node sends them, of a random account and with a random nonce. */
async function commandsOf(redis: RedisStore): Promise<string[][]> {
  const commands: string[][] = [];
  const recording = Object.create(redis, {
    script: {
      value: (
        ...[name, lua, options]: Parameters<RedisStore['script']>
      ): ReturnType<RedisStore['script']> => {
        const script = redis.script(name, lua, options);
        return (keys, args) => {
          commands.push(['EVALSHA', digestOf(lua), String(keys.length), ...keys, ...args.map(String)]);
          return script(keys, args);
        };
      },
    },
  }) as RedisStore;
  const ledger = accountingOn(recording).ledger();
  const accountId = `account-${RANDOM}`;
  await ledger.book({ accountId, type: 'PURCHASE', amount: CREDITS, reference: null });
  const reservation = await ledger.reserve(accountId, 1);
  await ledger.commit(reservation, {
    ...{ type: 'SCREENING', amount: 1, reference: REFERENCE },
    answer: () => Buffer.alloc(0),
  });
  const [, reserve = [], commit = []] = commands;
  const nonce = commit[commit.indexOf('commit') + 3] as string;
  // Each place has another random number, so the charge finds no reservation: it is sent as one without.
  commit[commit.indexOf('commit') + 4] = '0';
  return [reserve, commit].map((command) =>
    command.map((part) => part.replace(nonce, RANDOM.padStart(RANDOM.length + 4, '0'))),
  );
}

/** Charges per second of the Redis alone: the rates of both commands of a charge, one after the other. */
async function controlRate(redis: RedisStore, port: number): Promise<number | null> {
  const program = debianProgram('redis-server', 'bin/redis-benchmark');
  if (program === null) return null;
  let seconds = 0;
  for (const command of await commandsOf(redis)) {
    const options = [
      '-p',
      String(port),
      '-c',
      '8',
      '-P',
      '32',
      '-n',
      String(CHARGES),
      '-r',
      String(ACCOUNTS),
    ];
    const startedMs = systemClock.monotonic();
    execFileSync(program.path, [...options, '-q', ...command], { env: { ...process.env, ...program.env } });
    seconds += (systemClock.monotonic() - startedMs) / 1_000;
  }
  return CHARGES / seconds;
}

/** Rows of the charges of two nodes. */
export async function chargeRows(rounds: number): Promise<BenchRow[]> {
  const server = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  const redis = openAt(server.url);
  const script = fileURLToPath(new URL('./scale-charger.js', import.meta.url));
  const nodes = Array.from({ length: NODES }, () => fork(script, { execArgv: NODE_ARGS }));
  try {
    const ledger = accountingOn(redis).ledger();
    for (let from = 0; from < ACCOUNTS; from += BOOKED_AT_ONCE)
      await Promise.all(
        Array.from({ length: BOOKED_AT_ONCE }, (_, at) =>
          ledger.book({
            ...{ accountId: accountOf(from + at), type: 'PURCHASE', amount: CREDITS, reference: null },
          }),
        ),
      );
    const rates: number[] = [];
    const controls: number[] = [];
    const p99s: number[] = [];
    const nodeMicros: number[] = [];
    const serverMicros: number[] = [];
    // The first round warms the compilers.
    for (let round = 0; round <= rounds; round++) {
      const before = await serverSeconds(redis);
      const startedMs = systemClock.monotonic();
      const figures = await Promise.all(
        nodes.map((node, at) => {
          const answer = answerOf(node);
          node.send({
            ...{ redisUrl: server.url, accounts: ACCOUNTS, charges: CHARGES / NODES },
            ...{ inFlight: IN_FLIGHT_EACH, seed: round * NODES + at },
          } satisfies ChargeOrder);
          return answer;
        }),
      );
      const seconds = (systemClock.monotonic() - startedMs) / 1_000;
      const busy = (await serverSeconds(redis)) - before;
      const control = await controlRate(redis, server.port);
      if (round === 0 && rounds > 0) continue;
      rates.push(CHARGES / seconds);
      if (control !== null) controls.push(control);
      p99s.push(Math.max(...figures.map(({ p99Ms }) => p99Ms)));
      nodeMicros.push(figures.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0) / CHARGES);
      serverMicros.push((busy * 1e6) / CHARGES);
    }
    const control = controls.length === 0 ? null : median(controls);
    return [
      row(
        'durable charges of two nodes with a Redis; control: the same commands by redis-benchmark',
        ...([median(rates), 'charges/s', { atLeast: 20_000 }, control] as const),
      ),
      row('  p99 with 256 in flight', median(p99s), 'ms'),
      row('  CPU time of the nodes for a charge', median(nodeMicros), 'µs'),
      row('  CPU time of the Redis for a charge', median(serverMicros), 'µs'),
    ];
  } finally {
    for (const node of nodes) node.disconnect();
    await redis.close();
    await server.stop();
  }
}
