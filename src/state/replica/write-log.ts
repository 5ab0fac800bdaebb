/** The log of write sets of one replicated store in Redis: appends to it, reads it, and reads copies of the data. */
import { luaScript } from '../../base/paths.ts';
import { within } from '../../base/within.ts';
import type { Fence } from '../live-store.ts';
import type { RedisConnection, RedisStore, Script } from '../redis.ts';
import { decodeWrites, type WriteSet } from '../write-set.ts';
import { REPLICA_LIMITS } from './limits.ts';
import type { Position } from './replica-file.ts';

/** The reply of the append script; lua/replica-append.lua describes each kind. */
export type LogReply =
  | { readonly kind: 'appended' | 'same' | 'ahead' | 'lost' }
  | { readonly kind: 'behind'; readonly sets: readonly WriteSet[] }
  | { readonly kind: 'fenced'; readonly at: number }
  | { readonly kind: 'format' | 'other'; readonly found: string };

/** A write set to append. */
export interface AppendRequest {
  /** Unique id of the write set: a request that is sent again with the same id is executed once. */
  readonly id: string;
  /** The encoded write set. */
  readonly writes: Buffer;
  readonly fences: readonly Fence[];
}

/** One page of a copy. */
export interface CopiedPage {
  /** Run id of the server: a cursor is valid on one server only. */
  readonly server: string;
  readonly cursor: string;
  /** Fields and values in turn. */
  readonly entries: readonly Buffer[];
}

/** The result of a wait for new write sets. */
export interface Tail {
  readonly sets: readonly WriteSet[];
  /** True if the end of the wait was reached and nothing was written. */
  readonly isTimeout: boolean;
  /** True if more write sets may be available. */
  readonly isFull: boolean;
  /** The head of the store; the values are null if they are missing. */
  readonly head: {
    readonly version: number;
    readonly last: string | null;
    readonly installation: string;
  };
}

export interface WriteLogOptions {
  /** Name of the store. */
  readonly name: string;
  readonly formatVersion: number;
  /** Id of the installation that owns the store; empty if it belongs to none. */
  readonly installationId: string;
  /** Unique id of this writer. */
  readonly writer: string;
}

/** The format of a store while replica-fill.ts fills it. It is not the format of any node, so no node reads or writes the store. */
export const FILLING = 'filling';

const NO_BYTES = Buffer.alloc(0);
const READ_ONLY: AppendRequest = { id: '', writes: NO_BYTES, fences: [] };
const TAIL_COUNT = 64;
/** Extra time for a blocking read beyond its wait before its connection is closed. */
const TAIL_GRACE_MS = 400;

/** Client of the log of one store. */
export class WriteLog {
  readonly #redis: RedisStore;
  readonly #options: WriteLogOptions;
  readonly #keys: readonly string[];
  readonly #headKey: string;
  readonly #dataKey: string;
  readonly #streamKey: string;
  readonly #append: Script;
  readonly #look: Script;
  readonly #copyPage: Script;
  readonly #trim: Script;

