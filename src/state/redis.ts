/**
 * The store that all nodes share: Redis. All keys begin with one prefix and carry a hash tag, so that all keys of one atomic step are in one
 * slot. Each step is a Lua script, and takes one round trip.
 */
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { within } from '../base/within.ts';
import { STATE_LIMITS } from './limits.ts';
import {
  connect,
  faultOf,
  isErrorReply,
  type Purpose,
  protocolHint,
  type RedisConnection,
  reasonOf,
  serversOf,
  watchSilence,
} from './redis-connection.ts';
import { digestOf, SafeScripts } from './redis-safe-scripts.ts';
import { addressOf, infoField, lossOf, ReplicaWatch, WriteRejections } from './redis-servers.ts';
import type { RedisPlace } from './redis-url.ts';

export { faultOf, isWriteRejection, type Purpose, type RedisConnection } from './redis-connection.ts';
export { parseRedisUrl, type RedisPlace, readRedisUrl } from './redis-url.ts';

/** One atomic step, executed as a whole on the server. All `keys` must be in one slot. */
export type Script = (
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
) => Promise<unknown>;

export interface ScriptOptions {
  readonly binary?: true;
  readonly safe?: true;
}

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
   * @param purpose - `bullmq`: with the settings that BullMQ requires (it waits forever); `commands`: with those of `connection`;
   * `following`: connects once and ends with its server; the caller opens another one when needed
   */
  another(purpose: Purpose): RedisConnection;
  /** Number of scripts and guarded commands sent, to count round trips. */
  readonly roundTrips: number;
  /** True while the connection is known to be lost; the loss was logged. */
  readonly isLost: boolean;
  /** Why no connection could be opened when that was tried last; null if one could. */
  readonly fault: string | null;
  /** Number of replicas that must acknowledge a `safe` script before it resolves. */
  readonly replicas: number;
  /** Returns the slots that hold a key of this name, on all servers. While slots are moved, a slot may be returned twice. */
  slotsWith(name: string): AsyncIterable<string>;
  /**
   * Checks at startup that Redis can be used.
   *
   * @throws NOT_READY if no server replies or one is a replica, INVALID_CONFIG if the server has no such database; the message begins with the name of the
   * setting
   */
  checkReachable(setting: string): Promise<void>;
  /**
   * Checks every two seconds, until the store is closed, that each master has as many replicas as must acknowledge a write; `problem`
   * returns the result. Does nothing if no replica must acknowledge.
   */
  watchReplicas(): void;
  /**
   * Why writes are rejected, or why those that need replicas cannot be acknowledged, as a sentence; null if they can, or before the first
   * check.
   */
  problem(): string | null;
  /** Whether too few replicas follow to acknowledge writes, as of the last check. */
  lacksReplicas(): boolean;
  /**
   * Checks that the servers keep their data; logs a warning if too few replicas follow.
   *
   * @throws INVALID_CONFIG if a server may evict or lose data
   */
  checkDurability(): Promise<void>;
  close(): Promise<void>;
}

export interface RedisDeps {
  readonly log: Logger;
}

/** Number of keys that one scan step examines. */
const SCAN_COUNT = 1_000;

/** The connections of a store, and whether they work. */
class Connections {
  readonly main: RedisConnection;
  readonly #place: RedisPlace;
  readonly #log: Logger;
  readonly #further = new Set<RedisConnection>();
  readonly rejections: WriteRejections;
  /** Number of scripts and guarded commands sent. */
  roundTrips = 0;
  /** True while the connection is known to be lost. */
  isLost = false;
  /** The last reason why the servers were unreachable. */
  lastFault: string | null = null;

  constructor(place: RedisPlace, log: Logger) {
    this.#place = place;
    this.#log = log;
    this.rejections = new WriteRejections(log);
    this.main = connect(place, 'commands');
    this.#observe(this.main, 'commands');
  }

  /** Opens a further connection, which is closed together with the others. */
  another(purpose: Purpose): RedisConnection {
    return this.#register(connect(this.#place, purpose), purpose);
  }

  async guard<T>(command: Promise<T>): Promise<T> {
    this.roundTrips++;
    try {
      return await command;
    } catch (error) {
      this.rejections.note(error);
      throw faultOf(error);
    }
  }

  async close(): Promise<void> {
    this.rejections.stop();
    for (const client of this.#further) client.disconnect();
    await this.main.quit().catch(() => this.main.disconnect());
  }

  #observe(client: RedisConnection, purpose: Purpose): void {
    watchSilence(client, purpose);
    client.on('error', (error: unknown) => {
      this.lastFault = reasonOf(error) ?? this.lastFault;
      if (!this.isLost) this.#log.warn({ error: this.lastFault }, 'connection to Redis lost');
      this.isLost = true;
    });
    client.on('ready', () => {
      this.lastFault = null;
      if (this.isLost) this.#log.info('connected to Redis again');
      this.isLost = false;
    });
  }

