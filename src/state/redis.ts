/**
 * The connection to Redis: single server, Sentinel or Redis Cluster. The only importer of ioredis. All keys begin with one prefix and carry
 * a hash tag, so that all keys of one atomic step are in one slot. Each step is a Lua script, and takes one round trip.
 */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { within } from '../base/within.ts';

/** The Redis servers that `ASSAY_REDIS_URL` names. */
export interface RedisPlace {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** Name of the master that the Sentinels watch; empty otherwise. */
  readonly master: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly database: number;
  readonly tls: boolean;
  /** The prefix of all keys. */
  readonly prefix: string;
}

const SCHEMES: Readonly<Record<string, Pick<RedisPlace, 'kind' | 'tls'>>> = {
  'redis:': { kind: 'single', tls: false },
  'rediss:': { kind: 'single', tls: true },
  'redis+sentinel:': { kind: 'sentinel', tls: false },
  'rediss+sentinel:': { kind: 'sentinel', tls: true },
  'redis+cluster:': { kind: 'cluster', tls: false },
  'rediss+cluster:': { kind: 'cluster', tls: true },
};
const DEFAULT_PORTS = { single: 6379, sentinel: 26_379, cluster: 6379 } as const;
const DEFAULT_PREFIX = 'assay';

/** The error names the problem but not the URL, which holds a password. */
const wrong = (reason: string): AssayError =>
  new AssayError('INVALID_CONFIG', `The Redis URL ${reason}.`, { field: 'ASSAY_REDIS_URL' });

function readNode(text: string, defaultPort: number): RedisPlace['nodes'][number] {
  const found = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::(\d{1,5}))?$/.exec(text);
  const port = Number(found?.[2] ?? defaultPort);
  if (found === null || port < 1 || port > 65_535) throw wrong('names a server that is no host and port');
  return { host: (found[1] as string).replace(/^\[|\]$/g, ''), port };
}

/**
 * Parses `redis://user:password@host:port/database?prefix=assay` and its forms `rediss` (TLS), `redis+cluster://a:1,b:2` and
 * `redis+sentinel://a:1,b:2/master`.
 *
 * @throws INVALID_CONFIG
 */
