/**
 * The shared steps of a push: the lease and the fence that exclude other pushes, the few keys that hold a chain's state, its records as the
 * servers hold them, and the one write that makes the push visible to readers.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { luaScript } from '../../base/paths.ts';
import { sleep } from '../../base/retry.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { RedisStore, Script } from '../../state/redis.ts';
import type { State } from '../store/chain-store.ts';
import { BucketWriter, type Patience, patiently, takenOver } from './bucket-writer.ts';
import { ask } from './io.ts';
import {
  bucketSlot,
  type Checksum,
  chainSlot,
  type Head,
  NAMES,
  parseHead,
  REMOTE_FORMAT,
} from './layout.ts';
import { REMOTE_LIMITS } from './limits.ts';
import type { LocalRecord, Snapshot } from './snapshot.ts';

export interface PushOptions {
  readonly chain: ChainId;
  /** Path of the chain's LMDB. */
  readonly path: string;
  /** Pushes everything again, even if pushing the changes would be enough. */
  readonly isFull?: boolean;
  /** Milliseconds for which readers can still read replaced data. Default: `REMOTE_LIMITS.remoteGraceMs`. 0: not at all. */
  readonly graceMs?: number;
  /** Buckets of a first or full push. Default: `REMOTE_LIMITS.remoteBuckets`. */
  readonly buckets?: number;
  /** Records per write. Default: `REMOTE_LIMITS.remotePushRecords`. */
  readonly recordsAtOnce?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (stage: PushStage, done: number, total: number) => void;
}

export type PushStage =
  | 'push addresses'
  | 'push transfers'
  | 'compare'
  | 'changes'
  | 'wait for readers'
  | 'remove';

export interface PushReport {
  readonly chain: ChainId;
  /** `unchanged`: the remote store was already up to date. */
  readonly kind: 'full' | 'changes' | 'unchanged';
  readonly generation: number;
  readonly version: number;
  readonly addresses: number;
  readonly transfers: number;
  /** Records written by this push. `writtenBytes` is their size. */
  readonly written: number;
  readonly writtenBytes: number;
  /** All records of the remote store. `checksum` is their sum, which this push verified or carried forward. */
  readonly records: number;
  readonly checksum: string;
}

export interface PushDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
}

/** A generation that no reader will use. */
export interface OldGeneration {
  readonly generation: number;
  readonly buckets: number;
  /** The extent of its records. */
  readonly state: State;
}

/** Records read per batch when they are compared or removed. */
export const COMPARED_AT_ONCE = 2_048;

const oldIn = (text: string | null): readonly OldGeneration[] =>
  text === null ? [] : (JSON.parse(text) as readonly OldGeneration[]);

/** The lease, fence and head of one push. */
export class PushSession {
  readonly options: PushOptions;
  readonly redis: RedisStore;
  readonly patience: Patience;
  readonly clock: Clock;
  readonly #slot: string;
  readonly #graceMs: number;
  readonly #switch: Script;
  readonly #exchange: Script;
  #leasedMs = 0;
  #token = 0;
  #holder = '';

  constructor(options: PushOptions, { redis, clock }: PushDeps) {
    this.options = options;
    this.redis = redis;
    this.patience = { clock, signal: options.signal };
    this.clock = clock;
    this.#slot = chainSlot(options.chain);
    this.#graceMs = options.graceMs ?? REMOTE_LIMITS.remoteGraceMs;
    this.#switch = redis.script('graph_switch', luaScript('graph', 'remote', 'lua', 'push-switch'));
    this.#exchange = redis.script('graph_exchange', luaScript('graph', 'remote', 'lua', 'push-exchange'));
  }

  /** Number of buckets of a new generation. */
  get buckets(): number {
    return this.options.buckets ?? REMOTE_LIMITS.remoteBuckets;
  }

  #key(name: string): string {
    return this.redis.key(this.#slot, name);
  }

