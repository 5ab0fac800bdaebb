/**
 * A chain's records in a server: implements `ChainRecords` with a bounded cache. All reads of one running piece of code see one version of
 * the chain.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { currentReading } from '../../base/reading.ts';
import type { ChainId } from '../../chains/registry.ts';
import { ChunkView } from '../edge-chunk.ts';
import type { Upcoming } from '../graph.ts';
import { type ChainRecords, lostRecord, type StoredBlockRecord } from '../store/chain-records.ts';
import { type AssetRecord, DIRECTION_CODE, type State } from '../store/chain-store.ts';
import { readEntries } from '../store/delta.ts';
import { counterpartiesIn } from '../store/node-record.ts';
import type { Fetch } from './fetch.ts';
import {
  APART,
  ASSETS_PER_PAGE,
  assetPageOf,
  bucketOfKey,
  bucketSlot,
  chainSlot,
  chunkIn,
  type Head,
  HUB,
  INLINE,
  NAMES,
  NO_EDGES,
  parseHead,
  type RemoteNode,
  unpackDirectory,
  unpackRemoteNode,
  valueAt,
} from './layout.ts';
import { REMOTE_LIMITS } from './limits.ts';

interface Place {
  readonly bucket: number;
  readonly name: string;
}

/** The reads that a kernel announced, and how far they were fetched. */
interface Plan extends Upcoming {
  at: number;
  /** Addresses in the next part. */
  room: number;
}

/**
 * A walk's budget often ends after a few addresses with many neighbours. So the first part has this many addresses, and later parts double.
 */
const FIRST_EXPANDED = 64;

/** Asset pages that are fetched together: a trace meets tokens of all ages. */
const PAGES_AT_ONCE = 64;

interface Held {
  readonly value: unknown;
  readonly bytes: number;
}

/** Cache of the newest version, in two halves. When one is full, entries not used since the last change of halves are dropped. */
class Memory {
  #young = new Map<string | number, Held>();
  #old = new Map<string | number, Held>();
  #youngBytes = 0;

  get<T>(name: string | number): T | undefined {
    const held = this.#young.get(name);
    if (held) return held.value as T;
    const older = this.#old.get(name);
    if (older) this.set(name, older.value, older.bytes);
    return older?.value as T | undefined;
  }

  has(name: string | number): boolean {
    return this.get(name) !== undefined;
  }

  set(name: string | number, value: unknown, bytes: number): void {
    if (this.#youngBytes > REMOTE_LIMITS.remoteCacheBytes / 2) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#youngBytes = 0;
    }
    this.#young.set(name, { value, bytes });
    this.#youngBytes += bytes;
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#youngBytes = 0;
  }
}

export interface RemoteRecordsDeps {
  readonly fetch: Fetch;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * The records of one chain in a server. Reads throw NOT_READY if nothing was pushed, if a newer push replaced the version being read, or if
 * the read takes too long.
 */
export class RemoteRecords implements ChainRecords {
  readonly chain: ChainId;
  readonly #fetch: Fetch;
  readonly #clock: RemoteRecordsDeps['clock'];
  readonly #memory = new Memory();
  #head: Head | null = null;
  #headReadMs = Number.NEGATIVE_INFINITY;
  #isPinned = false;
  #pinnedMs = 0;
  #pinnedReading = 0;
  #plan: Plan | null = null;
  readonly #chunkView = new ChunkView();

  constructor(chain: ChainId, { fetch, clock }: RemoteRecordsDeps) {
    this.chain = chain;
    this.#fetch = fetch;
    this.#clock = clock;
  }

  state(): State {
    return this.#view().state;
  }

  /** A push of another store replaces the graph, and with it the meaning of all ids. */
  source(): string {
    return this.#view().source;
  }

