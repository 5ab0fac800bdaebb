/**
 * Filling the remote store of a chain from its LMDB: whole, as a generation of its own beside what is read, or what changed since the
 * last push, as a new version of the records that changed. Readers see it by one write at the end.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { RedisStore, Script } from '../../base/redis.ts';
import type { ChainId } from '../../chains/registry.ts';
import { type ChainStore, openChainStore, type State } from '../store/chain-store.ts';
import { EMPTY_RECORD, LOG_CHUNK_TRANSFERS, partiesOf, recordsIn } from '../store/log.ts';
import { BucketWriter, LostWrites, type Patience, patiently, takenOver } from './bucket-writer.ts';
import { ask } from './io.ts';
import {
  APART,
  assetPageOf,
  bucketOfKey,
  bucketSlot,
  Checksum,
  chainSlot,
  digestsIn,
  type Head,
  HUB,
  NAMES,
  packVersioned,
  parseHead,
  REMOTE_FORMAT,
  unpackDirectory,
  unpackRemoteNode,
  unpackVersioned,
  type Versioned,
  valueAt,
} from './layout.ts';
import { type LocalRecord, Snapshot } from './snapshot.ts';

export interface PushOptions {
  readonly chain: ChainId;
  /** The chain's LMDB. */
  readonly path: string;
  /** Pushes everything anew, also where a change would do. */
  readonly isFull?: boolean;
  /** How long readers of what is replaced are left in peace; default `LIMITS.remoteGraceMs`. */
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

/** How far a full push came; kept in the server, so that another run goes on from there. */
interface Place {
  readonly stage: 'addresses' | 'log';
  readonly at: number;
  /** The step each bucket was at: one that is behind lost what was written since. */
  readonly steps: readonly number[];
}

/** A generation that nobody will read. */
interface Old {
  readonly generation: number;
  readonly buckets: number;
  /** How far its records go. */
  readonly state: State;
}

interface Progress extends Old {
  readonly source: string;
  readonly place: Place;
  /** The place before: what a fail-over loses is younger than this. */
  readonly before: Place | null;
}

const FROM_THE_START: Place = { stage: 'addresses', at: 1, steps: [] };

/** Times that a push begins again after servers lost confirmed writes. */
const RESTARTS = 5;
/** Records of a comparison that are read at a time. */
const COMPARED_AT_ONCE = 2_048;
/** Addresses whose changes are looked for at a time. */
const NODES_AT_ONCE = 256;
/** Chunks of log that are compared at a time. */
const LOG_AT_ONCE = 1_024;

/**
 * Pushes a chain. A push that was interrupted is taken up where it stopped. Throws NOT_READY for an empty store, or where servers
 * stay away; INVALID_REQUEST where the remote store was filled from another LMDB; STORE_BUSY where another push is under way;
 * INVALID_CONFIG where the servers may drop what they are told to keep.
 */
export async function pushChain(options: PushOptions, deps: PushDeps): Promise<PushReport> {
  const store = openChainStore(options.path, options.chain, true);
  try {
    return await new Push(store, options, deps).run();
  } finally {
    await store.root.close();
  }
}

