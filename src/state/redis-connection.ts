/** Connections to Redis: single server, Sentinel or Redis Cluster. The only importer of ioredis. */
import { createRequire } from 'node:module';
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { AssayError, messageOf } from '../base/errors.ts';
import { STATE_LIMITS } from './limits.ts';
import type { RedisPlace } from './redis-url.ts';

/** The ioredis client, for the few commands that are not scripts, and for BullMQ. */
export type RedisConnection = Redis | Cluster;
/** The client of one server. */
export type RedisServer = Redis;

/**
 * The purpose of a connection. `commands`: a command has the time of an API request; `blocking`: commands that wait or subscribe;
 * `bullmq`: waits forever; `following`: connects once and ends with its server.
 */
export type Purpose = 'commands' | 'blocking' | 'bullmq' | 'following';

/** Redis Cluster moves slots and fails over during commands: the settings that the ioredis documentation recommends. */
const CLUSTER_RETRIES = {
  maxRedirections: 64,
  retryDelayOnFailover: 150,
  retryDelayOnClusterDown: 150,
} as const;
const RECONNECT_MS_MAX = 1_000;
const SILENCE_CHECK_MS = 1_000;

/** Delay before a reconnect, in milliseconds; null if the connection must not reconnect. */
const retryOf =
  (purpose: Purpose) =>
  (attempt: number): number | null =>
    purpose === 'following' ? null : Math.min(attempt * 50, RECONNECT_MS_MAX);

/**
 * True for the reply of a master that became a replica. Its connections stay open, and a name or a proxy in front of it leads to the new
 * master only when they are opened again.
 */
const isDemoted = (error: Error): boolean => error.message.startsWith('READONLY');

function serverOptions(place: RedisPlace, purpose: Purpose): RedisOptions {
  return {
    reconnectOnError: isDemoted,
    ...(place.username === null ? {} : { username: place.username }),
    ...(place.password === null ? {} : { password: place.password }),
    ...(place.tls ? { tls: {} } : {}),
    db: place.database,
    connectTimeout: STATE_LIMITS.redisConnectMs,
    retryStrategy: retryOf(purpose),
    // A command that fails over has the time of an API request; BullMQ and blocking commands wait forever.
    ...(purpose === 'commands'
      ? { commandTimeout: STATE_LIMITS.redisCommandMs, maxRetriesPerRequest: 3 }
      : { maxRetriesPerRequest: null }),
  };
}

/**
 * Opens connections again whose server is silent. A machine that lost its power or its network closes no connection: TCP gives up after a
 * quarter of an hour, and until then a node would wait for a master that Sentinel has replaced. Only intervals are counted, so an event loop
 * that was blocked, or a process that was paused, does not take a waiting reply for silence.
 */
export function watchSilence(connection: RedisConnection, purpose: Purpose): void {
  // The caller closes a connection that follows.
  if (purpose === 'following') return;
  if (connection.isCluster) connection.on('+node', (server: Redis) => watchServer(server, purpose));
  else watchServer(connection as Redis, purpose);
}

function watchServer(client: Redis, purpose: Purpose): void {
  const limitMs =
    purpose === 'bullmq' ? STATE_LIMITS.redisSilentBlockedMs : STATE_LIMITS.redisSilentCommandsMs;
  client.on('connect', () => {
    const { stream } = client;
    /** Bytes that were written when the last reply arrived: with more, a command waits for its reply. */
    let answeredBytes = stream.bytesWritten;
    let silentMs = 0;
    stream.on('data', () => {
      answeredBytes = stream.bytesWritten;
      silentMs = 0;
    });
    const timer = setInterval(() => {
      // A subscription has no replies of its own.
      if (purpose === 'blocking') client.ping().catch(() => {});
      silentMs = stream.bytesWritten === answeredBytes ? 0 : silentMs + SILENCE_CHECK_MS;
      if (silentMs >= limitMs) stream.destroy(new Error(`Redis was silent for ${limitMs / 1_000} s.`));
    }, SILENCE_CHECK_MS);
    timer.unref();
    stream.once('close', () => clearInterval(timer));
  });
}