  constructor(options: WriteLogOptions, redis: RedisStore) {
    const { name, writer } = options;
    this.#redis = redis;
    this.#options = options;
    this.#headKey = redis.key(name, 'head');
    this.#dataKey = redis.key(name, 'data');
    this.#streamKey = redis.key(name, 'stream');
    this.#keys = [this.#headKey, this.#dataKey, this.#streamKey, redis.key(name, `writer:${writer}`)];
    const append = luaScript('state', 'lua', 'replica-append');
    this.#append = redis.script('replica_append', append, { binary: true, safe: true });
    this.#look = redis.script('replica_look', append, { binary: true });
    this.#trim = redis.script('replica_trim', luaScript('state', 'lua', 'replica-trim'));
    this.#copyPage = redis.script('replica_copy', luaScript('state', 'lua', 'replica-copy'), {
      binary: true,
    });
  }

  /** Appends a write set after the position `from`. Rejects with NOT_READY if no reply comes. */
  append(from: Position, set: AppendRequest): Promise<LogReply> {
    return this.#send(this.#append, from, set);
  }

  /** Reads the write sets after the position `from`. */
  look(from: Position): Promise<LogReply> {
    return this.#send(this.#look, from, READ_ONLY);
  }

  /** Returns the position of the store in Redis; null if Redis has no such store. */
  async position(): Promise<Position | null> {
    const [version, last] = await this.#redis.guard(
      this.#redis.connection.hmget(this.#headKey, 'version', 'last'),
    );
    return version == null ? null : { version: Number(version), last: last ?? '' };
  }

  /** Removes the write sets that are older than `replicaStreamAgeMs`. */
  async trim(): Promise<void> {
    const { formatVersion, installationId } = this.#options;
    const { replicaStreamAgeMs, replicaTrimMax } = REPLICA_LIMITS;
    const args = [String(formatVersion), installationId, replicaStreamAgeMs, replicaTrimMax];
    while (Number(await this.#trim([this.#headKey, this.#streamKey], args)) >= replicaTrimMax);
  }

  /** Returns the id of the write set before the version `version`; null if the stream does not have that version. */
  async idBefore(version: number): Promise<string | null> {
    const id = `${version}-1`;
    const [entry] = await this.#redis.guard(this.#redis.connection.xrange(this.#streamKey, id, id));
    return entry?.[1][3] ?? null;
  }

  /** Reads one page of the data. */
  async copyPage(cursor: string): Promise<CopiedPage> {
    const reply = await this.#copyPage([this.#dataKey], [cursor, REPLICA_LIMITS.replicaCopyPage]);
    const [server, next, entries] = reply as [Buffer, Buffer, readonly Buffer[]];
    return { server: server.toString(), cursor: next.toString(), entries };
  }

  /**
   * Waits on `client` for write sets after the position `from`.
   *
   * @throws Error if the connection is lost or does not respond in time
   */
  async waitForSets(client: RedisConnection, from: Position): Promise<Tail> {
    const [read, [version, last, installation]] = await within(
      REPLICA_LIMITS.replicaListenMs + TAIL_GRACE_MS,
      Promise.all([
        client.xreadBuffer(
          'COUNT',
          TAIL_COUNT,
          'BLOCK',
          REPLICA_LIMITS.replicaListenMs,
          'STREAMS',
          this.#streamKey,
          `${from.version}-1`,
        ),
        client.hmget(this.#headKey, 'version', 'last', 'installation'),
      ]),
      'Redis',
    );
    const entries = (read as [Buffer, [Buffer, Buffer[]][]][] | null)?.[0]?.[1] ?? [];
    return {
      sets: entries.map(readEntry),
      isTimeout: read === null,
      isFull: entries.length >= TAIL_COUNT,
      head: { version: Number(version ?? 0), last: last ?? null, installation: installation ?? '' },
    };
  }

  async #send(script: Script, from: Position, set: AppendRequest): Promise<LogReply> {
    const { name, formatVersion, installationId } = this.#options;
    const reply = await script(
      [...this.#keys, ...set.fences.map((fence) => this.#redis.key(name, `fence:${fence.name}`))],
      [
        ...[String(formatVersion), from.version, from.last, set.id, REPLICA_LIMITS.replicaReplyBytesMax],
        ...[
          REPLICA_LIMITS.replicaStreamMax,
          REPLICA_LIMITS.replicaStreamBytesMax,
          REPLICA_LIMITS.replicaWriterMs,
          set.writes,
        ],
        installationId,
        ...set.fences.map(({ token }) => token),
      ],
    );
    return readReply(reply);
  }
}

/** Decodes an entry of the stream. */
function readEntry([id, fields]: readonly [Buffer, readonly Buffer[]]): WriteSet {
  const [, setId = NO_BYTES, , before = NO_BYTES, , writes = NO_BYTES] = fields;
  return {
    version: Number.parseInt(id.toString(), 10),
    id: setId.toString(),
    before: before.toString(),
    writes: decodeWrites(writes),
  };
}

function readReply(reply: unknown): LogReply {
  const [kindText, ...rest] = reply as [Buffer, ...unknown[]];
  const kind = kindText.toString() as LogReply['kind'];
  if (kind === 'fenced') return { kind, at: Number(String(rest[0])) - 1 };
  if (kind === 'format' || kind === 'other') return { kind, found: String(rest[0]) };
  if (kind !== 'behind') return { kind };
  const sets = (rest as readonly (readonly Buffer[])[]).map(
    ([version = NO_BYTES, id = NO_BYTES, before = NO_BYTES, writes = NO_BYTES]): WriteSet => ({
      version: Number(version.toString()),
      id: id.toString(),
      before: before.toString(),
      writes: decodeWrites(writes),
    }),
  );
  return { kind, sets };
}