/** KEYS: fence, head. ARGV: token, the new head. */
const SWITCH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'TAKEN' end
redis.call('SET', KEYS[2], ARGV[2])
return 'OK'`;

class Push {
  readonly #store: ChainStore;
  readonly #options: PushOptions;
  readonly #redis: RedisStore;
  readonly #clock: Clock;
  readonly #slot: string;
  readonly #graceMs: number;
  readonly #patience: Patience;
  #leasedMs = 0;
  #token = 0;
  #holder = '';
  readonly #switch: Script;

  constructor(store: ChainStore, options: PushOptions, { redis, clock }: PushDeps) {
    this.#store = store;
    this.#options = options;
    this.#redis = redis;
    this.#clock = clock;
    this.#slot = chainSlot(options.chain);
    this.#switch = redis.script('graph_switch', SWITCH);
    this.#patience = { clock, signal: options.signal };
    this.#graceMs = options.graceMs ?? LIMITS.remoteGraceMs;
  }

  async run(): Promise<PushReport> {
    await this.#checkServers();
    await this.#lease();
    try {
      // From here on, nothing that an older push writes counts.
      this.#token = await this.#redis.guard(this.#redis.connection.incr(this.#key('fence')));
      for (let restarts = 0; ; restarts++) {
        try {
          const report = await this.#attempt();
          await this.#removeOld();
          return report;
        } catch (error) {
          if (!(error instanceof LostWrites)) throw error;
          if (restarts === RESTARTS)
            throw new AssayError(
              'NOT_READY',
              'The servers keep losing writes that they confirmed; look at their replication, then push again.',
            );
        }
      }
    } finally {
      await this.#release();
    }
  }

  async #attempt(): Promise<PushReport> {
    const head = await this.#readHead();
    const snapshot = new Snapshot(this.#store, head?.buckets ?? this.#buckets);
    try {
      if (head === null || this.#options.isFull) return await this.#pushWhole(head);
      return await this.#pushChanges(head, snapshot);
    } finally {
      snapshot.close();
    }
  }

  get #buckets(): number {
    return this.#options.buckets ?? LIMITS.remoteBuckets;
  }

  #key(name: string): string {
    return this.#redis.key(this.#slot, name);
  }

  /** Kvrocks keeps what it is told; of a Redis it has to be known. */
  async #checkServers(): Promise<void> {
    const info = await this.#redis.guard(this.#redis.connection.info('server'));
    if (!/^kvrocks_version:/m.test(info)) await this.#redis.checkKeeps();
  }

  /** One push of a chain at a time, so that two do not take over from each other for ever; the fence keeps even those apart. */
  async #lease(): Promise<void> {
    const { connection } = this.#redis;
    const holder = await this.#redis.guard(connection.incr(this.#key('holders')));
    const taken = await this.#redis.guard(
      connection.set(this.#key('lease'), String(holder), 'PX', LIMITS.remotePushLeaseMs, 'NX'),
    );
    this.#holder = String(holder);
    if (taken !== 'OK')
      throw new AssayError(
        'STORE_BUSY',
        `A push of ${this.#options.chain} is under way, or was killed less than ${LIMITS.remotePushLeaseMs / 1000} s ago.`,
        { retryAfterSeconds: LIMITS.remotePushLeaseMs / 1000 },
      );
    this.#leasedMs = this.#clock.monotonic();
  }

  async #renew(): Promise<void> {
    this.#options.signal?.throwIfAborted();
    const now = this.#clock.monotonic();
    if (now - this.#leasedMs < LIMITS.remotePushLeaseMs / 4) return;
    this.#leasedMs = now;
    await patiently(
      () =>
        this.#redis.guard(
          this.#redis.connection.set(this.#key('lease'), this.#holder, 'PX', LIMITS.remotePushLeaseMs),
        ),
      this.#patience,
    );
  }

  async #release(): Promise<void> {
    const { connection } = this.#redis;
    const key = this.#key('lease');
    // Where nobody answers it runs out by itself.
    const held = await connection.get(key).catch(() => null);
    if (held === this.#holder) await connection.del(key).catch(() => 0);
  }

  async #readHead(): Promise<Head | null> {
    const text = await this.#get('head');
    return text === null ? null : parseHead(this.#options.chain, text);
  }

  #get(name: string): Promise<string | null> {
    return patiently(() => this.#redis.guard(this.#redis.connection.get(this.#key(name))), this.#patience);
  }

  async #set(name: string, value: unknown): Promise<void> {
    await patiently(
      () => this.#redis.guard(this.#redis.connection.set(this.#key(name), JSON.stringify(value))),
      this.#patience,
    );
  }

  async #openWriter(generation: number, buckets: number): Promise<BucketWriter> {
    const { chain, recordsAtOnce = LIMITS.remotePushRecords } = this.#options;
    const writer = new BucketWriter(
      { chain, generation, buckets, token: this.#token, recordsAtOnce, patience: this.#patience },
      this.#redis,
    );
    await writer.claim();
    return writer;
  }

  /** Values as they stand in the server, in the order of the records. */
  async #readRemote(
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
      slot: bucketSlot(this.#options.chain, bucket),
      names,
    }));
    const values = await patiently(() => ask(this.#redis, { keys, marker: null }), this.#patience);
    const found: (Buffer | null)[] = new Array<Buffer | null>(records.length).fill(null);
    let next = 0;
    for (const { places } of groups.values())
      for (const place of places) found[place] = values[next++] ?? null;
    return found;
  }

  // --- whole ---

  async #pushWhole(head: Head | null): Promise<PushReport> {
    const progress = await this.#takeUp(head);
    const { generation, buckets } = progress;
    const writer = await this.#openWriter(generation, buckets);
    const isWhole = (place: Place): boolean =>
      place.steps.every((step, bucket) => (writer.steps[bucket] as number) >= step);
    const start = [progress.place, progress.before].find((place) => place !== null && isWhole(place));
    await this.#scan(progress, start ?? FROM_THE_START, writer);
    // What was written while the store went on, or before an interruption, is compared with one commit.
    const snapshot = new Snapshot(this.#store, buckets);
    try {
      const sum = await this.#compareAll(generation, snapshot, writer);
      if (head !== null) await this.#noteOld(head);
      const made = await this.#switchTo({ generation, version: 1, buckets, snapshot, sum, writer });
      await this.#set('push', null);
      return this.#report('full', made, snapshot, writer);
    } finally {
      snapshot.close();
    }
  }

  /** The push that was interrupted, or a new one. */
  async #takeUp(head: Head | null): Promise<Progress> {
    const text = await this.#get('push');
    const found = text === null ? null : (JSON.parse(text) as Progress | null);
    const snapshot = new Snapshot(this.#store, this.#buckets);
    const { source, state } = snapshot;
    snapshot.close();
    const isOurs = found?.source === source && found.generation > (head?.generation ?? 0);
    if (found && isOurs) return found;
    if (found) await this.#noteOld(found);
    const generation = Math.max(head?.generation ?? 0, found?.generation ?? 0) + 1;
    const begun: Progress = {
      generation,
      buckets: this.#buckets,
      source,
      state,
      place: FROM_THE_START,
      before: null,
    };
    await this.#set('push', begun);
    return begun;
  }

  /** Remembers what is to be removed once nobody reads it. */
  async #noteOld({ generation, buckets, state }: Old): Promise<void> {
    const text = await this.#get('old');
    const old = (text === null ? [] : (JSON.parse(text) as readonly Old[])).filter(
      (each) => each.generation !== generation,
    );
    await this.#set('old', [...old, { generation, buckets, state }]);
  }

  /** Writes everything from a place on, without reading what is there. */
  async #scan(progress: Progress, from: Place, writer: BucketWriter): Promise<void> {
    let last = from;
    let savedMs = this.#clock.monotonic();
    const first = { version: 1, previous: null };
    const put = ({ bucket, name, value }: LocalRecord): void =>
      writer.put(bucket, name, packVersioned({ ...first, value }));
    const flush = async (stage: Place['stage'], at: number): Promise<void> => {
      await writer.flush();
      await this.#renew();
      const now = this.#clock.monotonic();
      if (now - savedMs < LIMITS.remotePushSaveMs) return;
      savedMs = now;
      const place: Place = { stage, at, steps: [...writer.steps] };
      await this.#set('push', { ...progress, place, before: last } satisfies Progress);
      last = place;
    };
    const snapshot = new Snapshot(this.#store, progress.buckets);
    try {
      const { nextAddress } = snapshot.state;
      for (let node = from.stage === 'addresses' ? from.at : nextAddress; node < nextAddress; node++) {
        const local = snapshot.node(node);
        const id = snapshot.id(local.key, node);
        writer.put(id.bucket, id.name, id.value);
        for (const chunks of local.hubs.values())
          for (const chunk of chunks) {
            put(chunk);
            if (writer.isFull) await writer.flush();
          }
        for (const record of local.records) put(record);
        if (!writer.isFull) continue;
        await flush('addresses', node + 1);
        this.#options.onProgress?.('push addresses', node, nextAddress - 1);
      }
      for (let chunk = from.stage === 'log' ? from.at : 0; chunk < snapshot.logChunks; chunk++) {
        put(snapshot.logChunk(chunk));
        if (!writer.isFull) continue;
        await flush('log', chunk + 1);
        this.#options.onProgress?.('push transfers', chunk * LOG_CHUNK_TRANSFERS, snapshot.state.nextOrdinal);
      }
      await writer.flush();
    } finally {
      snapshot.close();
    }
  }

  /** Reads back everything, and writes what is not as in the snapshot; returns the sum over all. */
  async #compareAll(generation: number, snapshot: Snapshot, writer: BucketWriter): Promise<Checksum> {
    const sum = new Checksum();
    let batch: LocalRecord[] = [];
    const ids = new Set<string>();
    const { nextAddress } = snapshot.state;
    const compare = async (): Promise<void> => {
      const stored = await this.#readRemote(generation, batch);
      for (const [at, { bucket, name, value }] of batch.entries()) {
        const expected = ids.has(name) ? value : packVersioned({ version: 1, value, previous: null });
        sum.add(name, value);
        if (!stored[at]?.equals(expected)) writer.put(bucket, name, expected);
      }
      batch = [];
      ids.clear();
      if (writer.isFull) await writer.flush();
      await this.#renew();
    };
    const add = async (record: LocalRecord): Promise<void> => {
      batch.push(record);
      if (batch.length >= COMPARED_AT_ONCE) await compare();
    };
    for (let node = 1; node < nextAddress; node++) {
      const local = snapshot.node(node);
      const id = snapshot.id(local.key, node);
      ids.add(id.name);
      await add(id);
      for (const chunks of local.hubs.values()) for (const chunk of chunks) await add(chunk);
      for (const record of local.records) await add(record);
      if (node % COMPARED_AT_ONCE === 0) this.#options.onProgress?.('compare', node, nextAddress - 1);
    }
    for (let chunk = 0; chunk < snapshot.logChunks; chunk++) await add(snapshot.logChunk(chunk));
    for (let page = 0; page < snapshot.assetPages; page++) await add(snapshot.assetPage(page));
    await add(snapshot.blocks());
    await compare();
    await writer.flush();
    return sum;
  }

  // --- changes ---

  async #pushChanges(head: Head, snapshot: Snapshot): Promise<PushReport> {
    const { state, source } = snapshot;
    if (
      source !== head.source ||
      state.nextAddress < head.state.nextAddress ||
      state.nextOrdinal < head.state.nextOrdinal
    )
      throw new AssayError(
        'INVALID_REQUEST',
        `The remote graph of ${this.#options.chain} was pushed from another store, or from a newer state of this one. ` +
          'Push with --full to put this one in its place.',
      );
    const { generation, version } = head;
    if (await this.#isCurrent(head, snapshot)) return this.#report('unchanged', head, snapshot, null);
    await this.#waitForReaders(head.switchedMs);
    await this.#checkMarkers(head);
    const writer = await this.#openWriter(generation, head.buckets);
    const sum = new Checksum(head);
    const target = version + 1;
    const changed = new Uint8Array((state.nextAddress >> 3) + 1);
    const mark = (node: number): void => {
      if (node > 0) changed[node >> 3] = (changed[node >> 3] as number) | (1 << (node & 7));
    };

    /** The bytes to write for a record, which may be there: null where it is as it should be. */
    const change = ({ name, value }: LocalRecord, stored: Buffer | null): Buffer | null => {
      const found = stored === null ? null : unpackVersioned(stored);
      const old = oldOf(found, version);
      if (old?.value.equals(value) !== true) {
        if (old) sum.remove(name, old.value);
        sum.add(name, value);
      }
      if (found?.value.equals(value)) return null;
      return packVersioned({ version: target, value, previous: old });
    };
    const compare = async (records: readonly LocalRecord[]): Promise<void> => {
      const stored = await this.#readRemote(generation, records);
      for (const [at, record] of records.entries()) {
        const bytes = change(record, stored[at] ?? null);
        if (bytes !== null) writer.put(record.bucket, record.name, bytes);
      }
      if (writer.isFull) await writer.flush();
      await this.#renew();
    };

    await this.#pushNewLog(head, snapshot, { writer, mark });
    for (let node = head.state.nextAddress; node < state.nextAddress; node++) mark(node);
    await this.#pushNodes(head, snapshot, { changed, compare, sum, writer });
    // Only now: until all addresses are as they are here, a push that takes up this one must find who was in what was taken back.
    const first = Math.floor(head.openOrdinal / LOG_CHUNK_TRANSFERS);
    for (let from = first; from < snapshot.logChunks; from += LOG_AT_ONCE) {
      const until = Math.min(snapshot.logChunks, from + LOG_AT_ONCE);
      await compare(Array.from({ length: until - from }, (_, at) => snapshot.logChunk(from + at)));
    }
    const pages = Array.from({ length: snapshot.assetPages }, (_, page) => snapshot.assetPage(page));
    await compare([...pages, snapshot.blocks()]);
    await writer.flush();
    const made = await this.#switchTo({ ...head, version: target, snapshot, sum, writer });
    return this.#report('changes', made, snapshot, writer);
  }

  /** Whether the remote store holds this very commit. */
  async #isCurrent(head: Head, snapshot: Snapshot): Promise<boolean> {
    if (JSON.stringify(snapshot.state) !== JSON.stringify(head.state)) return false;
    const blocks = snapshot.blocks();
    const [stored] = await this.#readRemote(head.generation, [blocks]);
    return stored != null && valueAt(stored, head.version)?.equals(blocks.value) === true;
  }

  /** Throws STORE_CORRUPT where a server lost what was pushed before. */
  async #checkMarkers({ generation, version, buckets }: Head): Promise<void> {
    const places = Array.from({ length: buckets }, (_, bucket) => ({ bucket, name: NAMES.marker }));
    const found = await this.#readRemote(generation, places);
    if (found.every((marker) => marker !== null && Number(marker.toString('latin1')) >= version)) return;
    throw new AssayError(
      'STORE_CORRUPT',
      `Servers lost parts of the graph of ${this.#options.chain} that they had confirmed. Push it anew with --full.`,
    );
  }

  /**
   * Writes transfers that came, leaves those that were taken back for now, and marks the addresses of both: of every number of which
   * any of the states differ (here, in the version that is read, in what a push that was interrupted wrote).
   */
  async #pushNewLog(
    head: Head,
    snapshot: Snapshot,
    { writer, mark }: { readonly writer: BucketWriter; readonly mark: (node: number) => void },
  ): Promise<void> {
    const { generation, version } = head;
    const first = Math.floor(head.openOrdinal / LOG_CHUNK_TRANSFERS);
    for (let from = first; from < snapshot.logChunks; from += LOG_AT_ONCE) {
      const until = Math.min(snapshot.logChunks, from + LOG_AT_ONCE);
      const locals = Array.from({ length: until - from }, (_, at) => snapshot.logChunk(from + at));
      const stored = await this.#readRemote(generation, locals);
      for (const [at, { bucket, name, value }] of locals.entries()) {
        const bytes = stored[at] ?? null;
        const found = bytes === null ? null : unpackVersioned(bytes);
        const old = oldOf(found, version);
        const here = recordsIn(value);
        const there = recordsIn(found?.value);
        const before = recordsIn(old?.value);
        const joined: Buffer[] = [];
        for (let slot = 0; slot < Math.max(here.length, there.length, before.length); slot++) {
          const states = [here, there, before].map((records) => records[slot] ?? EMPTY_RECORD);
          const [now, held] = states as [Buffer, Buffer, Buffer];
          joined.push(now.length > EMPTY_RECORD.length ? now : held);
          if (states.every((state) => state.equals(now))) continue;
          for (const state of states) for (const party of partiesOf(state)) mark(party);
        }
        const union = Buffer.concat(joined);
        if (found?.value.equals(union) !== true)
          writer.put(bucket, name, packVersioned({ version: version + 1, value: union, previous: old }));
      }
      if (writer.isFull) await writer.flush();
      await this.#renew();
    }
    await writer.flush();
  }

  async #pushNodes(
    head: Head,
    snapshot: Snapshot,
    deps: {
      readonly changed: Uint8Array;
      readonly compare: (records: readonly LocalRecord[]) => Promise<void>;
      readonly sum: Checksum;
      readonly writer: BucketWriter;
    },
  ): Promise<void> {
    const { changed, compare, sum, writer } = deps;
    const { nextAddress } = snapshot.state;
    let batch: number[] = [];
    const push = async (): Promise<void> => {
      const locals = batch.map((node) => snapshot.node(node));
      batch = [];
      const hubs = locals.flatMap((local) =>
        local.records.filter(({ name }) => local.hubs.has(name)).map((directory) => ({ local, directory })),
      );
      const stored = await this.#readRemote(
        head.generation,
        hubs.map(({ directory }) => directory),
      );
      for (const [at, { local, directory }] of hubs.entries()) {
        const bytes = stored[at] ?? null;
        const found = bytes === null ? null : unpackVersioned(bytes);
        const known = [found, oldOf(found, head.version)].map((one) =>
          digestsIn(one?.value ?? Buffer.alloc(0)),
        );
        const chunks = (local.hubs.get(directory.name) ?? []).filter(({ firstId, digest }) =>
          known.some((digests) => digests.get(firstId) !== digest),
        );
        for (let from = 0; from < chunks.length; from += COMPARED_AT_ONCE)
          await compare(chunks.slice(from, from + COMPARED_AT_ONCE));
      }
      // Behind the chunks that they name.
      await compare(locals.flatMap(({ records }) => records));
    };
    for (let node = 1; node < nextAddress; node++) {
      const byte = changed[node >> 3] as number;
      if (byte === 0) {
        node |= 7;
        continue;
      }
      if ((byte & (1 << (node & 7))) === 0) continue;
      if (node >= head.state.nextAddress) {
        const { bucket, name, value } = snapshot.id(snapshot.node(node).key, node);
        writer.put(bucket, name, value);
        sum.add(name, value);
      }
      batch.push(node);
      if (batch.length < NODES_AT_ONCE) continue;
      await push();
      this.#options.onProgress?.('changes', node, nextAddress - 1);
    }
    await push();
    await writer.flush();
  }

  // --- both ---

  /** Makes readers see what was written: each bucket says that it is whole, then the head moves. */
  async #switchTo(made: {
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
      switchedMs: this.#clock.now(),
      records: sum.records,
      checksum: sum.hex,
    };
    const keys = [this.#key('fence'), this.#key('head')];
    const switched = await patiently(
      () => this.#switch(keys, [this.#token, JSON.stringify(head)]),
      this.#patience,
    );
    if (switched !== 'OK') throw takenOver(this.#options.chain);
    return head;
  }

  /** Readers of what is about to be overwritten or removed end first. */
  async #waitForReaders(sinceMs: number): Promise<void> {
    const until = sinceMs + this.#graceMs;
    for (;;) {
      await this.#renew();
      // A clock that was set back makes nobody wait for longer than that.
      const left = Math.min(until - this.#clock.now(), this.#graceMs);
      if (left <= 0) return;
      this.#options.onProgress?.('wait for readers', this.#graceMs - left, this.#graceMs);
      await delay(Math.min(left, 1_000));
    }
  }

  /** Removes what nobody reads any more: the chain before a full push, and pushes that were given up. */
  async #removeOld(): Promise<void> {
    const text = await this.#get('old');
    const old = text === null ? [] : (JSON.parse(text) as readonly Old[]);
    const head = await this.#readHead();
    if (old.length === 0 || head === null) return;
    await this.#waitForReaders(head.switchedMs);
    for (const each of old) if (each.generation !== head.generation) await this.#remove(each);
    await this.#set('old', []);
  }

  async #remove({ generation, buckets, state }: Old): Promise<void> {
    const { chain, onProgress } = this.#options;
    const unlink = async (
      records: readonly { readonly bucket: number; readonly name: string }[],
    ): Promise<void> => {
      const groups = new Map<number, string[]>();
      for (const { bucket, name } of records) {
        const keys = groups.get(bucket) ?? [];
        keys.push(this.#redis.key(bucketSlot(chain, bucket), `${generation}:${name}`));
        groups.set(bucket, keys);
      }
      const { connection } = this.#redis;
      await Promise.all(
        [...groups.values()].map((keys) =>
          patiently(() => this.#redis.guard(connection.unlink(...keys)), this.#patience),
        ),
      );
      await this.#renew();
    };
    // First: whoever still reads here is told so, and not that an address is unknown.
    await unlink(Array.from({ length: buckets }, (_, bucket) => ({ bucket, name: NAMES.marker })));
    const { nextAddress } = state;
    for (let from = 1; from < nextAddress; from += COMPARED_AT_ONCE) {
      const until = Math.min(nextAddress, from + COMPARED_AT_ONCE);
      const places = Array.from({ length: until - from }, (_, at) => ({
        bucket: (from + at) % buckets,
        name: NAMES.node(from + at),
      }));
      const gone = [...places];
      const directories: { bucket: number; name: string; node: number; direction: number }[] = [];
      for (const [at, bytes] of (await this.#readRemote(generation, places)).entries()) {
        if (bytes === null) continue;
        const { bucket } = places[at] as (typeof places)[number];
        const node = from + at;
        const { key, edges } = unpackRemoteNode(unpackVersioned(bytes).value);
        gone.push({ bucket: bucketOfKey(key, buckets), name: NAMES.id(key) });
        for (const [direction, { kind }] of edges.entries()) {
          if (kind === APART || kind === HUB) gone.push({ bucket, name: NAMES.chunk(node, direction, 0) });
          if (kind === HUB)
            directories.push({ bucket, name: NAMES.directory(node, direction), node, direction });
        }
      }
      const found = await this.#readRemote(generation, directories);
      for (const [at, bytes] of found.entries()) {
        const { bucket, name, node, direction } = directories[at] as (typeof directories)[number];
        gone.push({ bucket, name });
        if (bytes === null) continue;
        for (const first of unpackDirectory(unpackVersioned(bytes).value))
          gone.push({ bucket, name: NAMES.chunk(node, direction, first) });
      }
      await unlink(gone);
      onProgress?.('remove', until, nextAddress);
    }
    const chunks = Math.ceil(state.nextOrdinal / LOG_CHUNK_TRANSFERS);
    for (let from = 0; from < chunks; from += COMPARED_AT_ONCE)
      await unlink(
        Array.from({ length: Math.min(chunks - from, COMPARED_AT_ONCE) }, (_, at) => ({
          bucket: (from + at) % buckets,
          name: NAMES.log(from + at),
        })),
      );
    const pages = assetPageOf(state.nextAsset) + 1;
    await unlink(
      Array.from({ length: pages }, (_, page) => ({ bucket: page % buckets, name: NAMES.assets(page) })),
    );
    await unlink([{ bucket: 0, name: NAMES.blocks }]);
  }

  #report(
    kind: PushReport['kind'],
    { generation, version, records, checksum }: Head,
    { state }: Snapshot,
    written: Pick<BucketWriter, 'records' | 'bytes'> | null,
  ): PushReport {
    return {
      chain: this.#options.chain,
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

/** What a record was at the version that is read, whatever an interrupted push wrote over it. */
const oldOf = (found: Versioned | null, version: number): Versioned['previous'] =>
  found === null || found.version <= version ? found : found.previous;
