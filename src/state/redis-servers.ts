/** Checks of the Redis servers: whether they keep their data, accept writes, and whether enough replicas follow them. */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import {
  firstSentence,
  isWriteRejection,
  type RedisConnection,
  type RedisServer,
  serversOf,
} from './redis-connection.ts';

const CHECK_MS = 2_000;
/** A replica acknowledges once a second; a replica that was silent for longer is not counted. */
const REPLICA_SILENT_SECONDS_MAX = 3;

/** Returns the host and port of a server. Sentinels name the server only when the connection is opened. */
export function addressOf({ options, stream }: RedisServer): string {
  if (!options.sentinels) return `${options.host}:${options.port}`;
  return stream?.remoteAddress ? `${stream.remoteAddress}:${stream.remotePort}` : `${options.name}`;
}

/** Returns a field of the reply of INFO; empty if it is missing. */
export const infoField = (info: string, name: string): string =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';

/** Returns how many replicas of a master are online and acknowledge. */
const followingOf = (replication: string): number =>
  [...replication.matchAll(/^slave\d+:.*state=online.*lag=(\d+)/gm)].filter(
    ([, lag]) => Number(lag) <= REPLICA_SILENT_SECONDS_MAX,
  ).length;

/** Returns how a server may lose data, as part of a sentence; null if it keeps everything. */
export async function lossOf(server: RedisServer): Promise<string | null> {
  const memory = await server.info('memory');
  const policy = infoField(memory, 'maxmemory_policy');
  if (policy !== 'noeviction' && infoField(memory, 'maxmemory') !== '0')
    return `evicts keys when its memory is full (maxmemory-policy ${policy}): set it to noeviction`;
  const appends = infoField(await server.info('persistence'), 'aof_enabled') === '1';
  if (appends) return null;
  // A managed server may refuse CONFIG; without an append-only file it counts as unsafe.
  const [, saves = ''] = await server.config('GET', 'save').then(
    (reply) => reply as string[],
    () => [],
  );
  return saves === ''
    ? 'stores nothing on disk (no append-only file and no snapshots): set appendonly yes'
    : null;
}

export interface ReplicaWatchDeps {
  readonly connection: RedisConnection;
  /** Awaits a command; see RedisStore. */
  readonly guard: <T>(command: Promise<T>) => Promise<T>;
  readonly log: Logger;
}

/** Checks regularly that each master has as many replicas as must acknowledge a write. */
export class ReplicaWatch {
  readonly #replicas: number;
  readonly #deps: ReplicaWatchDeps;
  #timer: NodeJS.Timeout | null = null;
  #shortage: string | null = null;

  /** @param replicas - number of replicas that must acknowledge a write */
  constructor(replicas: number, deps: ReplicaWatchDeps) {
    this.#replicas = replicas;
    this.#deps = deps;
  }

  /** Why writes cannot be acknowledged, as a sentence; null if they can, or before the first check. */
  get shortage(): string | null {
    return this.#shortage;
  }

  /** Starts the checks. Does nothing if no replica must acknowledge. */
  start(): void {
    if (this.#replicas === 0 || this.#timer !== null) return;
    const check = (): void =>
      void this.#check().catch((error: unknown) =>
        this.#deps.log.debug({ error: messageOf(error) }, 'check of the Redis replicas failed'),
      );
    check();
    this.#timer = setInterval(check, CHECK_MS);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    const { connection, guard, log } = this.#deps;
    let shortage: string | null = null;
    for (const server of serversOf(connection)) {
      const following = followingOf(await guard(server.info('replication')));
      if (following >= this.#replicas) continue;
      shortage = `Too few replicas follow the Redis server ${addressOf(server)} (${following} of ${this.#replicas}): changes of credits and of shared stores are not acknowledged until enough replicas follow.`;
    }
    if (shortage !== null && this.#shortage === null)
      log.error({ reason: shortage }, 'too few Redis replicas');
    if (shortage === null && this.#shortage !== null) log.info('enough Redis replicas again');
    this.#shortage = shortage;
  }
}

/** A node writes its heartbeat every second, so a server that still rejects writes is noticed again before this time has passed. */
const REJECTION_MS = 3_000;

/** Remembers that a server rejects writes, until it has rejected none for a moment. */
export class WriteRejections {
  readonly #log: Logger;
  #reason: string | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Why writes are rejected, as a sentence; null if they are accepted as far as is known. */
  get reason(): string | null {
    return this.#reason;
  }

  /** Examines the error of a command. */
  note(error: unknown): void {
    if (!isWriteRejection(error)) return;
    const reason = firstSentence(error);
    if (this.#reason === null) this.#log.error({ reason }, 'Redis rejects writes');
    this.#reason = `Redis rejects writes: ${reason} Requests with a key fail until it accepts them again.`;
    if (this.#timer === null) {
      this.#timer = setTimeout(() => this.#end(), REJECTION_MS);
      this.#timer.unref();
    } else this.#timer.refresh();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #end(): void {
    this.#reason = null;
    this.#timer = null;
    this.#log.info('Redis accepts writes again');
  }
}