  /**
   * Closes the connection, and its duplicates, together with the store: BullMQ makes duplicates, and cannot close them while the server is
   * away.
   */
  #register(client: RedisConnection, purpose: Purpose): RedisConnection {
    this.#observe(client, purpose);
    this.#further.add(client);
    client.on('end', () => this.#further.delete(client));
    const duplicate: (...options: never[]) => RedisConnection = client.duplicate.bind(client);
    return Object.assign(client, {
      duplicate: (...options: never[]) => this.#register(duplicate(...options), purpose),
    });
  }
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
  const connections = new Connections(place, log);
  const connection = connections.main;
  const guard = <T>(command: Promise<T>): Promise<T> => connections.guard(command);
  const safeScripts = new SafeScripts(replicas, () => connections.another('commands'));
  const watch = new ReplicaWatch(replicas, { connection, guard, log });

  return {
    place,
    connection,
    key: (slot, name) => `${place.prefix}:{${slot}}:${name}`,
    script(name, lua, { binary = false, safe = false }: { binary?: boolean; safe?: boolean } = {}) {
      if (safe && replicas > 0) {
        const digest = digestOf(lua);
        return (keys, args) => guard(safeScripts.run(digest, { lua, binary, keys, args }));
      }
      const call = defineScript(connection, `assay_${name}`, lua, binary);
      return (keys, args) => guard(call.call(connection, keys.length, ...keys, ...args));
    },
    guard,
    another: (purpose) => connections.another(purpose),
    get roundTrips() {
      return connections.roundTrips;
    },
    get isLost() {
      return connections.isLost;
    },
    get fault() {
      return connections.lastFault;
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
    checkReachable: (setting) => checkReachable(setting, place, connections),
    watchReplicas: () => watch.start(),
    problem: () => connections.rejections.reason ?? watch.shortage,
    lacksReplicas: () => watch.shortage !== null,
    async checkDurability() {
      await guard(connection.ping());
      for (const server of serversOf(connection)) {
        const loss = await guard(lossOf(server));
        if (loss !== null)
          throw new AssayError(
            'INVALID_CONFIG',
            `The Redis server ${addressOf(server)} ${loss}, or set ASSAY_REDIS_MAY_LOSE=on.`,
            { field: 'ASSAY_REDIS_URL' },
          );
        // Not an error: an absent replica comes back, and requests that need no replica are processed meanwhile.
        const following = Number(infoField(await guard(server.info('replication')), 'connected_slaves'));
        if (following < replicas)
          log.warn(
            { server: addressOf(server), following, required: replicas },
            'too few Redis replicas: changes of credits are not acknowledged',
          );
      }
    },
    async close() {
      watch.stop();
      await connections.close();
    },
  };
}

type ScriptCommand = (...args: readonly (string | number | Buffer)[]) => Promise<unknown>;

/** Defines a script as a command of the connection. */
function defineScript(
  connection: RedisConnection,
  command: string,
  lua: string,
  binary: boolean,
): ScriptCommand {
  connection.defineCommand(command, { lua });
  const commands = connection as unknown as Readonly<Record<string, ScriptCommand>>;
  return commands[binary ? `${command}Buffer` : command] as ScriptCommand;
}

async function checkReachable(setting: string, place: RedisPlace, connections: Connections): Promise<void> {
  const { main } = connections;
  const addresses = place.nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  try {
    // ioredis retries the nodes of a Redis Cluster forever, and falls back to the first database if the configured one does not exist.
    const reply = place.database === 0 ? main.ping() : main.call('select', place.database);
    await within(STATE_LIMITS.redisStartMs, reply, 'Redis');
  } catch (error) {
    const reason = isErrorReply(error) ? messageOf(error) : (connections.lastFault ?? messageOf(error));
    throw new AssayError(
      /^ERR .*DB index/.test(reason) ? 'INVALID_CONFIG' : 'NOT_READY',
      `${setting}: Redis cannot be used at ${addresses}: ${reason.replace(/\.$/, '')}.${protocolHint(reason, place)}`,
      { field: setting, cause: error },
    );
  }
  await requireMasters(setting, connections);
}

/** Throws NOT_READY if a server is a replica: it rejects writes, and before its first synchronisation it looks like an empty Redis. */
async function requireMasters(setting: string, { main }: Connections): Promise<void> {
  for (const server of serversOf(main)) {
    // A managed server may refuse INFO.
    const replication = await server.info('replication').catch(() => '');
    if (infoField(replication, 'role') !== 'slave') continue;
    const master = `${infoField(replication, 'master_host')}:${infoField(replication, 'master_port')}`;
    throw new AssayError(
      'NOT_READY',
      `${setting}: the Redis server ${addressOf(server)} is a replica of ${master} and accepts no writes. Use the address of the master, or of the Sentinels.`,
      { field: setting },
    );
  }
}
