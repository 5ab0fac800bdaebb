/**
 * What every step of a push needs: the lease and the fence that keep other pushes away, the few keys that tell where a chain stands,
 * its records as they are in the servers, and the one write that makes readers see what was pushed.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { RedisStore, Script } from '../../base/redis.ts';
import type { ChainId } from '../../chains/registry.ts';
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
import type { LocalRecord, Snapshot } from './snapshot.ts';

export interface PushOptions {
  readonly chain: ChainId;
  /** The chain's LMDB. */
  readonly path: string;
  /** Pushes everything anew, also where a change would do. */
  readonly isFull?: boolean;
  /** For how long readers can read what is replaced; default `LIMITS.remoteGraceMs`. 0: not at all. */
  readonly graceMs?: number;
  /** Buckets of a first or full push; default `LIMITS.remoteBuckets`. */
  readonly buckets?: number;
  /** Records that are written at a time; default `LIMITS.remotePushRecords`. */
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
  /** `unchanged`: the remote store held all of it. */
  readonly kind: 'full' | 'changes' | 'unchanged';
  readonly generation: number;
  readonly version: number;
  readonly addresses: number;
  readonly transfers: number;
  /** Records written by this push, and their bytes. */
  readonly written: number;
  readonly writtenBytes: number;
  /** All records of the remote store, and the sum over them that this push proved or carried on. */
  readonly records: number;
  readonly checksum: string;
}

export interface PushDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
}

/** A generation that nobody will read. */
export interface OldGeneration {
  readonly generation: number;
  readonly buckets: number;
  /** How far its records go. */
  readonly state: State;
}

/** Records that are read at a time, where they are compared or removed. */
export const COMPARED_AT_ONCE = 2_048;

/** KEYS: fence, head. ARGV: token, the new head. */
const SWITCH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'TAKEN' end
redis.call('SET', KEYS[2], ARGV[2])
return 'OK'`;

/** KEYS: one. ARGV: what it must hold (nothing: it is not there), what it shall hold. */
const EXCHANGE = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 'CHANGED' end
redis.call('SET', KEYS[1], ARGV[2])
return 'OK'`;

const oldIn = (text: string | null): readonly OldGeneration[] =>
  text === null ? [] : (JSON.parse(text) as readonly OldGeneration[]);

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
    this.#graceMs = options.graceMs ?? LIMITS.remoteGraceMs;
    this.#switch = redis.script('graph_switch', SWITCH);
    this.#exchange = redis.script('graph_exchange', EXCHANGE);
  }

  /** Buckets of a push that begins anew. */
  get buckets(): number {
    return this.options.buckets ?? LIMITS.remoteBuckets;
  }

  #key(name: string): string {
    return this.redis.key(this.#slot, name);
  }

  /** From here on, nothing that an older push writes counts. */
  async fence(): Promise<void> {
    this.#token = await this.redis.guard(this.redis.connection.incr(this.#key('fence')));
  }

  /** Kvrocks keeps what it is told; of a Redis it has to be known. */
  async checkServers(): Promise<void> {
    const info = await this.redis.guard(this.redis.connection.info('server'));
    if (!/^kvrocks_version:/m.test(info)) await this.redis.checkKeeps();
  }

  /** One push of a chain at a time, so that two do not take over from each other for ever; the fence keeps even those apart. */
  async lease(): Promise<void> {
    const { connection } = this.redis;
    const holder = await this.redis.guard(connection.incr(this.#key('holders')));
    const taken = await this.redis.guard(
      connection.set(this.#key('lease'), String(holder), 'PX', LIMITS.remotePushLeaseMs, 'NX'),
    );
    this.#holder = String(holder);
    if (taken !== 'OK')
      throw new AssayError(
        'STORE_BUSY',
        `A push of ${this.options.chain} is under way, or was killed less than ${LIMITS.remotePushLeaseMs / 1000} s ago.`,
        { retryAfterSeconds: LIMITS.remotePushLeaseMs / 1000 },
      );
    this.#leasedMs = this.clock.monotonic();
  }

  /** Keeps the lease for as long as it is held. */
  async renew(): Promise<void> {
    this.options.signal?.throwIfAborted();
    if (this.#holder === '') return;
    const now = this.clock.monotonic();
    if (now - this.#leasedMs < LIMITS.remotePushLeaseMs / 4) return;
    this.#leasedMs = now;
    await patiently(
      () =>
        this.redis.guard(
          this.redis.connection.set(this.#key('lease'), this.#holder, 'PX', LIMITS.remotePushLeaseMs),
        ),
      this.patience,
    );
  }

  async release(): Promise<void> {
    const { connection } = this.redis;
    const key = this.#key('lease');
    const holder = this.#holder;
    this.#holder = '';
    // If no server answers, it runs out by itself.
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
    const { chain, recordsAtOnce = LIMITS.remotePushRecords } = this.options;
    const writer = new BucketWriter(
      { chain, generation, buckets, token: this.#token, recordsAtOnce, patience: this.patience },
      this.redis,
    );
    await writer.claim();
    return writer;
  }

  /** Values as they stand in the server, in the order of the records. */
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

  /** Remembers a generation that is to be removed when its last reader has ended. */
  noteOld({ generation, buckets, state }: OldGeneration): Promise<void> {
    return this.#changeOld((old) => [
      ...old.filter((each) => each.generation !== generation),
      { generation, buckets, state },
    ]);
  }

  /** Forgets generations that were removed. */
  forgetOld(removed: ReadonlySet<number>): Promise<void> {
    return this.#changeOld((old) => old.filter(({ generation }) => !removed.has(generation)));
  }

  /** A removal goes on without the lease, so that the list may change between reading and writing it. */
  async #changeOld(change: (old: readonly OldGeneration[]) => readonly OldGeneration[]): Promise<void> {
    for (;;) {
      const before = await this.get('old');
      const args = [before ?? '', JSON.stringify(change(oldIn(before)))];
      const answer = await patiently(() => this.#exchange([this.#key('old')], args), this.patience);
      if (answer === 'OK') return;
    }
  }

  /** Makes readers see what was written: each bucket says that it is whole, then the head moves. */
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
   * Says whether a version before the head may still be read.
   *
   * @returns milliseconds for which what was read before the head has to be kept; null if the head has been there for longer than any
   *   reader holds on to a version. If the clock was set back since, it is kept once more than needed.
   */
  keepMs({ switchedMs }: Head): number | null {
    const isRecent = this.#graceMs > 0 && this.clock.now() - switchedMs < this.#graceMs;
    return isRecent ? this.#graceMs : null;
  }

  /** Readers of a generation that is about to be removed end first. */
  async waitForReaders(sinceMs: number): Promise<void> {
    const until = sinceMs + this.#graceMs;
    for (;;) {
      await this.renew();
      // A clock that was set back makes nobody wait for longer than that.
      const left = Math.min(until - this.clock.now(), this.#graceMs);
      if (left <= 0) return;
      this.options.onProgress?.('wait for readers', this.#graceMs - left, this.#graceMs);
      await delay(Math.min(left, 1_000));
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