  /** Writes of older pushes are rejected from here on. */
  async fence(): Promise<void> {
    this.#token = await this.redis.guard(this.redis.connection.incr(this.#key('fence')));
  }

  /** Kvrocks persists its data. A Redis server must be checked. */
  async checkServers(): Promise<void> {
    const info = await this.redis.guard(this.redis.connection.info('server'));
    if (!/^kvrocks_version:/m.test(info)) await this.redis.checkDurability();
  }

  /** Allows one push of a chain at a time, so that two do not take over from each other forever. The fence separates even those. */
  async lease(): Promise<void> {
    const { connection } = this.redis;
    const holder = await this.redis.guard(connection.incr(this.#key('holders')));
    const taken = await this.redis.guard(
      connection.set(this.#key('lease'), String(holder), 'PX', REMOTE_LIMITS.remotePushLeaseMs, 'NX'),
    );
    this.#holder = String(holder);
    if (taken !== 'OK')
      throw new AssayError(
        'STORE_BUSY',
        `A push of ${this.options.chain} is in progress, or was killed less than ${REMOTE_LIMITS.remotePushLeaseMs / 1000} s ago.`,
        { retryAfterSeconds: REMOTE_LIMITS.remotePushLeaseMs / 1000 },
      );
    this.#leasedMs = this.clock.monotonic();
  }

  /** Extends the lease while it is held. */
  async renew(): Promise<void> {
    this.options.signal?.throwIfAborted();
    if (this.#holder === '') return;
    const now = this.clock.monotonic();
    if (now - this.#leasedMs < REMOTE_LIMITS.remotePushLeaseMs / 4) return;
    this.#leasedMs = now;
    await patiently(
      () =>
        this.redis.guard(
          this.redis.connection.set(this.#key('lease'), this.#holder, 'PX', REMOTE_LIMITS.remotePushLeaseMs),
        ),
      this.patience,
    );
  }

  async release(): Promise<void> {
    const { connection } = this.redis;
    const key = this.#key('lease');
    const holder = this.#holder;
    this.#holder = '';
    // If no server answers, the lease expires by itself.
    const held = await connection.get(key).catch(() => null);
    if (held === holder) await connection.del(key).catch(() => 0);
  }

  async readHead(): Promise<Head | null> {
    const text = await this.get('head');
    return text === null ? null : parseHead(this.options.chain, text);
  }

  get(name: string): Promise<string | null> {
    return patiently(() => this.redis.guard(this.redis.connection.get(this.#key(name))), this.patience);
  }

  async set(name: string, value: unknown): Promise<void> {
    await patiently(
      () => this.redis.guard(this.redis.connection.set(this.#key(name), JSON.stringify(value))),
      this.patience,
    );
  }

  async openWriter(generation: number, buckets: number): Promise<BucketWriter> {
    const { chain, recordsAtOnce = REMOTE_LIMITS.remotePushRecords } = this.options;
    const writer = new BucketWriter(
      { chain, generation, buckets, token: this.#token, recordsAtOnce, patience: this.patience },
      this.redis,
    );
    await writer.claim();
    return writer;
  }

  /** Values as stored in the server, in the order of the records. */
  async readRemote(
    generation: number,
    records: readonly Pick<LocalRecord, 'bucket' | 'name'>[],
  ): Promise<(Buffer | null)[]> {
    const groups = new Map<number, { names: string[]; places: number[] }>();
    for (const [at, { bucket, name }] of records.entries()) {
      const group = groups.get(bucket) ?? { names: [], places: [] };
      group.names.push(`${generation}:${name}`);
      group.places.push(at);
      groups.set(bucket, group);
    }
    const keys = [...groups].map(([bucket, { names }]) => ({
      slot: bucketSlot(this.options.chain, bucket),
      names,
    }));
    const values = await patiently(() => ask(this.redis, { keys, marker: null }), this.patience);
    const found: (Buffer | null)[] = new Array<Buffer | null>(records.length).fill(null);
    let next = 0;
    for (const { places } of groups.values())
      for (const place of places) found[place] = values[next++] ?? null;
    return found;
  }

  async oldGenerations(): Promise<readonly OldGeneration[]> {
    return oldIn(await this.get('old'));
  }

  /** Records a generation that must be removed when its last reader has ended. */
  noteOld({ generation, buckets, state }: OldGeneration): Promise<void> {
    return this.#changeOld((old) => [
      ...old.filter((each) => each.generation !== generation),
      { generation, buckets, state },
    ]);
  }

  /** Deletes removed generations from the list. */
  forgetOld(removed: ReadonlySet<number>): Promise<void> {
    return this.#changeOld((old) => old.filter(({ generation }) => !removed.has(generation)));
  }

  /** A removal runs without the lease, so the list may change between reading and writing it. */
  async #changeOld(change: (old: readonly OldGeneration[]) => readonly OldGeneration[]): Promise<void> {
    for (;;) {
      const before = await this.get('old');
      const args = [before ?? '', JSON.stringify(change(oldIn(before)))];
      const answer = await patiently(() => this.#exchange([this.#key('old')], args), this.patience);
      if (answer === 'OK') return;
    }
  }

  /** Makes the written data visible to readers: each bucket is marked as complete, then the head is replaced. */
  async switchTo(made: {
    readonly generation: number;
    readonly version: number;
    readonly buckets: number;
    readonly snapshot: Snapshot;
    readonly sum: Checksum;
    readonly writer: BucketWriter;
  }): Promise<Head> {
    const { generation, version, buckets, snapshot, sum, writer } = made;
    for (let bucket = 0; bucket < buckets; bucket++) writer.put(bucket, NAMES.marker, String(version));
    await writer.flush();
    const { state, source } = snapshot;
    const head: Head = {
      format: REMOTE_FORMAT,
      generation,
      version,
      buckets,
      source,
      state,
      openOrdinal: snapshot
        .readBlocks()
        .reduce((least, { firstOrdinal }) => Math.min(least, firstOrdinal), state.nextOrdinal),
      switchedMs: this.clock.now(),
      records: sum.records,
      checksum: sum.hex,
    };
    const keys = [this.#key('fence'), this.#key('head')];
    const switched = await patiently(
      () => this.#switch(keys, [this.#token, JSON.stringify(head)]),
      this.patience,
    );
    if (switched !== 'OK') throw takenOver(this.options.chain);
    return head;
  }

  /**
   * Returns how long replaced data of versions before the head must be kept.
   *
   * @returns milliseconds to keep data that was read before the head; null if the head is older than any reader holds a version. If the
   * clock was set back, the data is kept once more than needed.
   */
  keepMs({ switchedMs }: Head): number | null {
    const isRecent = this.#graceMs > 0 && this.clock.now() - switchedMs < this.#graceMs;
    return isRecent ? this.#graceMs : null;
  }

  /** Waits until the readers of a generation that will be removed have ended. */
  async waitForReaders(sinceMs: number): Promise<void> {
    const until = sinceMs + this.#graceMs;
    for (;;) {
      await this.renew();
      // If the clock was set back, the wait is not longer than the grace period.
      const left = Math.min(until - this.clock.now(), this.#graceMs);
      if (left <= 0) return;
      this.options.onProgress?.('wait for readers', this.#graceMs - left, this.#graceMs);
      await sleep(Math.min(left, 1_000));
    }
  }

  report(
    kind: PushReport['kind'],
    { generation, version, records, checksum }: Head,
    { state }: Snapshot,
    written: Pick<BucketWriter, 'records' | 'bytes'> | null,
  ): PushReport {
    return {
      chain: this.options.chain,
      kind,
      generation,
      version,
      addresses: state.nextAddress - 1,
      transfers: state.transfers,
      written: written?.records ?? 0,
      writtenBytes: written?.bytes ?? 0,
      records,
      checksum,
    };
  }
}
