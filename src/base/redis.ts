/**
 * The connection to Redis: single, Sentinel or Cluster. The only importer of ioredis. Everybody's keys begin with one prefix and carry
 * a hash tag, so that what one atomic step touches stands in one slot; each such step is a Lua script, and one round trip.
 */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { AssayError, messageOf } from './errors.ts';
import { LIMITS } from './limits.ts';
import type { Logger } from './log.ts';
import { within } from './within.ts';

/** Where Redis is, as `ASSAY_REDIS_URL` says it. */
export interface RedisPlace {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** Name of the master that Sentinels watch; empty elsewhere. */
  readonly master: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly database: number;
  readonly tls: boolean;
  /** What all keys begin with. */
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

/** What is wrong with the text, never the text itself: it holds a password. */
const wrong = (reason: string): AssayError =>
  new AssayError('INVALID_CONFIG', `The Redis URL ${reason}.`, { field: 'ASSAY_REDIS_URL' });

function readNode(text: string, defaultPort: number): RedisPlace['nodes'][number] {
  const found = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::(\d{1,5}))?$/.exec(text);
  const port = Number(found?.[2] ?? defaultPort);
  if (found === null || port < 1 || port > 65_535) throw wrong('names a server that is no host and port');
  return { host: (found[1] as string).replace(/^\[|\]$/g, ''), port };
}

/**
 * Reads `redis://user:password@host:port/database?prefix=assay`, its forms `rediss` (TLS), `redis+cluster://a:1,b:2` and
 * `redis+sentinel://a:1,b:2/master`. Throws INVALID_CONFIG.
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
  // Braces would make the prefix a hash tag, and put everything into one slot.
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

/** As `parseRedisUrl`, of a setting: what it throws names that, and never its password. */
export function readRedisUrl(text: string, setting: string): RedisPlace {
  try {
    return parseRedisUrl(text);
  } catch (error) {
    throw new AssayError('INVALID_CONFIG', `${setting}: ${messageOf(error)}`, { field: setting });
  }
}

/** ioredis's own client, for the few commands that are no script, and for BullMQ. */
export type RedisConnection = Redis | Cluster;

/** One atomic step: runs on the server as a whole. `keys` stand in one slot. */
export type Script = (
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<unknown>;

export interface ScriptOptions {
  readonly binary?: true;
  readonly safe?: true;
}

/** What a connection is for. */
export type Purpose = 'asking' | 'blocking' | 'bullmq' | 'following';

export interface RedisStore {
  readonly place: RedisPlace;
  /**
   * Where ordinary commands go. What they reject with is turned into an AssayError by `guard`, or by hand.
   */
  readonly connection: RedisConnection;
  /** `<prefix>:{<slot>}:<name>`: all names of one slot stand on one server. */
  key(slot: string, name: string): string;
  /**
   * Defines a script. It may be sent twice where the connection broke while it ran, so it is written to be repeated. A reply is text,
   * numbers and lists of them; with `binary`, texts come as Buffers. Rejects with NOT_READY where no server answers in time. `safe`: what it
   * wrote has reached as many replicas as are asked for before it resolves, in the same round trip; where they are not reached, it
   * rejects with NOT_READY though it was done.
   */
  script(name: string, lua: string, options?: ScriptOptions): Script;
  /**
   * Awaits a command; rejects with NOT_READY in place of what a lost connection rejects with: whether it was done is not known then.
   * What a server refuses is rejected with as it comes, without the command.
   */
  guard<T>(command: Promise<T>): Promise<T>;
  /**
   * A further connection, for commands that wait (XREAD BLOCK) or subscribe; closed with the store. `bullmq`: with the settings BullMQ
   * asks for (it waits for ever); `asking`: with those of `connection`; `following`: one that is tried once and ends with its server, for
   * who opens another one when it is time.
   */
  another(purpose: Purpose): RedisConnection;
  /** Scripts and guarded commands that were sent, for those who count round trips. */
  readonly roundTrips: number;
  /** Whether the connection is known to be lost, which was logged. */
  readonly isLost: boolean;
  /** How many replicas have what a `safe` script wrote before it resolves. */
  readonly replicas: number;
  /** The slots that hold a key of this name, on all servers; while slots move, one may come twice. */
  slotsWith(name: string): AsyncIterable<string>;
  /**
   * Rejects, with a sentence that begins with the name of the setting, with NOT_READY where no server answers at the start, and with
   * INVALID_CONFIG where one answers that it has no such database.
   */
  checkThere(setting: string): Promise<void>;
  /**
   * Looks every two seconds, until it is closed, whether as many replicas follow each master as have to acknowledge a write; `problem` says
   * what was found. Does nothing if none have to.
   */
  watchReplicas(): void;
  /** Why nothing can be acknowledged that has to reach replicas, in a sentence; null if it can, or before the first look. */
  problem(): string | null;
  /** Throws INVALID_CONFIG where the servers may drop what they are told to keep; warns where too few replicas follow. */
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

/** A cluster moves its slots and fails over while it is asked: ioredis's documented settings for that. */
const CLUSTER_RETRIES = {
  maxRedirections: 64,
  retryDelayOnFailover: 150,
  retryDelayOnClusterDown: 150,
} as const;
const RECONNECT_MS_MAX = 1_000;
/** How often a safe script is sent again: once by its text, and then for slots that move. */
const SAFE_TRIES = 8;
const REPLICAS_LOOK_MS = 2_000;
/** A replica acknowledges once a second; one that was silent for longer than this is not counted. */
const REPLICA_SILENT_SECONDS_MAX = 3;
/** Keys that one step of a scan looks at. */
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

/** Replies of a server that works and refuses this command: faults of ours, and no reason to wait. */
const isAnswer = (error: unknown): boolean =>
  error instanceof Error &&
  error.name === 'ReplyError' &&
  !/^(CLUSTERDOWN|MOVED|ASK|TRYAGAIN|LOADING|READONLY|MASTERDOWN|NOREPLICAS|MISCONF)/.test(error.message);

/** A cluster says of itself only that it was not found, and beside it what the last of its nodes said. */
function faultOf(error: unknown): string {
  const { lastNodeError } = error as { lastNodeError?: unknown };
  return messageOf(lastNodeError instanceof Error ? lastNodeError : error);
}

/** What a server refuses comes with the command and all that it was to write: no log is to show that. */
function withoutCommand(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'command');
  return error;
}

/** When a connection that broke is tried again, in milliseconds; null where it ends. */
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
    // A command that fails over is given the time of an API request; BullMQ and whoever blocks waits for ever.
    ...(use === 'asking'
      ? { commandTimeout: LIMITS.redisCommandMs, maxRetriesPerRequest: 3 }
      : { maxRetriesPerRequest: null }),
  };
}