export function parseRedisUrl(text: string): RedisPlace {
  const found = /^([a-z+]+:)\/\/(?:([^@/?]*)@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(text);
  const scheme = found === null ? undefined : SCHEMES[found[1] as string];
  if (found === null || scheme === undefined)
    throw wrong(`must begin with one of ${Object.keys(SCHEMES).join('//, ')}//`);
  const [, , credentials, hosts = '', path = '', query = ''] = found;
  const { kind, tls } = scheme;
  const nodes = hosts.split(',').map((node) => readNode(node, DEFAULT_PORTS[kind]));
  if (kind === 'single' && nodes.length > 1)
    throw wrong('names several servers: say redis+cluster or redis+sentinel');
  if (kind === 'sentinel' && !/^[0-9A-Za-z._-]+$/.test(path))
    throw wrong('must end in the name of the master');
  if (kind === 'cluster' && path !== '' && path !== '0')
    throw wrong('names a database, and a cluster has none');
  if (kind === 'single' && !/^\d{0,3}$/.test(path))
    throw wrong('must end in the number of a database, or in nothing');
  const [user, password] = (credentials ?? '').split(/:(.*)/s);
  const settings = new URLSearchParams(query);
  for (const name of settings.keys())
    if (name !== 'prefix') throw wrong(`has the setting '${name}', and only prefix is known`);
  const prefix = settings.get('prefix') ?? DEFAULT_PREFIX;
  // Braces would turn the prefix into a hash tag and put all keys into one slot.
  if (!/^[0-9A-Za-z:_.-]{1,64}$/.test(prefix))
    throw wrong('has a prefix that is not 1 to 64 letters, digits, colons, dots or hyphens');
  return {
    kind,
    nodes,
    master: kind === 'sentinel' ? path : '',
    username: user ? decodeURIComponent(user) : null,
    password: password ? decodeURIComponent(password) : null,
    database: kind === 'single' ? Number(path) : 0,
    tls,
    prefix,
  };
}

/**
 * Parses the Redis URL of a setting. Like `parseRedisUrl`, but the error names the setting.
 *
 * @throws INVALID_CONFIG naming the setting, without the password
 */
export function readRedisUrl(text: string, setting: string): RedisPlace {
  try {
    return parseRedisUrl(text);
  } catch (error) {
    throw new AssayError('INVALID_CONFIG', `${setting}: ${messageOf(error)}`, { field: setting });
  }
}

/** The ioredis client, for the few commands that are not scripts, and for BullMQ. */
export type RedisConnection = Redis | Cluster;

/** One atomic step, executed as a whole on the server. All `keys` must be in one slot. */
export type Script = (
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<unknown>;

export interface ScriptOptions {
  readonly binary?: true;
  readonly safe?: true;
}

/** The purpose of a connection. */
export type Purpose = 'asking' | 'blocking' | 'bullmq' | 'following';

export interface RedisStore {
  readonly place: RedisPlace;
  /** The connection for ordinary commands. `guard` turns their rejections into an AssayError, or the caller does. */
  readonly connection: RedisConnection;
  /** Returns `<prefix>:{<slot>}:<name>`: all names of one slot are on one server. */
  key(slot: string, name: string): string;
  /**
   * Defines a script. If the connection breaks while the script runs, it may be sent twice, so it must be repeatable. A reply consists of
   * text, numbers and lists of them.
   *
   * @param options - `binary`: texts are returned as Buffers. `safe`: the promise resolves only after the required number of replicas has
   * acknowledged the writes, in the same round trip; if too few acknowledge, it rejects with NOT_READY although the script was executed.
   * @throws NOT_READY if no server replies in time
   */
  script(name: string, lua: string, options?: ScriptOptions): Script;
  /**
   * Awaits a command. If the connection is lost, rejects with NOT_READY; it is then unknown whether the command was executed. An error
   * reply of the server is passed on, without the command.
   */
  guard<T>(command: Promise<T>): Promise<T>;
  /**
   * Opens a further connection, for commands that wait (XREAD BLOCK) or subscribe. It is closed with the store.
   *
   * @param purpose - `bullmq`: with the settings that BullMQ requires (it waits forever); `asking`: with those of `connection`;
   * `following`: connects once and ends with its server; the caller opens another one when needed
   */
  another(purpose: Purpose): RedisConnection;
  /** Number of scripts and guarded commands sent, to count round trips. */
  readonly roundTrips: number;
  /** True while the connection is known to be lost; the loss was logged. */
  readonly isLost: boolean;
  /** Number of replicas that must acknowledge a `safe` script before it resolves. */
  readonly replicas: number;
  /** Returns the slots that hold a key of this name, on all servers. While slots are moved, a slot may be returned twice. */
  slotsWith(name: string): AsyncIterable<string>;
  /**
   * Checks at startup that Redis can be used.
   *
   * @throws NOT_READY if no server replies, INVALID_CONFIG if the server has no such database; the message begins with the name of the
   * setting
   */
  checkThere(setting: string): Promise<void>;
  /**
   * Checks every two seconds, until the store is closed, that each master has as many replicas as must acknowledge a write; `problem`
   * returns the result. Does nothing if no replica must acknowledge.
   */
  watchReplicas(): void;
  /** Why writes that need replicas cannot be acknowledged, as a sentence; null if they can, or before the first check. */
  problem(): string | null;
  /**
   * Checks that the servers keep their data; logs a warning if too few replicas follow.
   *
   * @throws INVALID_CONFIG if a server may evict or lose data
   */
  checkKeeps(): Promise<void>;
  close(): Promise<void>;
}

/** One call of a safe script. */
interface SafeCall {
  readonly lua: string;
  readonly binary: boolean;
  readonly keys: readonly string[];
  readonly args: readonly (string | number | Buffer)[];
}

export interface RedisDeps {
  readonly log: Logger;
}

/** Redis Cluster moves slots and fails over during commands: the settings that the ioredis documentation recommends. */
const CLUSTER_RETRIES = {
  maxRedirections: 64,
  retryDelayOnFailover: 150,
  retryDelayOnClusterDown: 150,
} as const;
const RECONNECT_MS_MAX = 1_000;
/** Maximum number of times a safe script is sent: once with its text, and then again for moved slots. */
const SAFE_TRIES = 8;
const REPLICAS_LOOK_MS = 2_000;
/** A replica acknowledges once a second; a replica that was silent for longer is not counted. */
const REPLICA_SILENT_SECONDS_MAX = 3;
/** Number of keys that one scan step examines. */
const SCAN_COUNT = 1_000;

const notReady = (cause: unknown): AssayError =>
  new AssayError('NOT_READY', 'Redis cannot be reached at the moment. Try again.', {
    cause,
    retryAfterSeconds: 1,
  });

const behind = (what: string): AssayError =>
  new AssayError('NOT_READY', `Too few replicas of Redis follow their master; ${what}. Try again.`, {
    retryAfterSeconds: 1,
  });

/** True for error replies of a working server that rejects the command: these are bugs in Assay, and a retry does not help. */
const isAnswer = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === 'ReplyError' &&
  !/^(CLUSTERDOWN|MOVED|ASK|TRYAGAIN|LOADING|READONLY|MASTERDOWN|NOREPLICAS|MISCONF)/.test(error.message);

/** Redis Cluster reports only that it is unreachable; the cause is in the error of the last node. */
function faultOf(error: unknown): string {
  const { lastNodeError } = error as { lastNodeError?: unknown };
  return messageOf(lastNodeError instanceof Error ? lastNodeError : error);
}

/** Removes the command from an error reply, because it contains the data to write, which must not appear in a log. */
function withoutCommand(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'command');
  return error;
}

/** Delay before a reconnect, in milliseconds; null if the connection must not reconnect. */
const retryOf =
  (use: Purpose) =>
  (attempt: number): number | null =>
    use === 'following' ? null : Math.min(attempt * 50, RECONNECT_MS_MAX);

function serverOptions(place: RedisPlace, use: Purpose): RedisOptions {
  return {
    ...(place.username === null ? {} : { username: place.username }),
    ...(place.password === null ? {} : { password: place.password }),
    ...(place.tls ? { tls: {} } : {}),
    db: place.database,
    connectTimeout: LIMITS.redisConnectMs,
    retryStrategy: retryOf(use),
    // A command that fails over has the time of an API request; BullMQ and blocking commands wait forever.
    ...(use === 'asking'
      ? { commandTimeout: LIMITS.redisCommandMs, maxRetriesPerRequest: 3 }
      : { maxRetriesPerRequest: null }),
  };
}

/** Loaded when a connection is opened, so that a program without Redis does not pay for it. */
const ioredis = (): typeof import('ioredis') => createRequire(import.meta.url)('ioredis');

function connect(place: RedisPlace, use: Purpose): RedisConnection {
  const options = serverOptions(place, use);
  const { Cluster, Redis } = ioredis();
  if (place.kind === 'cluster')
    return new Cluster([...place.nodes], {
      ...CLUSTER_RETRIES,
      clusterRetryStrategy: retryOf(use),
      redisOptions: options,
    });
  if (place.kind === 'sentinel')
    return new Redis({
      ...options,
      sentinels: [...place.nodes],
      name: place.master,
      ...(place.password === null ? {} : { sentinelPassword: place.password }),
      ...(place.tls ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    });
  const [node] = place.nodes;
  if (node === undefined) throw wrong('names no server');
  return new Redis({ ...options, ...node });
}

/** Returns the masters of a Redis Cluster, or the single server. */
const serversOf = (connection: RedisConnection): readonly Redis[] =>
  connection.isCluster ? (connection as Cluster).nodes('master') : [connection as Redis];

const fieldOf = (info: string, name: string): string =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';

/** Returns how many replicas of a master are online and acknowledge. */
const followingOf = (replication: string): number =>
  [...replication.matchAll(/^slave\d+:.*state=online.*lag=(\d+)/gm)].filter(
    ([, lag]) => Number(lag) <= REPLICA_SILENT_SECONDS_MAX,
  ).length;

/** Returns how a server may lose data, as part of a sentence; null if it keeps everything. */
async function lossOf(server: Redis): Promise<string | null> {
  const memory = await server.info('memory');
  const policy = fieldOf(memory, 'maxmemory_policy');
  if (policy !== 'noeviction' && fieldOf(memory, 'maxmemory') !== '0')
    return `evicts keys when its memory is full (maxmemory-policy ${policy}); set it to noeviction`;
  const appends = fieldOf(await server.info('persistence'), 'aof_enabled') === '1';
  if (appends) return null;
  // A managed server may refuse CONFIG; without an append-only file it counts as unsafe.
  const [, saves = ''] = await server.config('GET', 'save').then(
    (reply) => reply as string[],
    () => [],
  );
  return saves === ''
    ? 'keeps nothing on disk (no append-only file and no snapshots); set appendonly yes'
    : null;
}

/**
 * Connects to Redis. If a server is away at the start, every command waits for it.
 *
 * @param options - `replicas`: number of replicas that must have a write before it is acknowledged
 */
export function openRedis(
  place: RedisPlace,
  { log }: RedisDeps,
  { replicas = 0 }: { readonly replicas?: number } = {},
): RedisStore {
  const connection = connect(place, 'asking');
  const further = new Set<RedisConnection>();
  let roundTrips = 0;
  let wasLost = false;
  /** The last reason why the servers were unreachable. */
  let fault: string | null = null;
  const listen = (client: RedisConnection): void => {
    client.on('error', (error: unknown) => {
      fault = faultOf(error);
      if (!wasLost) log.warn({ error: fault }, 'The connection to Redis is lost.');
      wasLost = true;
    });
    client.on('ready', () => {
      fault = null;
      if (wasLost) log.info('Redis is there again.');
      wasLost = false;
    });
  };
  listen(connection);

  async function guard<T>(command: Promise<T>): Promise<T> {
    roundTrips++;
    try {
      return await command;
    } catch (error) {
      if (error instanceof AssayError) throw error;
      throw isAnswer(error) ? withoutCommand(error) : notReady(error);
    }
  }

  /** A separate connection: while it waits for replicas, it cannot process other commands. */
  let waiting: RedisConnection | null = null;
  let safeCalls = 0;
  let replicasLag = false;

  /** Sends a script followed by WAIT; returns the script's reply and the number of replicas that have acknowledged. */
  async function sendSafely(
    client: RedisConnection,
    command: readonly [name: 'eval' | 'evalsha', text: string],
    { binary, keys, args }: SafeCall,
  ): Promise<{ readonly reply: unknown; readonly reached: number }> {
    const pipeline = client.pipeline();
    const rest = [command[1], keys.length, ...keys, ...args] as const;
    if (binary) pipeline.callBuffer(command[0], ...rest);
    else pipeline.call(command[0], ...rest);
    const [done, waited] = (await pipeline.wait(replicas, LIMITS.redisReplicasMs).exec()) ?? [];
    if (done === undefined || waited === undefined) throw new Error('A pipeline was answered with nothing.');
    if (done[0] !== null) throw done[0];
    // The master was replaced during the wait: its writes may be lost.
    if (waited[0] !== null) throw notReady(waited[0]);
    return { reply: done[1], reached: Number(waited[1]) };
  }

  /** Sends a script by its digest; with its text if the server does not know the digest; again if its slot has moved. */
  async function untilSent(client: RedisConnection, digest: string, call: SafeCall) {
    let command: readonly ['eval' | 'evalsha', string] = ['evalsha', digest];
    for (let tries = 0; ; tries++) {
      try {
        return await sendSafely(client, command, call);
      } catch (error) {
        const isUnknown = messageOf(error).startsWith('NOSCRIPT');
        const hasMoved = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)/.test(messageOf(error));
        if (tries >= SAFE_TRIES || !(isUnknown || hasMoved)) throw error;
        if (isUnknown) command = ['eval', call.lua];
        // ioredis follows a moved slot for a single command, but not for a pipeline.
        else await client.exists(...call.keys.slice(0, 1));
      }
    }
  }

  async function runSafely(digest: string, call: SafeCall): Promise<unknown> {
    // If replicas lag, one call at a time probes them; further calls would only queue behind it.
    if (replicasLag && safeCalls > 0) throw behind('nothing was done');
    waiting ??= another('asking');
    safeCalls++;
    try {
      const { reply, reached } = await untilSent(waiting, digest, call);
      replicasLag = reached < replicas;
      if (replicasLag) throw behind('it may be done');
      return reply;
    } finally {
      safeCalls--;
    }
  }

  let watch: NodeJS.Timeout | null = null;
  let shortage: string | null = null;
  async function lookAtReplicas(): Promise<void> {
    let found: string | null = null;
    for (const server of serversOf(connection)) {
      const following = followingOf(await guard(server.info('replication')));
      if (following >= replicas) continue;
      const { host, port } = server.options;
      found = `Too few replicas follow the Redis server ${host}:${port} (${following} of ${replicas}): no change of credits and of shared stores is acknowledged until they do.`;
    }
    if (found !== null && shortage === null) log.error({ reason: found }, 'Replicas of Redis are missing.');
    if (found === null && shortage !== null) log.info('The replicas of Redis are there again.');
    shortage = found;
  }

  /**
   * Closes the connection, and its duplicates, together with the store: BullMQ makes duplicates, and cannot close them while the server is
   * away.
   */
  function kept(client: RedisConnection): RedisConnection {
    listen(client);
    further.add(client);
    client.on('end', () => further.delete(client));
    const duplicate: (...options: never[]) => RedisConnection = client.duplicate.bind(client);
    return Object.assign(client, { duplicate: (...options: never[]) => kept(duplicate(...options)) });
  }
  const another: RedisStore['another'] = (purpose) => kept(connect(place, purpose));

  return {
    place,
    connection,
    key: (slot, name) => `${place.prefix}:{${slot}}:${name}`,
    script(name, lua, { binary = false, safe = false }: { binary?: boolean; safe?: boolean } = {}) {
      if (safe && replicas > 0) {
        const digest = createHash('sha1').update(lua).digest('hex');
        return (keys, args) => guard(runSafely(digest, { lua, binary, keys, args }));
      }
      const command = `assay_${name}`;
      connection.defineCommand(command, { lua });
      type Call = (...args: readonly (string | number | Buffer)[]) => Promise<unknown>;
      const call = (connection as unknown as Readonly<Record<string, Call>>)[
        binary ? `${command}Buffer` : command
      ] as Call;
      return (keys, args) => guard(call.call(connection, keys.length, ...keys, ...args));
    },
    guard,
    another,
    get roundTrips() {
      return roundTrips;
    },
    get isLost() {
      return wasLost;
    },
    replicas,
    async *slotsWith(name) {
      const pattern = `${place.prefix}:{*}:${name}`;
      // ioredis knows the masters of a Redis Cluster only after a first reply.
      await guard(connection.ping());
      for (const server of serversOf(connection)) {
        let cursor = '0';
        do {
          const [next, keys] = await guard(server.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT));
          cursor = next;
          for (const key of keys) yield key.slice(place.prefix.length + 2, -(name.length + 2));
        } while (cursor !== '0');
      }
    },
    async checkThere(setting) {
      const where = place.nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
      try {
        // ioredis retries the nodes of a Redis Cluster forever, and falls back to the first database if the configured one does not exist.
        const answer = place.database === 0 ? connection.ping() : connection.call('select', place.database);
        await within(LIMITS.redisStartMs, answer, 'Redis');
      } catch (error) {
        const reason = isAnswer(error) ? messageOf(error) : (fault ?? messageOf(error));
        throw new AssayError(
          /^ERR .*DB index/.test(reason) ? 'INVALID_CONFIG' : 'NOT_READY',
          `${setting}: no Redis can be used at ${where}: ${reason.replace(/\.$/, '')}.`,
          { field: setting, cause: error },
        );
      }
    },
    watchReplicas() {
      if (replicas === 0 || watch !== null) return;
      const look = (): void =>
        void lookAtReplicas().catch((error: unknown) =>
          log.debug({ error: messageOf(error) }, 'The replicas of Redis could not be looked at.'),
        );
      look();
      watch = setInterval(look, REPLICAS_LOOK_MS);
      watch.unref();
    },
    problem: () => shortage,
    async checkKeeps() {
      await guard(connection.ping());
      for (const server of serversOf(connection)) {
        const loss = await guard(lossOf(server));
        if (loss !== null)
          throw new AssayError(
            'INVALID_CONFIG',
            `The Redis server ${server.options.host}:${server.options.port} ${loss}, or say ASSAY_REDIS_MAY_LOSE=on.`,
            { field: 'ASSAY_REDIS_URL' },
          );
        // Not an error: an absent replica comes back, and requests that need no replica are processed meanwhile.
        const following = Number(fieldOf(await guard(server.info('replication')), 'connected_slaves'));
        if (following < replicas)
          log.warn(
            { server: `${server.options.host}:${server.options.port}`, following, asked: replicas },
            'Too few replicas follow a Redis server: until they do, no change of credits is acknowledged.',
          );
      }
    },
    async close() {
      if (watch !== null) clearInterval(watch);
      for (const client of further) client.disconnect();
      await connection.quit().catch(() => connection.disconnect());
    },
  };
}
