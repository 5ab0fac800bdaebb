/** One commit of a chain's LMDB, as the records that a server will hold. It is held open while a push reads it. */
import { createHash } from 'node:crypto';
import { AssayError } from '../../base/errors.ts';
import { isHubChunk, NEXT_AT } from '../edge-chunk.ts';
import { lostRecord, type StoredBlockRecord } from '../store/chain-records.ts';
import { type ChainStore, chunkKey, packId, readState, type State } from '../store/chain-store.ts';
import { LOG_CHUNK_TRANSFERS } from '../store/log.ts';
import { RecentHalves } from '../store/recent-halves.ts';
import {
  APART,
  ASSETS_PER_PAGE,
  assetPageOf,
  bucketOfKey,
  digestOf,
  HUB,
  INLINE,
  NAMES,
  NO_EDGES,
  packDirectory,
  packRemoteNode,
  type RemoteEdges,
} from './layout.ts';
import { REMOTE_LIMITS } from './limits.ts';

export interface LocalRecord {
  readonly bucket: number;
  readonly name: string;
  readonly value: Buffer;
}

/** A chunk of a hub, with its entry in the directory. */
export interface LocalChunk extends LocalRecord {
  readonly firstId: number;
  readonly digest: bigint;
}

/** All records of one address except its id. */
export interface LocalNode {
  readonly key: Buffer;
  /** Its own record, neighbours that are stored separately, and directories of a hub. */
  readonly records: readonly LocalRecord[];
  /** The chunks that a hub's directories list, by the directory's name. */
  readonly hubs: ReadonlyMap<string, readonly LocalChunk[]>;
}

/** A read transaction on a chain's LMDB. It must be closed. */
export class Snapshot {
  readonly #store: ChainStore;
  readonly #at: { readonly transaction: ReturnType<ChainStore['root']['useReadTransaction']> };
  readonly #buckets: number;
  readonly #recent: RecentHalves;
  readonly state: State;
  /** Identifies the store, whatever it holds. Derived from its secret, which stays here. */
  readonly source: string;

  /** Throws NOT_READY for an empty store, and while a bulk load is under way. */
  constructor(store: ChainStore, buckets: number) {
    this.#store = store;
    this.#buckets = buckets;
    this.source = createHash('sha256').update('assay graph').update(store.salt).digest('hex').slice(0, 32);
    this.#at = { transaction: store.root.useReadTransaction() };
    this.#recent = new RecentHalves(store, { at: this.#at });
    this.state = (store.meta.get('state', this.#at) as State | undefined) ?? readState(store);
    const refusal =
      this.state.transfers === 0
        ? `No transfer of ${store.chain} is stored. Read some with \`assay ingest\` first.`
        : store.meta.get('load', this.#at) === undefined
          ? null
          : `A bulk load of ${store.chain} is under way; push when it has ended.`;
    if (refusal === null) return;
    this.close();
    throw new AssayError('NOT_READY', refusal);
  }

  close(): void {
    this.#at.transaction.done();
  }

  get logChunks(): number {
    return Math.ceil(this.state.nextOrdinal / LOG_CHUNK_TRANSFERS);
  }

  get assetPages(): number {
    return this.state.nextAsset > 1 ? assetPageOf(this.state.nextAsset - 1) + 1 : 0;
  }

  /** Throws STORE_CORRUPT for an id that was never assigned. */
  node(node: number): LocalNode {
    const { chain, keys, nodes, deltas } = this.#store;
    const key = keys.get(node, this.#at);
    if (!key) throw lostRecord(chain, `address ${node}`);
    const records: LocalRecord[] = [];
    const hubs = new Map<string, readonly LocalChunk[]>();
    const bucket = node % this.#buckets;
    const side = (direction: 0 | 1): RemoteEdges => {
      const chunk = this.#chunk(node, direction, 0);
      if (!chunk) return { kind: NO_EDGES, chunk: undefined };
      if (isHubChunk(chunk)) {
        const chunks = this.#hubChunks(node, direction, chunk);
        const name = NAMES.directory(node, direction);
        hubs.set(name, chunks);
        records.push({ bucket, name, value: packDirectory(chunks) });
        return { kind: HUB, chunk: undefined };
      }
      if (chunk.length <= REMOTE_LIMITS.remoteInlineBytes) return { kind: INLINE, chunk };
      records.push({ bucket, name: NAMES.chunk(node, direction, 0), value: chunk });
      return { kind: APART, chunk: undefined };
    };
    const edges = [side(0), side(1)] as const;
    const value = packRemoteNode({
      key,
      node: nodes.get(node, this.#at),
      delta: this.#recent.current().join(node, deltas.get(node, this.#at)),
      edges,
    });
    // Last, so that a reader of it finds the records it refers to.
    records.push({ bucket, name: NAMES.node(node), value });
    return { key, records, hubs };
  }

  id(key: Buffer, node: number): LocalRecord {
    return { bucket: bucketOfKey(key, this.#buckets), name: NAMES.id(key), value: packId(node) };
  }

  logChunk(chunk: number): LocalRecord {
    const value = this.#store.log.get(chunk, this.#at) ?? Buffer.alloc(0);
    return { bucket: chunk % this.#buckets, name: NAMES.log(chunk), value };
  }

  assetPage(page: number): LocalRecord {
    const rows: (readonly [string, number | null] | null)[] = [];
    for (let id = page * ASSETS_PER_PAGE; id < (page + 1) * ASSETS_PER_PAGE; id++) {
      const found = this.#store.assets.get(id, this.#at);
      rows.push(found ? [found.asset, found.decimals] : null);
    }
    return {
      bucket: page % this.#buckets,
      name: NAMES.assets(page),
      value: Buffer.from(JSON.stringify(rows)),
    };
  }

  /** Highest first. */
  readBlocks(): readonly StoredBlockRecord[] {
    const range = this.#store.blocks.getRange({ reverse: true, ...this.#at });
    return [...range].map(({ key: height, value }) => ({ height, ...value }));
  }

  blocks(): LocalRecord {
    return { bucket: 0, name: NAMES.blocks, value: Buffer.from(JSON.stringify(this.readBlocks())) };
  }

  #chunk(node: number, direction: number, firstId: number): Buffer | undefined {
    return this.#store.edges.get(chunkKey(node, direction, firstId), this.#at);
  }

  #hubChunks(node: number, direction: number, first: Buffer): LocalChunk[] {
    const chunks: LocalChunk[] = [];
    let value = first;
    for (let firstId = 0; ; ) {
      const name = NAMES.chunk(node, direction, firstId);
      chunks.push({ bucket: node % this.#buckets, name, value, firstId, digest: digestOf('', value) });
      firstId = value.readUInt32LE(NEXT_AT);
      if (firstId === 0) return chunks;
      const next = this.#chunk(node, direction, firstId);
      if (!next) throw lostRecord(this.#store.chain, `neighbours of address ${node}`);
      value = next;
    }
  }
}