  idOf(key: Uint8Array): number | null {
    const { buckets, state } = this.#view();
    const name = NAMES.id(key);
    let id = this.#memory.get<number>(name);
    if (id === undefined) {
      const [bytes] = this.#read([{ bucket: bucketOfKey(key, buckets), name }]);
      // Ids never change: this is the only record without a version.
      id = bytes?.readUInt32BE(0) ?? 0;
      this.#memory.set(name, id, 64);
    }
    return id === 0 || id >= state.nextAddress ? null : id;
  }

  keyOf(node: number): Buffer {
    return this.#node(node).key;
  }

  assetOf(id: number): AssetRecord {
    const page = assetPageOf(id);
    const name = NAMES.assets(page);
    if (!this.#memory.has(name)) this.#loadAssets(page);
    const row =
      this.#memory.get<readonly (readonly [string, number | null] | null)[]>(name)?.[id % ASSETS_PER_PAGE];
    if (!row) throw lostRecord(this.chain, `asset ${id}`);
    return { asset: row[0], decimals: row[1] };
  }

  node(node: number): Buffer | undefined {
    return this.#node(node).node;
  }

  delta(node: number): Buffer | undefined {
    return this.#node(node).delta;
  }

  chunk(node: number, direction: number, firstId: number): Buffer | undefined {
    const { kind, chunk } = this.#node(node).edges[direction === 0 ? 0 : 1];
    if (kind === NO_EDGES) return undefined;
    if (kind === INLINE) return chunk;
    const name = NAMES.chunk(node, direction, firstId);
    const held = this.#held<Buffer>(name);
    if (held) return held;
    const wanted = [name];
    // A caller that reads the second chunk of a hub reads all of them.
    if (kind === HUB && firstId > 0) {
      const directory = this.#directory(node, direction);
      const from = chunkIn(directory, firstId);
      for (const next of directory.subarray(from + 1, from + REMOTE_LIMITS.remoteChunksPerFetch))
        wanted.push(NAMES.chunk(node, direction, next));
    }
    this.#loadChunks(wanted.map((each) => ({ bucket: this.#bucketOf(node), name: each })));
    return this.#memory.get<Buffer>(name);
  }

  chunkFor(node: number, direction: number, id: number): Buffer | undefined {
    if (this.#node(node).edges[direction === 0 ? 0 : 1].kind !== HUB) return this.chunk(node, direction, 0);
    const directory = this.#directory(node, direction);
    const at = chunkIn(directory, id);
    if (at < 0) return undefined;
    const name = NAMES.chunk(node, direction, directory[at] as number);
    const held = this.#held<Buffer>(name);
    if (held) return held;
    this.#loadChunks([{ bucket: this.#bucketOf(node), name }]);
    return this.#memory.get<Buffer>(name);
  }

  logChunk(chunk: number): Buffer | undefined {
    const name = NAMES.log(chunk);
    if (!this.#memory.has(name)) this.prefetchLog([chunk]);
    return this.#memory.get<Buffer>(name);
  }

  blocks(): readonly StoredBlockRecord[] {
    this.#view();
    const held = this.#memory.get<readonly StoredBlockRecord[]>(NAMES.blocks);
    if (held) return held;
    const bytes = this.#readVersioned([{ bucket: 0, name: NAMES.blocks }])[0] as Buffer;
    const blocks = JSON.parse(bytes.toString('utf8')) as StoredBlockRecord[];
    this.#memory.set(NAMES.blocks, blocks, bytes.length * 2);
    return blocks;
  }

  prefetch(next: Upcoming): void {
    this.#view();
    const { remoteNodesPerFetch } = REMOTE_LIMITS;
    const room = next.neighbours ? FIRST_EXPANDED : next.to ? remoteNodesPerFetch / 2 : remoteNodesPerFetch;
    this.#plan = { ...next, at: 0, room };
    this.#advance(this.#plan);
  }

  prefetchLog(chunks: readonly number[]): void {
    const { buckets } = this.#view();
    const missing = [...new Set(chunks)].filter((chunk) => !this.#memory.has(NAMES.log(chunk)));
    if (missing.length > 0)
      this.#loadChunks(missing.map((chunk) => ({ bucket: chunk % buckets, name: NAMES.log(chunk) })));
  }

  /** The version that the running code reads. Later code looks it up again. */
  #view(): Head {
    if (this.#isPinned && this.#pinnedReading === currentReading() && this.#head) return this.#head;
    this.#plan = null;
    const now = this.#clock.monotonic();
    if (this.#head === null || now - this.#headReadMs > REMOTE_LIMITS.remoteHeadMs) this.#readHead(now);
    this.#isPinned = true;
    this.#pinnedMs = now;
    this.#pinnedReading = currentReading();
    queueMicrotask(() => {
      this.#isPinned = false;
      this.#plan = null;
    });
    return this.#head as unknown as Head;
  }

  #readHead(now: number): void {
    const [bytes] = this.#fetch({ keys: [{ slot: chainSlot(this.chain), names: ['head'] }], marker: null });
    if (!bytes)
      throw new AssayError(
        'NOT_READY',
        `The remote store has no graph of ${this.chain}. Push it with \`assay graph push ${this.chain}\`.`,
      );
    const head = parseHead(this.chain, bytes.toString('utf8'));
    const before = this.#head;
    if (before?.generation !== head.generation || before.version !== head.version) this.#memory.clear();
    this.#head = head;
    this.#headReadMs = now;
  }

  #bucketOf(node: number): number {
    return node % this.#view().buckets;
  }

  /** Returns a cached value, or one that arrives with the next part of the plan. */
  #held<T>(name: string | number): T | undefined {
    const held = this.#memory.get<T>(name);
    if (held !== undefined) return held;
    const plan = this.#plan;
    if (plan === null || plan.at >= plan.nodes.length) return undefined;
    this.#advance(plan);
    return this.#memory.get<T>(name);
  }

  #node(node: number): RemoteNode {
    const { state } = this.#view();
    if (!(node > 0 && node < state.nextAddress)) throw lostRecord(this.chain, `address ${node}`);
    const held = this.#held<RemoteNode>(node);
    if (held) return held;
    this.#loadNodes([node]);
    return this.#memory.get<RemoteNode>(node) as RemoteNode;
  }

  #directory(node: number, direction: number): Uint32Array {
    const name = NAMES.directory(node, direction);
    const held = this.#memory.get<Uint32Array>(name);
    if (held) return held;
    this.#loadDirectories([{ node, direction }]);
    return this.#memory.get<Uint32Array>(name) as Uint32Array;
  }

