/** Real Redis servers for tests: Debian's redis-server, single or a cluster of six on loopback, on free ports, with files of their own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from '../support/child-process.ts';
import { until } from '../support/wait.ts';
import { debianProgram } from './debian-package.ts';
import { freePort } from './free-port.ts';

const server = debianProgram('redis-server', 'bin/redis-server');
const client = server === null ? null : debianProgram('redis-server', 'bin/redis-cli');
/** Whether this machine has, or could unpack, the program. If not, its tests are skipped. */
export const hasRedis = server !== null && client !== null;

export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:<port>` */
  readonly url: string;
  /** Runs a command on it with redis-cli and returns the output. */
  run(...command: readonly string[]): string;
  /** Kills it without a shutdown, like a crash. */
  kill(): Promise<void>;
  /** Starts it again over the same files. */
  restart(): Promise<void>;
  /** Suspends the process until `thaw`: connections stay open, and nothing is answered. The process is suspended when this returns. */
  freeze(): void;
  thaw(): void;
  /** Whether it runs and is not frozen. */
  isUp(): boolean;
  /** Ends it and removes its files. */
  stop(): Promise<void>;
}

export interface RedisCluster {
  /** `redis+cluster://…` with all six. */
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  /** The node that owns the slot of a key now. */
  masterOf(key: string): RedisServer;
  stop(): Promise<void>;
}

/**
 * Whether Linux has suspended a process. Its state follows its name, which may contain anything between its parentheses.
 *
 * @throws Error if the process has ended: it would never be suspended
 */
function hasStopped(pid: number | undefined): boolean {
  const state = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0];
  if (state === 'Z' || state === 'X') throw new Error(`The Redis server ${pid} has ended.`);
  return state === 'T';
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' });
    const end = (isOpen: boolean) => (): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.on('connect', end(true)).on('error', end(false));
  });

const START_TIMEOUT_MS = 120_000;
const POLL_MS = 25;

const untilReady = (isReady: () => boolean | Promise<boolean>, what: string): Promise<void> =>
  until(isReady, what, START_TIMEOUT_MS, POLL_MS);

/**
 * Starts a server that stores every write in its append-only file before each reply. The file outlives the process, and only the process
 * dies in these tests. (A flush every second would delay replies, and the writes behind them, on a slow disk.) `settings` such as
 * `['--save', '']` replace the default.
 */
