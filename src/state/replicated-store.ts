/**
 * Live state that many nodes share. Redis holds the authoritative order of all writes; every node reads a replica in LMDB as if it were
 * alone. A transaction runs on trial on this node. Its write set is appended in Redis if no other write happened meanwhile, then applied on
 * this node and, through a stream, on every other node. docs/decisions/replicated-stores.md has the reasons.
 */
import { readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { within } from '../base/within.ts';
import { pause } from './leases.ts';
import { type LiveFile, openLiveFile } from './live-file.ts';
import {
  type AppliedWrite,
  type Fence,
  type LiveDatabase,
  type LiveDatabaseOptions,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
  type StoreProblem,
} from './live-store.ts';
import {
  ABORT,
  type Database,
  FLUSHED_LATER,
  type Key,
  keyFromBytes,
  keyToBytes,
  openAsBytes,
  openEnvironment,
} from './lmdb.ts';
import type { RedisStore } from './redis.ts';
import type { Installation } from './redis-installation.ts';
import { APPEND, COPY_PAGE, FILLING } from './replica-scripts.ts';
import { createStateLog, type StateLog } from './state-log.ts';
import { isStorageFull, STORAGE_RETRY_SECONDS } from './storage.ts';
import { decodeWrites, encodeWrites, fieldOf, partsOfField, type Write, type WriteSet } from './write-set.ts';

/** The position of a replica in the order of all write sets. */
interface Place {
  readonly version: number;
  /** Id of the write set with that number; empty before the first. */
  readonly last: string;
}

/** A transaction that waits in the queue. */
interface Waiting {
  readonly work: () => unknown;
  readonly fence: Fence | null;
  /** Deadline, by the monotonic clock. */
  readonly untilMs: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The result of a trial run. */
type Outcome = { readonly value: unknown } | { readonly error: unknown };

interface Trial {
  readonly from: Place;
  readonly group: readonly { readonly waiting: Waiting; readonly outcome: Outcome }[];
  readonly writes: readonly Write[];
}

/** The reply of the append script. */
type Reply =
  | { readonly kind: 'appended' | 'same' | 'ahead' | 'lost' }
  | { readonly kind: 'behind'; readonly sets: readonly WriteSet[] }
  | { readonly kind: 'fenced'; readonly at: number }
  | { readonly kind: 'format' | 'other'; readonly found: string };

export interface ReplicaDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The installation that owns the stores; if omitted, the stores belong to none. */
  readonly installation?: Installation;
  /** Shared by the stores of a node, because they see the same faults of one Redis. */
  readonly states?: StateLog;
}

const NOTHING = Buffer.alloc(0);
/** Ranges of LMDB begin after the keys of symbols by default; this key starts them at the first key. */
const LEAST_KEY = Buffer.from([0]);
/** Database of this node only: the position of its replica. */
const PLACE_DATABASE = '~replica';
const WRITER_BYTES = 9;
const RETRY_MS = 50;
/** The longest pause of a follower without a connection: it reconnects within a second after Redis returns. */
const FOLLOW_RETRY_MS_MAX = 800;
/** A shorter interruption is not logged: a starting process is busy for a second, and a fail-over takes two. */
const AWAY_LOGGED_MS = 3_000;
const READ_COUNT = 64;
/** Extra time for a blocking read beyond its wait before its connection is closed. */
const READ_GRACE_MS = 400;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns true for databases of a replica that are not replicated. */
export const isOwnDatabase = (database: string): boolean => database.startsWith('~');

/** Returns true for records that are written on this node only and are not replicated. */
export const isOwnRecord = (database: string, key: Buffer): boolean =>
  isOwnDatabase(database) || (database === 'meta' && key.equals(keyToBytes('formatVersion')));

function readSet([id, fields]: readonly [Buffer, readonly Buffer[]]): WriteSet {
  const [, setId = NOTHING, , before = NOTHING, , writes = NOTHING] = fields;
  return {
    version: Number.parseInt(id.toString(), 10),
    id: setId.toString(),
    before: before.toString(),
    writes: decodeWrites(writes),
  };
}

function readReply(reply: unknown): Reply {
  const [kindText, ...rest] = reply as [Buffer, ...unknown[]];
  const kind = kindText.toString() as Reply['kind'];
  if (kind === 'fenced') return { kind, at: Number(String(rest[0])) - 1 };
  if (kind === 'format' || kind === 'other') return { kind, found: String(rest[0]) };
  if (kind !== 'behind') return { kind };
  const sets = (rest as readonly (readonly Buffer[])[]).map(
    ([version = NOTHING, id = NOTHING, before = NOTHING, writes = NOTHING]): WriteSet => ({
      version: Number(version.toString()),
      id: id.toString(),
      before: before.toString(),
      writes: decodeWrites(writes),
    }),
  );
  return { kind, sets };
}

/**
 * Opens live state that all nodes of a Redis share. The replica has a file of its own, beside the state that only this machine holds. The
 * format version is part of the file name, so another format has another replica, copied again.
 */
export function openReplicated(deps: ReplicaDeps): OpenStore {
  const states = createStateLog();
  return (path, formatVersion, options) =>
    openReplicatedStore(replicaPath(path, formatVersion, options.name), formatVersion, options, {
      states,
      ...deps,
    });
}

/** Returns the path of the replica of the store whose standalone file is at `path`. */
export const replicaPath = (path: string, formatVersion: number, name: string): string =>
  join(dirname(path), 'replicas', `${name}-${formatVersion}.mdb`);

/** State of a replica that no process may have open: its position in the history, and the installation that it follows. */
export interface ReplicaState extends Place {
  /** Null if the replica is older than installation ids. */
  readonly installation: Installation | null;
}

/**
 * Reads the position of a replica from its file.
 *
 * @returns null if nothing was ever written to the replica.
 */
export function readReplica(file: LiveFile): ReplicaState | null {
  const own = file.open<unknown, string>({ name: PLACE_DATABASE, encoding: 'json' });
  const place = own?.get('place') as Place | undefined;
  if (place === undefined || place.version === 0) return null;
  return { ...place, installation: (own?.get('installation') as Installation | undefined) ?? null };
}

/**
 * Reads the state of the replica of the store at `path`.
 *
 * @returns null if there is no replica, or if nothing was ever written to it.
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export async function replicaState(
  path: string,
  formatVersion: number,
  name: string,
): Promise<ReplicaState | null> {
  const file = openLiveFile({ path: replicaPath(path, formatVersion, name), formatVersion });
  try {
    return file === null ? null : readReplica(file);
  } finally {
    await file?.close();
  }
}

/**
 * Opens the replica file at `path` of the store `name`. The first node that writes creates the store in Redis. Reads throw NOT_READY until
 * `ready` resolves. Several processes of one machine may share the file.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openReplicatedStore(
  path: string,
  formatVersion: number,
  { name, maxDbs = 8 }: { readonly name: string; readonly maxDbs?: number },
  deps: ReplicaDeps,
): LiveStore {
  const { redis, clock, log, installation = null, states = createStateLog() } = deps;
  const installationId = installation?.id ?? '';
  const local = openLiveStore(path, formatVersion, { maxDbs: maxDbs + 1, isReplica: true });
  const lmdb = local.root;
  const place: Database<Place, string> = lmdb.openDB({ name: PLACE_DATABASE, encoding: 'json' });
  bindToInstallation(path, lmdb.openDB({ name: PLACE_DATABASE, encoding: 'json' }), installation);

  const writer = Buffer.from(deps.random.bytes(WRITER_BYTES)).toString('base64url');
  let written = 0;
  const keys = ['head', 'data', 'stream', `writer:${writer}`].map((part) => redis.key(name, part));
  const [headKey = '', dataKey = '', streamKey = ''] = keys;
  const append = redis.script('replica_append', APPEND, { binary: true, safe: true });
  const look = redis.script('replica_look', APPEND, { binary: true });
  const copyPage = redis.script('replica_copy', COPY_PAGE, { binary: true });

  const listeners: ((writes: readonly AppliedWrite[]) => void)[] = [];
  const isBinaryKeyed = new Set<string>();
  const raw = new Map<string, Database<Buffer, Buffer>>();
  /** Write sets of this process that are not yet both acknowledged and received from the stream. Listeners are not notified of them. */
  const own = new Map<string, { isAcknowledged: boolean; shown: readonly Write[] | null }>();
  /** Records that the transaction of the trial wrote; null outside of trials. */
  let touched: Map<string, Pick<Write, 'database' | 'key'>> | null = null;
  const queue: Waiting[] = [];
  let draining: Promise<void> | null = null;
  let catching: Promise<void> | null = null;
  let upgrades = 0;
  let heardMs = Number.NEGATIVE_INFINITY;
  /** Why the store in Redis cannot be used; null while it can. */
  let fault: { readonly kind: StoreProblem['kind']; readonly error: AssayError } | null = null;
  /** Why write sets of other nodes cannot be applied to the replica: its disk is full; null while they can. */
  let full: AssayError | null = null;
  /** While closing, a queued transaction is tried once more. */
  let isClosing = false;
  let isClosed = false;

  /** The initial position. It differs between installations, so histories of two installations have no write set in common. */
  const nowhere: Place = { version: 0, last: installationId };
  const storedPlace = (): Place => place.get('place') ?? nowhere;
  /** The position up to which listeners of this process were notified. Another process of this machine may have applied more. */
  let seen: Place = storedPlace();

  /** Opens a database as bytes, whatever its encoding. If the database is new, this must not run inside a transaction. */
  function rawOf(database: string): Database<Buffer, Buffer> {
    const known = raw.get(database);
    if (known !== undefined) return known;
    const opened = openAsBytes(lmdb, database);
    raw.set(database, opened);
    return opened;
  }

  /** Must run inside a transaction. */
  function put({ database, key, value }: Write): void {
    if (value === null) rawOf(database).removeSync(key);
    else rawOf(database).putSync(key, value);
  }

  function applyTo(to: Place, sets: readonly WriteSet[]): void {
    for (const { writes } of sets) for (const { database } of writes) rawOf(database);
    lmdb.transactionSync(() => {
      const stored = storedPlace();
      for (const set of sets) if (set.version > stored.version) set.writes.forEach(put);
      if (to.version > stored.version) place.putSync('place', to);
    }, FLUSHED_LATER);
  }

  function tell(writes: readonly Write[]): void {
    if (writes.length === 0 || listeners.length === 0) return;
    const told = writes.map(
      ({ database, key, value }): AppliedWrite => ({
        database,
        key: isBinaryKeyed.has(database) ? key : keyFromBytes(key),
        isRemoved: value === null,
      }),
    );
    for (const listener of listeners) listener(told);
  }

  /** Applies write sets of other nodes. Returns false if they do not directly follow the replica's position. */
  function take(sets: readonly WriteSet[]): boolean {
    const fresh = sets.filter(({ version }) => version > seen.version);
    let at = seen;
    for (const { version, id, before } of fresh) {
      if (version !== at.version + 1 || before !== at.last) return false;
      at = { version, last: id };
    }
    if (fresh.length === 0) return true;
    applyTo(at, fresh);
    seen = at;
    for (const { id, writes } of fresh) {
      const mine = own.get(id);
      if (mine === undefined) tell(writes);
      else if (mine.isAcknowledged) own.delete(id);
      else mine.shown = writes;
    }
    return true;
  }

  function heard(askedMs: number): void {
    heardMs = Math.max(heardMs, askedMs);
    endFault();
  }

  function endFault(): void {
    if (fault === null) return;
    states.leave(fault.kind, name, () => log.info({ store: name }, 'The stores in Redis can be used again.'));
    fault = null;
  }

  const isCurrent = (): boolean => fault === null && clock.monotonic() - heardMs < LIMITS.replicaCurrentMs;

  function fail(kind: StoreProblem['kind'], error: AssayError): AssayError {
    if (fault?.kind !== kind) {
      endFault();
      states.enter(kind, name, () =>
        log.error({ store: name, error: error.message }, 'A store cannot be used.'),
      );
    }
    fault = { kind, error };
    return error;
  }

  const lost = (): AssayError =>
    fail(
      'lost',
      new AssayError(
        'NOT_READY',
        `Redis has no store '${name}' of this installation any more, and this node keeps its replica of version ${seen.version}: restore Redis from its backup, or from this node with \`assay redis restore --from-replica\`.`,
      ),
    );
  const otherInstallation = (found: string): AssayError =>
    fail(
      'other',
      new AssayError(
        'NOT_READY',
        `Redis holds the installation ${found}, and this node belongs to ${installationId || 'none'}: it keeps its replicas, and follows no other installation. Name the Redis of its own installation in ASSAY_REDIS_URL.`,
      ),
    );
  const otherFormat = (found: string): AssayError =>
    fail(
      found === FILLING ? FILLING : 'format',
      found === FILLING
        ? new AssayError('NOT_READY', `Redis is being filled with the store '${name}' of another machine.`)
        : new AssayError(
            'STORE_VERSION',
            `The store '${name}' in Redis has format version ${found}, and this version of Assay reads version ${formatVersion} only.`,
          ),
    );

  async function ask(
    script: typeof append,
    from: Place,
    trial: { readonly id: string; readonly writes: Buffer; readonly fences: readonly Fence[] },
  ): Promise<Reply> {
    const reply = await script(
      [...keys, ...trial.fences.map((fence) => redis.key(name, `fence:${fence.name}`))],
      [
        ...[String(formatVersion), from.version, from.last, trial.id, LIMITS.replicaReplyBytesMax],
        ...[LIMITS.replicaStreamMax, LIMITS.replicaStreamBytesMax, LIMITS.replicaWriterMs, trial.writes],
        installationId,
        ...trial.fences.map(({ token }) => token),
      ],
    );
    return readReply(reply);
  }

  /** Reads all missing write sets. Rejects with NOT_READY, STORE_VERSION. */
  async function readMissing(): Promise<void> {
    while (!isClosed) {
      const askedMs = clock.monotonic();
      const from = seen;
      const reply = await ask(look, from, { id: '', writes: NOTHING, fences: [] });
      if (reply.kind === 'same') return heard(askedMs);
      if (reply.kind === 'lost') throw lost();
      if (reply.kind === 'format') throw otherFormat(reply.found);
      if (reply.kind === 'other') throw otherInstallation(reply.found);
      if (reply.kind === 'behind' && take(reply.sets)) continue;
      // The position may have changed during the request, because this node wrote meanwhile.
      if (from === seen) await copy();
    }
  }

  function catchUp(): Promise<void> {
    catching ??= readMissing().finally(() => {
      catching = null;
    });
    return catching;
  }

  /** Removes files of copies that an ended process left behind. */
  function removeLeftCopies(): void {
    const prefix = `${basename(path)}.copy-`;
    for (const file of readdirSync(dirname(path))) {
      const pid = Number(/^\d+/.exec(file.startsWith(prefix) ? file.slice(prefix.length) : '')?.[0] ?? 0);
      if (pid > 0 && (pid === process.pid || !isRunning(pid)))
        rmSync(join(dirname(path), file), { force: true });
    }
  }

  /** Copies the whole store into a file beside the replica, then applies the differences to the replica in one transaction. */
  async function copy(): Promise<void> {
    log.info({ store: name, version: seen.version }, 'A store is copied from Redis.');
    for (let copies = 0; copies < LIMITS.replicaCopiesMax && !isClosed; copies++) {
      removeLeftCopies();
      const staged = openEnvironment(`${path}.copy-${process.pid}`, {
        noSubdir: true,
        noSync: true,
        encoding: 'binary',
        keyEncoding: 'binary',
        eventTurnBatching: false,
      }) as unknown as Database<Buffer, Buffer>;
      try {
        const to = await stage(staged);
        if (to === null) continue;
        replaceBy(staged, to);
        return;
      } finally {
        await staged.close();
        removeLeftCopies();
      }
    }
    throw new AssayError('NOT_READY', `The store '${name}' is being copied from Redis. Try again.`, {
      retryAfterSeconds: 1,
    });
  }

  /** Fills the copy. Returns the position of the copy, or null if the copy must start again. */
  async function stage(staged: Database<Buffer, Buffer>): Promise<Place | null> {
    const [version, last] = await redis.guard(redis.connection.hmget(headKey, 'version', 'last'));
    if (version == null) throw lost();
    let cursor = '0';
    let server: string | null = null;
    do {
      const reply = await copyPage([dataKey], [cursor, LIMITS.replicaCopyPage]);
      const [from, next, page] = reply as [Buffer, Buffer, readonly Buffer[]];
      if (server !== null && server !== from.toString()) return null;
      server = from.toString();
      cursor = next.toString();
      staged.transactionSync(() => {
        for (let i = 0; i + 1 < page.length; i += 2) staged.putSync(page[i] as Buffer, page[i + 1] as Buffer);
      }, FLUSHED_LATER);
    } while (cursor !== '0' && !isClosed);
    // Writes since the begin of the copy may or may not be in it. After all of them are applied, the copy equals one position in the order.
    let to: Place = { version: Number(version), last: last ?? '' };
    while (!isClosed) {
      const reply = await ask(look, to, { id: '', writes: NOTHING, fences: [] });
      if (reply.kind === 'same') return to;
      if (reply.kind !== 'behind') return null;
      staged.transactionSync(() => {
        for (const { writes } of reply.sets)
          for (const { database, key, value } of writes) {
            if (value === null) staged.removeSync(fieldOf(database, key));
            else staged.putSync(fieldOf(database, key), value);
          }
      }, FLUSHED_LATER);
      for (const { version, id } of reply.sets) to = { version, last: id };
    }
    return null;
  }

  function replaceBy(staged: Database<Buffer, Buffer>, to: Place): void {
    const changed: Write[] = [];
    for (const field of staged.getKeys()) rawOf(partsOfField(field).database);
    for (const database of lmdb.getKeys()) rawOf(String(database));
    lmdb.transactionSync(() => {
      for (const { key: field, value } of staged.getRange()) {
        const { database, key } = partsOfField(field);
        if (isOwnRecord(database, key) || rawOf(database).get(key)?.equals(value)) continue;
        changed.push({ database, key: Buffer.from(key), value });
      }
      for (const [database, records] of raw)
        for (const key of records.getKeys({ start: LEAST_KEY }))
          if (!isOwnRecord(database, key) && !staged.doesExist(fieldOf(database, key)))
            changed.push({ database, key: Buffer.from(key), value: null });
      changed.forEach(put);
      place.putSync('place', to);
    }, FLUSHED_LATER);
    seen = to;
    own.clear();
    tell(changed);
  }

  /** Runs the waiting transactions that fit into one group, rolls the trial back, and returns their writes. */
  function runOnTrial(): Trial {
    const group: { waiting: Waiting; outcome: Outcome }[] = [];
    const writes = new Map<string, Write>();
    let from = nowhere;
    let bytes = 0;
    lmdb.transactionSync(() => {
      from = storedPlace();
      for (const waiting of queue) {
        if (group.length >= LIMITS.replicaGroupMax || bytes >= LIMITS.replicaGroupBytesMax) break;
        try {
          const { value, wrote } = lmdb.childTransaction(() => runOne(waiting)) as unknown as ReturnType<
            typeof runOne
          >;
          for (const [field, write] of wrote) {
            writes.set(field, write);
            bytes += field.length + (write.value?.length ?? 0);
          }
          group.push({ waiting, outcome: { value } });
        } catch (error) {
          group.push({ waiting, outcome: { error } });
        }
      }
      return ABORT;
    });
    lmdb.resetReadTxn();
    return { from, group, writes: [...writes.values()] };
  }

  /** Must run inside the transaction of a trial. */
  function runOne({ work }: Waiting): { value: unknown; wrote: Map<string, Write> } {
    touched = new Map();
    try {
      const value = work();
      const wrote = new Map<string, Write>();
      let bytes = 0;
      for (const [field, { database, key }] of touched) {
        const stored = rawOf(database).get(key) ?? null;
        wrote.set(field, { database, key, value: stored });
        bytes += field.length + (stored?.length ?? 0);
      }
      if (bytes > LIMITS.replicaWriteBytesMax)
        throw new AssayError(
          'INTERNAL',
          `A transaction of ${bytes} bytes is too large for the store '${name}'.`,
        );
      return { value, wrote };
    } finally {
      touched = null;
    }
  }

  function leave(group: Trial['group']): void {
    const done = new Set(group.map(({ waiting }) => waiting));
    const left = queue.filter((waiting) => !done.has(waiting));
    queue.length = 0;
    queue.push(...left);
  }

  function settle({ group }: Trial): void {
    leave(group);
    for (const { waiting, outcome } of group) {
      if ('error' in outcome) waiting.reject(outcome.error);
      else waiting.resolve(outcome.value);
    }
  }

  /** Applies an appended write set, unless it is applied already, and resolves the promises of the group. */
  function acknowledge(trial: Trial, id: string): void {
    const { from } = trial;
    const to = { version: from.version + 1, last: id };
    const { version, last } = storedPlace();
    if (version < from.version || (version === from.version && last !== from.last)) {
      // The reply came from a server with a history that was discarded in a fail-over.
      own.delete(id);
      leave(trial.group);
      for (const { waiting } of trial.group) waiting.reject(undecided(null));
      return;
    }
    applyTo(to, [{ version: to.version, id, before: from.last, writes: trial.writes }]);
    const mine = own.get(id);
    if (seen.version === from.version) {
      seen = to;
      own.delete(id);
    } else if (mine !== undefined && mine.shown === null) mine.isAcknowledged = true;
    else own.delete(id);
    settle(trial);
  }

  /** Tries the waiting transactions once; those that do not succeed stay in the queue. */
  async function tryOnce(): Promise<void> {
    await catching;
    const trial = runOnTrial();
    const fences = [
      ...new Map(
        trial.group.flatMap(({ waiting: { fence } }) =>
          fence === null ? [] : [[`${fence.name} ${fence.token}`, fence] as const],
        ),
      ).values(),
    ];
    const id = `${writer}-${++written}`;
    const reply = await appendSurely(trial, { id, writes: encodeWrites(trial.writes), fences });
    if (reply === null) return;
    if (reply.kind === 'appended') return acknowledge(trial, id);
    own.delete(id);
    if (reply.kind === 'same') return settle(trial);
    if (reply.kind === 'lost') throw lost();
    if (reply.kind === 'format') throw otherFormat(reply.found);
    if (reply.kind === 'other') throw otherInstallation(reply.found);
    if (reply.kind === 'fenced') {
      const passed = fences[reply.at];
      const refused = trial.group.filter(
        ({ waiting: { fence } }) => fence?.name === passed?.name && fence?.token === passed?.token,
      );
      leave(refused);
      for (const { waiting } of refused) waiting.reject(fenced(passed?.name ?? ''));
      return;
    }
    if (reply.kind === 'behind' && take(reply.sets)) return;
    await catchUp();
  }

  /**
   * Appends a write set, and retries if no reply came: Redis recognises the write set by its id and writes it once. Returns null if the
   * outcome is still unknown at the earliest deadline of the group; the whole group is then rejected.
   */
  async function appendSurely(
    trial: Trial,
    set: { readonly id: string; readonly writes: Buffer; readonly fences: readonly Fence[] },
  ): Promise<Reply | null> {
    const untilMs = Math.min(...trial.group.map(({ waiting }) => waiting.untilMs));
    const mine: { isAcknowledged: boolean; shown: readonly Write[] | null } = {
      isAcknowledged: false,
      shown: null,
    };
    own.set(set.id, mine);
    let error: unknown;
    do {
      try {
        return await ask(append, trial.from, set);
      } catch (thrown) {
        if (!(thrown instanceof AssayError) || thrown.code !== 'NOT_READY') {
          own.delete(set.id);
          throw thrown instanceof AssayError ? thrown : refused(name, thrown);
        }
        error = thrown;
        await sleep(RETRY_MS);
      }
    } while (clock.monotonic() < untilMs && !isClosing);
    // The write set may still be on its way, or on too few replicas: from now on it is treated like one of another node.
    own.delete(set.id);
    if (mine.shown !== null) tell(mine.shown);
    // Reject the whole group, even transactions with time left: a retry under another id could execute them twice.
    leave(trial.group);
    for (const { waiting } of trial.group) waiting.reject(undecided(error));
    return null;
  }

  /** Empties the queue. Never rejects. */
  async function drain(): Promise<void> {
    // Collect all transactions of this turn of the event loop into one group.
    await sleep(0);
    while (queue.length > 0) {
      try {
        await tryOnce();
      } catch (error) {
        // Redis or the replica rejected the write: reject the waiting transactions; the next transaction tries again.
        const told = queue.splice(0, LIMITS.replicaGroupMax);
        for (const { reject } of told) reject(error);
      }
    }
    draining = null;
  }

  function enqueue<T>(work: () => T, fence: Fence | null, untilMs: number): Promise<T> {
    if (queue.length >= LIMITS.replicaWaitingMax)
      throw new AssayError('OVERLOADED', `Too much waits to be written to the store '${name}'. Try again.`, {
        retryAfterSeconds: 1,
      });
    const result = new Promise<T>((resolve, reject) => {
      queue.push({ work, fence, untilMs, resolve: resolve as (value: unknown) => void, reject });
    });
    draining ??= drain();
    return result;
  }

  async function transaction<T>(work: () => T, fence: Fence | null = null): Promise<T> {
    if (isClosing) throw closed(name);
    return enqueue(work, fence, clock.monotonic() + LIMITS.replicaWriteMs);
  }

  function openDB<V, K extends Key>(options: LiveDatabaseOptions): LiveDatabase<V, K> {
    const database: Database<V, K> = lmdb.openDB<V, K>(options);
    const isBinary = options.keyEncoding === 'binary';
    if (isBinary) isBinaryKeyed.add(options.name);
    rawOf(options.name);
    const touch = (key: K): void => {
      if (touched === null) throw new Error(`The store '${name}' is written outside of a transaction.`);
      const bytes = isBinary ? Buffer.from(key as Buffer) : keyToBytes(key);
      touched.set(fieldOf(options.name, bytes).toString('latin1'), { database: options.name, key: bytes });
    };
    function putSync(key: K, value: V): void {
      touch(key);
      database.putSync(key, value);
    }
    function removeSync(key: K): void {
      touch(key);
      database.removeSync(key);
    }
    /** A store that was never synchronised must not be read as if it were empty. */
    const read = (): Database<V, K> => {
      if (heardMs === Number.NEGATIVE_INFINITY && touched === null) throw fault?.error ?? notCurrent(name);
      return database;
    };
    return {
      get: (key) => read().get(key),
      getRange: (range) => read().getRange(range),
      getKeys: (range) => read().getKeys(range),
      getKeysCount: (range) => read().getKeysCount(range),
      getStats: () => read().getStats(),
      putSync,
      removeSync,
      put: (key, value) => transaction(() => putSync(key, value)),
      remove: (key) => transaction(() => removeSync(key)),
      transaction,
    };
  }

  /** Waits for write sets of other nodes, and checks that the store is still the one that this replica follows. */
  async function listen(): Promise<void> {
    const askedMs = clock.monotonic();
    const from = seen;
    const [read, head] = await within(
      LIMITS.replicaListenMs + READ_GRACE_MS,
      Promise.all([
        client.xreadBuffer(
          'COUNT',
          READ_COUNT,
          'BLOCK',
          LIMITS.replicaListenMs,
          'STREAMS',
          streamKey,
          `${from.version}-1`,
        ),
        client.hmget(headKey, 'version', 'last', 'installation'),
      ]),
      'Redis',
    );
    const entries = (read as [Buffer, [Buffer, Buffer[]][]][] | null)?.[0]?.[1] ?? [];
    const follows = take(entries.map(readSet));
    const [version, last, of] = head;
    const isFollowed =
      follows &&
      fault === null &&
      (of ?? '') === installationId &&
      (Number(version ?? 0) > from.version ||
        (Number(version ?? 0) === from.version && (last ?? installationId) === from.last));
    if (!isFollowed) return catchUp();
    // An empty reply means that nothing was written until the end of the wait.
    if (entries.length < READ_COUNT) heard(askedMs + (read === null ? LIMITS.replicaListenMs : 0));
  }

  let client = redis.another('following');

  /** Ends the pause of the follower. */
  const ended = new AbortController();
  /** Exponential back-off with jitter, so that the stores of all nodes do not reconnect at the same time. */
  function pauseOf(failures: number): Promise<void> {
    const ms = Math.min(FOLLOW_RETRY_MS_MAX, RETRY_MS * 2 ** Math.min(failures, 8));
    const drawn = (deps.random.bytes(1)[0] ?? 0) / 256;
    return pause(ms * (0.5 + drawn / 2), ended.signal);
  }

  async function follow(): Promise<void> {
    let isAway = false;
    let failures = 0;
    /** Time at which following failed first, by the monotonic clock; null while it works. */
    let failingMs: number | null = null;
    while (!isClosed) {
      try {
        if (heardMs === Number.NEGATIVE_INFINITY) await catchUp();
        await listen();
        if (isAway)
          states.leave('away', name, () => log.info({ store: name }, 'All stores are followed again.'));
        isAway = false;
        full = null;
        failures = 0;
        failingMs = null;
      } catch (error) {
        if (isClosed) break;
        full = isStorageFull(error) ? replicaFull(path, error) : null;
        failingMs ??= clock.monotonic();
        // Store faults and lost connections were logged when they were detected.
        const isLong = clock.monotonic() - failingMs >= AWAY_LOGGED_MS;
        if (fault === null && !redis.isLost && isLong && !isAway) {
          isAway = true;
          states.enter('away', name, () =>
            log.warn({ store: name, error: messageOf(error) }, 'Stores are not followed at the moment.'),
          );
        }
        // The pending read may never return, and it blocks the commands after it: close the connection.
        client.disconnect();
        await pauseOf(failures++);
        if (!isClosed) client = redis.another('following');
      }
    }
  }

  const root: LiveRoot = {
    openDB,
    transaction,
    childTransaction: transaction,
    resetReadTxn: () => lmdb.resetReadTxn(),
    async close() {
      if (isClosing) return;
      isClosing = true;
      await draining;
      isClosed = true;
      ended.abort();
      client.disconnect();
      await following;
      await catching?.catch(() => undefined);
      await lmdb.close();
    },
  };
  const meta = openDB<number, string>({ name: 'meta', encoding: 'json' });
  const following = follow();

  return {
    root,
    meta,
    async ready() {
      const untilMs = clock.monotonic() + LIMITS.replicaReadyMs;
      while (heardMs === Number.NEGATIVE_INFINITY || upgrades > 0) {
        if (isClosing) throw closed(name);
        if (fault !== null) throw fault.error;
        if (clock.monotonic() > untilMs) throw notCurrent(name);
        await sleep(RETRY_MS / 5);
      }
    },
    isCurrent,
    problem() {
      if (isCurrent()) return null;
      return {
        kind: fault?.kind ?? (full === null ? 'away' : 'full'),
        message: (fault?.error ?? full ?? notCurrent(name)).message,
      };
    },
    requireCurrent() {
      if (!isCurrent()) throw fault?.error ?? full ?? notCurrent(name);
    },
    onApplied(listener) {
      listeners.push(listener);
    },
    upgrade(work) {
      upgrades++;
      enqueue(work, null, clock.monotonic() + LIMITS.replicaReadyMs).then(
        () => upgrades--,
        (error: unknown) =>
          fail(
            'upgrade',
            new AssayError(
              'NOT_READY',
              `The store '${name}' could not be brought up to date: ${messageOf(error).replace(/\.$/, '')}.`,
            ),
          ),
      );
    },
    version: () => seen.version,
  };
}