  /** Fetches the next part of a plan: the addresses, then the records of their neighbours that are stored separately. */
  #advance(plan: Plan): void {
    const { nodes, neighbours, to } = plan;
    const from = plan.at;
    const until = Math.min(nodes.length, from + plan.room);
    plan.room = Math.min(plan.room * 2, REMOTE_LIMITS.remoteNodesPerFetch);
    plan.at = until;
    const part = Array.from({ length: until - from }, (_, at) => nodes[from + at] as number);
    this.#loadNodes(part);
    if (neighbours) this.#loadNeighbours(part, neighbours);
    if (to) this.#loadEdges(part, (at) => to[from + at] as number);
  }

  #loadNeighbours(
    nodes: readonly number[],
    { directions, degreeMax, met = 0 }: NonNullable<Upcoming['neighbours']>,
  ): void {
    const codes = directions.map((direction) => DIRECTION_CODE[direction]);
    const sides = nodes.flatMap((node) => {
      const record = this.#memory.get<RemoteNode>(node);
      const sums = record?.node;
      if (!record || !sums || counterpartiesIn(sums, 0) > degreeMax || counterpartiesIn(sums, 1) > degreeMax)
        return [];
      return codes.map((direction) => ({ node, direction, kind: record.edges[direction].kind }));
    });
    const hubs = sides.filter(({ kind }) => kind === HUB);
    this.#loadDirectories(hubs);
    const wanted: Place[] = [];
    for (const { node, direction, kind } of sides) {
      const bucket = this.#bucketOf(node);
      if (kind === APART) wanted.push({ bucket, name: NAMES.chunk(node, direction, 0) });
      if (kind === HUB)
        for (const first of this.#directory(node, direction))
          wanted.push({ bucket, name: NAMES.chunk(node, direction, first) });
    }
    this.#loadChunks(wanted.slice(0, REMOTE_LIMITS.remoteNodesPerFetch / 2));
    if (met > 0) this.#loadMet(sides, Math.min(met, REMOTE_LIMITS.remoteNodesPerFetch));
  }

  /** Loads the first `count` neighbours of the sides that are not cached yet, in their order. */
  #loadMet(
    sides: readonly { readonly node: number; readonly direction: 0 | 1; readonly kind: number }[],
    count: number,
  ): void {
    const found = new Set<number>();
    for (const { node, direction, kind } of sides) {
      if (found.size >= count) break;
      const { delta, edges } = this.#node(node);
      const chunk =
        kind === INLINE ? edges[direction].chunk : this.#memory.get<Buffer>(NAMES.chunk(node, direction, 0));
      const lists = [
        chunk ? this.#chunkView.open(chunk).ids : [],
        delta
          ? readEntries(delta)
              .filter((one) => one.direction === direction)
              .map((one) => one.counterparty)
          : [],
      ];
      for (const list of lists)
        for (const id of list) if (found.size < count && id > 0 && !this.#memory.has(id)) found.add(id);
    }
    this.#loadNodes([...found]);
  }

  /** Loads the chunks that contain the edges of senders to receivers. */
  #loadEdges(nodes: readonly number[], to: (at: number) => number): void {
    const direction = DIRECTION_CODE.out;
    const kindOf = (node: number): number =>
      this.#memory.get<RemoteNode>(node)?.edges[direction].kind ?? NO_EDGES;
    this.#loadDirectories(nodes.filter((node) => kindOf(node) === HUB).map((node) => ({ node, direction })));
    const wanted: Place[] = [];
    for (const [at, node] of nodes.entries()) {
      const kind = kindOf(node);
      if (kind !== APART && kind !== HUB) continue;
      const directory = kind === HUB ? this.#directory(node, direction) : null;
      const first = directory === null ? 0 : directory[chunkIn(directory, to(at))];
      if (first !== undefined)
        wanted.push({ bucket: this.#bucketOf(node), name: NAMES.chunk(node, direction, first) });
    }
    this.#loadChunks(wanted);
  }

  #loadNodes(nodes: readonly number[]): void {
    const missing = [...new Set(nodes)].filter((node) => node > 0 && !this.#memory.has(node));
    if (missing.length === 0) return;
    const values = this.#readVersioned(
      missing.map((node) => ({ bucket: this.#bucketOf(node), name: NAMES.node(node) })),
    );
    for (const [at, node] of missing.entries()) {
      const bytes = values[at] as Buffer;
      this.#memory.set(node, unpackRemoteNode(bytes), bytes.length + 256);
    }
  }

  #loadDirectories(sides: readonly { readonly node: number; readonly direction: number }[]): void {
    const wanted = new Map<string, Place>();
    for (const { node, direction } of sides) {
      const name = NAMES.directory(node, direction);
      if (!this.#memory.has(name)) wanted.set(name, { bucket: this.#bucketOf(node), name });
    }
    if (wanted.size === 0) return;
    const places = [...wanted.values()];
    const values = this.#readVersioned(places);
    for (const [at, { name }] of places.entries()) {
      const bytes = values[at] as Buffer;
      this.#memory.set(name, unpackDirectory(bytes), bytes.length + 64);
    }
  }

  #loadAssets(page: number): void {
    const { buckets, state } = this.#view();
    const first = page - (page % PAGES_AT_ONCE);
    const last = Math.min(first + PAGES_AT_ONCE - 1, assetPageOf(state.nextAsset - 1));
    const places: Place[] = [];
    for (let each = first; each <= last; each++)
      places.push({ bucket: each % buckets, name: NAMES.assets(each) });
    const values = this.#readVersioned(places);
    for (const [at, { name }] of places.entries()) {
      const bytes = values[at] as Buffer;
      this.#memory.set(name, JSON.parse(bytes.toString('utf8')), bytes.length * 2);
    }
  }

  /** Loads chunks of edges and of the log, in parts small enough that no reply is large. */
  #loadChunks(places: readonly Place[]): void {
    const wanted = new Map<string, Place>();
    for (const place of places) if (!this.#memory.has(place.name)) wanted.set(place.name, place);
    const missing = [...wanted.values()];
    for (let at = 0; at < missing.length; at += REMOTE_LIMITS.remoteChunksPerFetch) {
      const part = missing.slice(at, at + REMOTE_LIMITS.remoteChunksPerFetch);
      for (const [index, bytes] of this.#readVersioned(part).entries())
        this.#memory.set((part[index] as Place).name, bytes, bytes.length + 64);
    }
  }

  /** Reads records that must exist, as of the version of this view. */
  #readVersioned(places: readonly Place[]): Buffer[] {
    const { version } = this.#view();
    const values: Buffer[] = new Array<Buffer>(places.length);
    let wanted = places.map((place, at) => ({ ...place, at }));
    // Usually one round trip. Each push that replaced one of the records again since this version adds one.
    for (let isEarlier = false; wanted.length > 0; isEarlier = true) {
      const found = this.#read(wanted);
      const behind: typeof wanted = [];
      for (const [index, { bucket, at }] of wanted.entries()) {
        const bytes = found[index] ?? null;
        if (bytes === null && isEarlier) throw this.#moved();
        const { name } = places[at] as Place;
        const value = bytes === null ? undefined : valueAt(bytes, version);
        if (value === undefined) throw lostRecord(this.chain, `record ${name}`);
        if (typeof value === 'number') behind.push({ bucket, name: NAMES.earlier(name, value), at });
        else values[at] = value;
      }
      wanted = behind;
    }
    return values;
  }

  /** Values in the order of the places. */
  #read(places: readonly Place[]): (Buffer | null)[] {
    const { generation, version } = this.#view();
    // Pushes keep replaced data for longer than this. A read that started earlier may miss parts of it.
    if (this.#clock.monotonic() - this.#pinnedMs > REMOTE_LIMITS.remoteQuestionMs) throw this.#moved();
    const buckets = new Map<number, { names: string[]; places: number[] }>();
    for (const [at, { bucket, name }] of places.entries()) {
      const group = buckets.get(bucket) ?? { names: [], places: [] };
      group.names.push(`${generation}:${name}`);
      group.places.push(at);
      buckets.set(bucket, group);
    }
    const values = this.#fetch({
      keys: [...buckets].map(([bucket, { names }]) => ({ slot: bucketSlot(this.chain, bucket), names })),
      marker: { name: `${generation}:${NAMES.marker}`, atLeast: version },
    });
    const found: (Buffer | null)[] = new Array<Buffer | null>(places.length).fill(null);
    let next = 0;
    for (const group of buckets.values())
      for (const place of group.places) found[place] = values[next++] ?? null;
    return found;
  }

  /** The error for a read that a push has overtaken. No wrong data was returned. */
  #moved(): AssayError {
    this.#headReadMs = Number.NEGATIVE_INFINITY;
    return new AssayError(
      'NOT_READY',
      `The graph of ${this.chain} changed, or responded slowly, while it was read. Try again.`,
      { retryAfterSeconds: 1 },
    );
  }
}
