/**
 * Durable charges of two nodes through one Redis. Durable: the Redis flushes its append-only file to the disk before each reply (appendfsync
 * always). Control: the same scripts from prepared bytes, whose replies are counted and not read.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { ACCOUNT_LIMITS } from '../src/accounts/limits.ts';
import { systemClock } from '../src/base/clock.ts';
import { seededUint32 } from '../src/base/random.ts';
import type { RedisStore } from '../src/state/redis.ts';
import { digestOf } from '../src/state/redis-safe-scripts.ts';
import { startRedis } from '../test/setup/redis.ts';
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

/** The digits of an account, and those of a nonce, in a recorded step. */
const ACCOUNT = '__account___';
const NONCE = '____nonce_______';

/** One of the two scripts of a charge: its digest, and its text for one step, with the places of the digits. */
interface Recorded {
  readonly digest: string;
  readonly step: Buffer;
  readonly accounts: readonly number[];
  readonly nonces: readonly number[];
}

/** Returns the positions of a text. */
function placesOf(text: string, bytes: Buffer): readonly number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) places.push(at);
  return places;
}

/** Returns the two scripts of a charge as a node sends them. */
async function scriptsOf(redis: RedisStore): Promise<readonly Recorded[]> {
  const texts: Buffer[] = [];
  let digest = '';
  const recording = Object.create(redis, {
    script: {
      value: (
        ...[name, lua, options]: Parameters<RedisStore['script']>
      ): ReturnType<RedisStore['script']> => {
        const script = redis.script(name, lua, options);
        digest = digestOf(lua);
        return (keys, args) => {
          texts.push(args[0] as Buffer);
          return script(keys, args);
        };
      },
    },
  }) as RedisStore;
  const ledger = accountingOn(recording).ledger();
  const accountId = `account-${ACCOUNT}`;
  await ledger.book({ accountId, type: 'PURCHASE', amount: CREDITS, reference: null });
  const reservation = await ledger.reserve(accountId, 1);
  const { entry } = await ledger.commit(reservation, {
    ...{ type: 'SCREENING', amount: 1, reference: REFERENCE },
    answer: () => Buffer.alloc(0),
  });
  const nonce = (entry?.id ?? '').slice(-NONCE.length);
  return texts.slice(1).map((text) => {
    const step = Buffer.from(text.toString('latin1').replaceAll(nonce, NONCE), 'latin1');
    return { digest, step, accounts: placesOf(ACCOUNT, step), nonces: placesOf(NONCE, step) };
  });
}

/** Returns the command of a script with one step for each number. */
function commandOf(
  { digest, step, accounts, nonces }: Recorded,
  numbers: readonly [number, number][],
): Buffer {
  const text = Buffer.concat(
    numbers.map(([account, nonce]) => {
      const bytes = Buffer.from(step);
      for (const at of accounts) bytes.write(String(account).padStart(ACCOUNT.length, '0'), at);
      for (const at of nonces) bytes.write(String(nonce).padStart(NONCE.length, '0'), at);
      return bytes;
    }),
  );
  const head = `*4\r\n$7\r\nEVALSHA\r\n$${digest.length}\r\n${digest}\r\n$1\r\n0\r\n$${text.length}\r\n`;
  return Buffer.concat([Buffer.from(head), text, Buffer.from('\r\n')]);
}

/** Doubles in the reply of each script. */
const REPLY_NUMBERS = [10, 5];

/**
 * Sends a script, and resolves when as many bytes have arrived as replies of doubles have.
 *
 * @throws if the reply is another one, such as an error, or the connection ends
 */
function exchange(socket: Socket, command: Buffer, numbers: number): Promise<void> {
  const steps = ACCOUNT_LIMITS.stepsPerScriptMax;
  const length = 8 * numbers;
  const expected = `*${steps}\r\n`.length + steps * (`$${length}\r\n`.length + length + 2);
  return new Promise((resolve, reject) => {
    let arrived = 0;
    const onEnd = (): void => reject(new Error('The connection to the Redis ended before its reply.'));
    const onData = (part: Buffer): void => {
      const isOther = arrived === 0 && part[0] !== '*'.charCodeAt(0);
      arrived += part.length;
      if (arrived < expected && !isOther) return;
      socket.off('data', onData);
      socket.off('close', onEnd);
      if (arrived === expected && !isOther) resolve();
      else reject(new Error(`Another reply: ${part.toString('latin1').slice(0, 200)}`));
    };
    socket.on('data', onData);
    socket.once('close', onEnd);
    socket.write(command);
  });
}

/** Charges per second of the Redis alone: as many in flight, and as many steps in a script, as of the nodes. */
async function controlRate(scripts: readonly Recorded[], port: number, round: number): Promise<number> {
  const steps = ACCOUNT_LIMITS.stepsPerScriptMax;
  const next = seededUint32(round);
  let left = Math.ceil(CHARGES / steps);
  let nonce = round * 1e9;
  const startedMs = systemClock.monotonic();
  const line = async (): Promise<void> => {
    const socket = connect(port, '127.0.0.1');
    while (left-- > 0) {
      const numbers = Array.from({ length: steps }, (): [number, number] => [next() % ACCOUNTS, nonce++]);
      for (const [at, script] of scripts.entries())
        await exchange(socket, commandOf(script, numbers), REPLY_NUMBERS[at] as number);
    }
    socket.destroy();
  };
  await Promise.all(Array.from({ length: (NODES * IN_FLIGHT_EACH) / steps }, line));
  return CHARGES / ((systemClock.monotonic() - startedMs) / 1_000);
}

/** Rows of the charges of two nodes. */
export async function chargeRows(rounds: number): Promise<BenchRow[]> {
  const server = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
  const redis = openAt(server.url);
  const script = fileURLToPath(new URL('./scale-charger.js', import.meta.url));
  const nodes = Array.from({ length: NODES }, () => fork(script));
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
    const scripts = await scriptsOf(redis);
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
      const control = await controlRate(scripts, server.port, round + 1);
      if (round === 0 && rounds > 0) continue;
      rates.push(CHARGES / seconds);
      controls.push(control);
      p99s.push(Math.max(...figures.map(({ p99Ms }) => p99Ms)));
      nodeMicros.push(figures.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0) / CHARGES);
      serverMicros.push((busy * 1e6) / CHARGES);
    }
    return [
      row(
        'durable charges of two nodes with a Redis; control: the same scripts from prepared bytes',
        ...([median(rates), 'charges/s', { atLeast: 20_000 }, median(controls)] as const),
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