/** Read when a connection is opened: a program without Redis does not pay for it. */
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

/** Masters of a cluster, or the one server there is. */
const serversOf = (connection: RedisConnection): readonly Redis[] =>
  connection.isCluster ? (connection as Cluster).nodes('master') : [connection as Redis];

const fieldOf = (info: string, name: string): string =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';

/** How many replicas of a master are there, and acknowledge. */
const followingOf = (replication: string): number =>
  [...replication.matchAll(/^slave\d+:.*state=online.*lag=(\d+)/gm)].filter(
    ([, lag]) => Number(lag) <= REPLICA_SILENT_SECONDS_MAX,
  ).length;

/** What a server may lose of what it was told to keep, in a sentence; null where it keeps everything. */
async function lossOf(server: Redis): Promise<string | null> {
  const memory = await server.info('memory');
  const policy = fieldOf(memory, 'maxmemory_policy');
  if (policy !== 'noeviction' && fieldOf(memory, 'maxmemory') !== '0')
    return `evicts keys when its memory is full (maxmemory-policy ${policy}); set it to noeviction`;
  const appends = fieldOf(await server.info('persistence'), 'aof_enabled') === '1';
  if (appends) return null;
  // A managed server may not tell its configuration; without an append-only file it is not believed.
  const [, saves = ''] = await server.config('GET', 'save').then(
    (reply) => reply as string[],
    () => [],
  );
  return saves === ''
    ? 'keeps nothing on disk (no append-only file and no snapshots); set appendonly yes'
    : null;
}

/**
 * Connects. A server that is away at the start is waited for by the first command, and after that by each. `replicas`: how many of them
 * have a write before it is acknowledged.
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
  /** Why the servers were not reached at last. */
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

  /** A connection of its own: one that waits for replicas answers nobody meanwhile. */
  let waiting: RedisConnection | null = null;
  let safeCalls = 0;
  let replicasLag = false;

  /** A script and the wait behind it; what it replied, and how many replicas have it. */
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
    // A master that was replaced while it waited: what it wrote may be lost.
    if (waited[0] !== null) throw notReady(waited[0]);
    return { reply: done[1], reached: Number(waited[1]) };
  }

  /** Sends it by its digest; by its text where the server does not know it, and elsewhere where its slot has moved. */
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
        // A command alone follows its slot, a pipeline does not.
        else await client.exists(...call.keys.slice(0, 1));
      }
    }
  }

  async function runSafely(digest: string, call: SafeCall): Promise<unknown> {
    // Where replicas were not reached, one call at a time finds out whether they are now: others would only queue behind it.
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

  /** Closed with the store, and so is what is made after its pattern: BullMQ does that, and cannot close it while the server is away. */
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
      // Which servers are masters a cluster knows when it has answered.
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
        // Whom a cluster is made of it asks for ever, and a database that is not there ioredis takes for the first one.
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
        // No reason to refuse: a replica that is away comes back, and what needs none is answered meanwhile.
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