/** Loaded when a connection is opened, so that a program without Redis does not pay for it. */
const ioredis = (): typeof import('ioredis') => createRequire(import.meta.url)('ioredis');

/** Opens a connection. */
export function connect(place: RedisPlace, purpose: Purpose): RedisConnection {
  const options = serverOptions(place, purpose);
  const { Cluster, Redis } = ioredis();
  if (place.kind === 'cluster')
    return new Cluster([...place.nodes], {
      ...CLUSTER_RETRIES,
      clusterRetryStrategy: retryOf(purpose),
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
  if (node === undefined) throw new Error('A Redis URL without a server was parsed.');
  return new Redis({ ...options, ...node });
}

/** Returns the masters of a Redis Cluster, or the single server. */
export const serversOf = (connection: RedisConnection): readonly RedisServer[] =>
  connection.isCluster ? (connection as Cluster).nodes('master') : [connection as Redis];

/** Returns the error for a lost connection, or for a server that rejects commands for the time being. */
export const notReady = (cause: unknown): AssayError =>
  new AssayError(
    'NOT_READY',
    isReply(cause)
      ? `Redis rejects commands at the moment: ${firstSentence(cause)} Try again.`
      : 'Redis cannot be reached at the moment. Try again.',
    { cause, retryAfterSeconds: 1 },
  );

const isReply = (error: unknown): error is Error => error instanceof Error && error.name === 'ReplyError';

/** Returns an error reply without the script that it names, and with a full stop. */
export const firstSentence = ({ message }: Error): string =>
  message.replace(/\.? script: .*$/s, '').replace(/\.?$/, '.');

/** True for replies of a server that works, and rejects all writes: it is a replica, or its memory or disk is full. */
export const isWriteRejection = (error: unknown): error is Error =>
  isReply(error) && /^(READONLY|OOM|MISCONF)/.test(error.message);

/**
 * True for error replies of a working server that rejects the command: these are bugs in Assay, and a retry does not help. A password or a
 * permission that was changed is changed back, or in the settings.
 */
export const isErrorReply = (error: unknown): boolean =>
  isReply(error) &&
  !/^(CLUSTERDOWN|MOVED|ASK|TRYAGAIN|LOADING|READONLY|MASTERDOWN|NOREPLICAS|MISCONF|BUSY|NOAUTH|WRONGPASS|NOPERM) /.test(
    error.message,
  );

/**
 * Returns the reason of a lost connection. Redis Cluster reports only that it is unreachable; the cause is in the error of the last node.
 *
 * @returns null if the error only states that a command was given up; an earlier error has the reason
 */
export function reasonOf(error: unknown): string | null {
  const { lastNodeError } = error as { lastNodeError?: unknown };
  const fault = lastNodeError instanceof Error ? lastNodeError : error;
  return fault instanceof Error && fault.name === 'MaxRetriesPerRequestError' ? null : messageOf(fault);
}

/**
 * Returns what the operator should check after a first connection failed: a server does not say that it expects the other protocol, but
 * closes the connection, or waits for the rest of a command. Empty for other reasons.
 */
export function protocolHint(reason: string, { tls }: Pick<RedisPlace, 'tls'>): string {
  if (!tls && /ECONNRESET|EPIPE/.test(reason))
    return ' If the server expects TLS, the URL must begin with rediss.';
  if (tls && /ETIMEDOUT|ECONNRESET|wrong version number/.test(reason))
    return ' If the server does not speak TLS, the URL must begin with redis.';
  return '';
}

/** Returns an AssayError for a lost connection; an error reply of the server is returned without its command. */
export function faultOf(error: unknown): unknown {
  if (error instanceof AssayError) return error;
  return isErrorReply(error) ? withoutCommand(error) : notReady(error);
}

/** Removes the command from an error reply, because it contains the data to write, which must not appear in a log. */
function withoutCommand(error: unknown): unknown {
  if (error instanceof Error) Reflect.deleteProperty(error, 'command');
  return error;
}