export async function startRedis(
  settings: readonly string[] = ['--appendonly', 'yes'],
): Promise<RedisServer> {
  if (server === null || client === null) throw new Error('redis-server is not available.');
  const folder = mkdtempSync(join(tmpdir(), 'assay-redis-'));
  const port = await freePort();
  let child: ChildProcess | null = null;
  let isFrozen = false;

  const run = (...command: readonly string[]): string =>
    execFileSync(client.path, ['-p', String(port), ...command], {
      encoding: 'utf8',
      env: { ...process.env, ...client.env },
      timeout: 60_000,
    }).trim();

  async function start(): Promise<void> {
    const started = spawn(
      server?.path as string,
      [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
        ...['--appendfsync', 'no', ...settings],
      ],
      { stdio: 'ignore', env: { ...process.env, ...server?.env } },
    );
    child = started;
    // Another process may have taken the port in the meantime, also another Redis server: this one must answer.
    const answers = async (): Promise<boolean> => {
      if (started.exitCode !== null)
        throw new Error(`redis-server ended with ${started.exitCode} on port ${port}`);
      if (!(await listens(port)) || !run('info', 'server').includes(`process_id:${started.pid}\r`))
        return false;
      return run('ping') === 'PONG';
    };
    await untilReady(answers, `redis-server answering on port ${port}`);
  }

  async function kill(): Promise<void> {
    const dying = child;
    child = null;
    isFrozen = false;
    if (dying === null || dying.exitCode !== null || dying.signalCode !== null) return;
    const ended = new Promise((resolve) => dying.once('exit', resolve));
    dying.kill('SIGKILL');
    await ended;
  }

  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    run,
    kill,
    restart: start,
    freeze() {
      child?.kill('SIGSTOP');
      isFrozen = true;
      // On a busy machine, the process may run on for a moment.
      while (process.platform === 'linux' && child !== null && !hasStopped(child.pid));
    },
    thaw() {
      child?.kill('SIGCONT');
      isFrozen = false;
    },
    isUp: () => child !== null && !isFrozen,
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface RedisSentinel {
  /** `redis+sentinel://127.0.0.1:<port>/main` */
  readonly url: string;
  /** The port of the master that it names now. */
  masterPort(): number;
  stop(): Promise<void>;
}

/** Starts a Sentinel over a master; a master that is unreachable for a second is replaced. */
export async function startRedisSentinel(master: RedisServer): Promise<RedisSentinel> {
  if (server === null || client === null) throw new Error('redis-server is not available.');
  const folder = mkdtempSync(join(tmpdir(), 'assay-sentinel-'));
  const port = await freePort();
  const file = join(folder, 'sentinel.conf');
  const lines = [
    ...[`port ${port}`, 'bind 127.0.0.1', `dir ${folder}`],
    ...[`sentinel monitor main 127.0.0.1 ${master.port} 1`, 'sentinel down-after-milliseconds main 1000'],
    'sentinel failover-timeout main 3000',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const child = spawn(server.path, [file, '--sentinel'], {
    stdio: 'ignore',
    env: { ...process.env, ...server.env },
  });
  const run = (...command: readonly string[]): string =>
    execFileSync(client.path, ['-p', String(port), ...command], {
      encoding: 'utf8',
      env: { ...process.env, ...client.env },
      timeout: 60_000,
    }).trim();
  await untilReady(() => listens(port), `Sentinel listening on port ${port}`);
  // It asks the master for its replicas every ten seconds, the first time after one second.
  await untilReady(
    () => /num-slaves\n[1-9]/.test(run('sentinel', 'master', 'main')),
    'a replica known to the Sentinel',
  );
  return {
    url: `redis+sentinel://127.0.0.1:${port}/main`,
    masterPort: () => Number(run('sentinel', 'get-master-addr-by-name', 'main').split('\n')[1]),
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts three masters with one replica each; a master that is unreachable for a second is replaced. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const settings = [
    ...['--appendonly', 'yes', '--cluster-enabled', 'yes', '--cluster-node-timeout', '1000'],
    ...['--repl-diskless-sync-delay', '0', '--cluster-replica-validity-factor', '0'],
  ];
  const nodes = await Promise.all(Array.from({ length: 6 }, () => startRedis(settings)));
  const [first] = nodes as [RedisServer, ...RedisServer[]];
  first.run(
    ...['--cluster', 'create', ...nodes.map(({ port }) => `127.0.0.1:${port}`)],
    ...['--cluster-replicas', '1', '--cluster-yes'],
  );
  await untilReady(
    () =>
      nodes.every(
        (node) =>
          node.run('cluster', 'info').includes('cluster_state:ok') &&
          (node.run('role').startsWith('master') || node.run('role').includes('connected')),
      ),
    'a complete Redis Cluster',
  );
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    masterOf(key) {
      const asked = nodes.find((node) => {
        // A frozen node would block the call.
        if (!node.isUp()) return false;
        try {
          return node.run('ping') === 'PONG';
        } catch {
          return false;
        }
      });
      if (asked === undefined) throw new Error('No node of the cluster is there.');
      const slot = Number(asked.run('cluster', 'keyslot', key));
      for (const line of asked.run('cluster', 'nodes').split('\n')) {
        const [, address = '', flags = '', , , , , , ...ranges] = line.split(' ');
        const owns = ranges.some((range) => {
          const [from, to] = range.split('-').map(Number) as [number, number | undefined];
          return slot >= from && slot <= (to ?? from);
        });
        if (!flags.includes('master') || flags.includes('fail') || !owns) continue;
        const port = Number(/:(\d+)@/.exec(address)?.[1]);
        const node = nodes.find((each) => each.port === port);
        if (node !== undefined) return node;
      }
      throw new Error(`No master owns slot ${slot}.`);
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}