/**
 * Records which installation the replica follows, the first time. A replica without an id was written by an earlier version; the startup of
 * the node has checked that it belongs to this installation.
 *
 * @throws INVALID_CONFIG if the replica follows another installation
 */
function bindToInstallation(
  path: string,
  own: Database<Installation, string>,
  installation: Installation | null,
): void {
  const found = own.get('installation');
  if (found === undefined) {
    if (installation !== null) own.putSync('installation', installation);
    return;
  }
  if (found.id !== installation?.id)
    throw new AssayError(
      'INVALID_CONFIG',
      `${path} is a replica of the installation ${found.id}, and Redis holds ${installation?.id ?? 'none'}. It was left as it is: name the Redis of that installation, or move the folder elsewhere.`,
      { field: 'ASSAY_REDIS_URL' },
    );
}

const closed = (name: string): AssayError => new AssayError('NOT_READY', `The store '${name}' is closed.`);

const notCurrent = (name: string): AssayError =>
  new AssayError(
    'NOT_READY',
    `This node has not heard from Redis for a second, and does not know what the others wrote to '${name}'. Try again.`,
    { retryAfterSeconds: 1 },
  );

/** @param path - file of the replica, on the full disk */
const replicaFull = (path: string, cause: unknown): AssayError =>
  new AssayError(
    'NOT_READY',
    `What other nodes wrote cannot be written to ${path}, and is not known here: its disk is full. Free space on it; this node goes on by itself then.`,
    { cause, retryAfterSeconds: STORAGE_RETRY_SECONDS },
  );

const undecided = (cause: unknown): AssayError =>
  new AssayError(
    'NOT_READY',
    'Redis did not answer in time; the change may have been made, or may still be. Look before you try again.',
    { cause, retryAfterSeconds: 1 },
  );

/** A server without free memory or disk rejects writes; it accepts them again when it has space. */
const refused = (name: string, cause: unknown): AssayError =>
  new AssayError('NOT_READY', `Redis does not write the store '${name}': ${messageOf(cause)}`, { cause });

const fenced = (lease: string): AssayError =>
  new AssayError('STORE_BUSY', `The lease '${lease}' was taken by another node: nothing was written.`);

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}
