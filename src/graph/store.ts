/**
 * The store of transfers: one LMDB environment a chain, written in batches that are whole or absent, counted once for each
 * (transaction, position). Addresses are dense ids; neighbours are packed chunks (edges.ts) that the sums are read from.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { type Database, openEnvironment, type RootDatabase } from '../base/lmdb.ts';
import type { AddressKey } from '../chains/address/address.ts';
import {
  formatAddressKey,
  maxKeyBytes,
  parseAddress,
  writeAddressKeyFromText,
} from '../chains/address/parse.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Transfer } from '../chains/transfer.ts';
import { checkTransfer } from './check-transfer.ts';
import { dailyFlows } from './daily.ts';
import {
  addEdge,
  compareEdges,
  decodeChunk,
  type Edge,
  type EdgeChunk,
  type EdgePlace,
  encodeChunk,
  mergeEdges,
} from './edges.ts';
import type { TransferGraph } from './graph.ts';
import type {
  AddressTotals,
  AddressTransfer,
  AssetFlow,
  Counterparty,
  Direction,
  Flow,
  RecentTransfer,
  TransferCoverage,
  TransferReader,
} from './transfers.ts';

/** Changes when bytes of any database below mean something else. Never reused. */
const FORMAT = { name: 'assay-transfers', version: 1 } as const;

/** Id of nobody: the other side of a coinbase, a mint, a fee. */
const NOBODY = 0;
const DIRECTION_CODE: Readonly<Record<Direction, number>> = { in: 0, out: 1 };
const DENSE_ID_MAX = 0xffff_ffff;

/** Counters of a chain; written in the transaction of the batch that changed them. */
interface State {
  nextAddress: number;
  nextAsset: number;
  transfers: number;
  firstBlock: number | null;
  lastBlock: number | null;
  newestMs: number | null;
}

/** Sums of one address that its edges do not hold. */
interface NodeRecord {
  selfTransfers: number;
  transactions: number;
  counterpartiesIn: number;
  counterpartiesOut: number;
  firstSeenMs: number;
  lastSeenMs: number;
}

/** A NodeRecord as stored, without its field names. */
type NodeTuple = readonly [number, number, number, number, number, number];

const packNode = (record: NodeRecord): NodeTuple => [
  record.selfTransfers,
  record.transactions,
  record.counterpartiesIn,
  record.counterpartiesOut,
  record.firstSeenMs,
  record.lastSeenMs,
];

function unpackNode(tuple: NodeTuple): NodeRecord {
  const [selfTransfers, transactions, counterpartiesIn, counterpartiesOut, firstSeenMs, lastSeenMs] = tuple;
  return { selfTransfers, transactions, counterpartiesIn, counterpartiesOut, firstSeenMs, lastSeenMs };
}

interface AssetRecord {
  readonly asset: string;
  readonly decimals: number | null;
}

/** One of the newest transfers of a pair and asset, as stored. Amounts as hex: msgpack has no integer of their size. */
type RecentRecord = readonly [
  timestampMs: number,
  blockNumber: number,
  transaction: Uint8Array,
  position: string,
  amountHex: string,
  cents: number | null,
];

interface ChainStore {
  readonly chain: ChainId;
  readonly root: RootDatabase;
  readonly meta: Database<unknown, string>;
  /** Address key → dense id. */
  readonly ids: Database<Buffer, Uint8Array>;
  /** Dense id → address key. */
  readonly keys: Database<Buffer, Uint8Array>;
  /** Asset text → asset id. */
  readonly assetIds: Database<number, string>;
  readonly assets: Database<AssetRecord, number>;
  /** (address, direction, first counterparty, first asset) → chunk of edges. */
  readonly neighbours: Database<Buffer, Uint8Array>;
  readonly nodes: Database<NodeTuple, number>;
  /** Transaction → its positions, with the dense ids of each. What makes a second reading of a file change nothing. */
  readonly transactions: Database<Buffer, Uint8Array>;
  /** (from, to, asset) → its newest transfers, newest first. */
  readonly recent: Database<readonly RecentRecord[], Uint8Array>;
}

export interface IngestCounts {
  /** Transfers that were new. */
  readonly stored: number;
  /** Transfers that were there already. */
  readonly duplicates: number;
}

export interface TransferStore extends TransferReader {
  /**
   * Stores transfers, batch by batch; each batch is whole or absent, also after a crash, and on disk when this resolves.
   * Throws INVALID_ADDRESS or INVALID_REQUEST for a record that breaks the contract of Transfer; earlier batches stay.
   */
  ingest(transfers: AsyncIterable<Transfer> | Iterable<Transfer>): Promise<IngestCounts>;
}

export interface TransferStoreOptions {
  /** Folder; one file a chain. */
  readonly path: string;
  readonly readOnly: boolean;
}

const u32 = (...values: readonly number[]): Buffer => {
  const key = Buffer.allocUnsafe(values.length * 4);
  for (const [index, value] of values.entries()) key.writeUInt32BE(value, index * 4);
  return key;
};

/** First 5 bytes name the address and direction; the rest orders its chunks. */
function chunkKey(node: number, direction: number, place: EdgePlace): Buffer {
  const key = Buffer.allocUnsafe(13);
  key.writeUInt32BE(node, 0);
  key[4] = direction;
  key.writeUInt32BE(place.counterparty, 5);
  key.writeUInt32BE(place.asset, 9);
  return key;
}

const FIRST_PLACE: EdgePlace = { counterparty: 0, asset: 0 };

const EVM_HASH = /^0x[0-9a-f]{64}$/;
/** First byte of a packed transaction id: an EVM hash as its 32 bytes, or any other text. */
const HASH = 0;
const TEXT = 1;

const packTransaction = (txHash: string): Buffer =>
  EVM_HASH.test(txHash)
    ? Buffer.concat([Buffer.of(HASH), Buffer.from(txHash.slice(2), 'hex')])
    : Buffer.concat([Buffer.of(TEXT), Buffer.from(txHash, 'utf8')]);

function unpackTransaction(packed: Uint8Array): string {
  const id = Buffer.from(packed.buffer, packed.byteOffset + 1, packed.length - 1);
  return packed[0] === HASH ? `0x${id.toString('hex')}` : id.toString('utf8');
}

/** The positions of one transaction that are stored, packed: length byte, text, the dense ids of both sides. */
class KnownTransaction {
  readonly positions = new Set<string>();
  readonly parties = new Set<number>();
  readonly #parts: Buffer[] = [];
  isChanged = false;

  constructor(stored: Buffer | undefined) {
    if (!stored) return;
    this.#parts.push(stored);
    for (let at = 0; at < stored.length; ) {
      const length = stored[at] as number;
      const ids = at + 1 + length;
      this.positions.add(stored.toString('utf8', at + 1, ids));
      this.parties.add(stored.readUInt32BE(ids));
      this.parties.add(stored.readUInt32BE(ids + 4));
      at = ids + 8;
    }
  }

  add(position: string, from: number, to: number): void {
    const text = Buffer.from(position, 'utf8');
    this.#parts.push(Buffer.of(text.length), text, u32(from, to));
    this.positions.add(position);
    this.parties.add(from);
    this.parties.add(to);
    this.isChanged = true;
  }

  pack(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

function openChain(path: string, chain: ChainId, readOnly: boolean): ChainStore {
  const root = openEnvironment(path, { maxDbs: 12, readOnly, noSubdir: true });
  const db = <V, K extends number | string | Uint8Array>(
    name: string,
    encoding: 'binary' | 'msgpack',
    keyEncoding: 'binary' | 'ordered-binary' | 'uint32',
  ): Database<V, K> => root.openDB<V, K>({ name, encoding, keyEncoding });
  const meta = db<unknown, string>('meta', 'msgpack', 'ordered-binary');
  const format = meta.get('format') as { name?: unknown; version?: unknown } | undefined;
  if (format === undefined && !readOnly && meta.getCount() === 0)
    meta.putSync('format', { ...FORMAT, chain });
  else if (format?.name !== FORMAT.name || format.version !== FORMAT.version) {
    void root.close();
    throw new AssayError(
      'STORE_VERSION',
      `The transfer store ${path} has the format ${JSON.stringify(format ?? null)}, and this program knows ` +
        `${FORMAT.name} version ${FORMAT.version}. It is left as it is.`,
    );
  }
  return {
    chain,
    root,
    meta,
    ids: db('ids', 'binary', 'binary'),
    keys: db('keys', 'binary', 'binary'),
    assetIds: db('asset-ids', 'msgpack', 'ordered-binary'),
    assets: db('assets', 'msgpack', 'uint32'),
    neighbours: db('neighbours', 'binary', 'binary'),
    nodes: db('nodes', 'msgpack', 'uint32'),
    transactions: db('transactions', 'binary', 'binary'),
    recent: db('recent', 'msgpack', 'binary'),
  };
}

const readState = (store: ChainStore): State =>
  (store.meta.get('state') as State | undefined) ?? {
    nextAddress: NOBODY + 1,
    nextAsset: 1,
    transfers: 0,
    firstBlock: null,
    lastBlock: null,
    newestMs: null,
  };

/** Everything one batch changes, collected in memory, then merged into the databases in one transaction. */
class Batch {
  readonly #store: ChainStore;
  readonly #state: State;
  readonly #key = Buffer.alloc(maxKeyBytes);
  readonly #addressIds = new Map<string, number>();
  readonly #assetIds = new Map<string, number>();
  /** One edge a transfer, by address and direction (`edgesName`). */
  readonly #edges = new Map<number, Edge[]>();
  readonly #nodes = new Map<number, NodeRecord>();
  /** The transactions of the batch, by their id as given. */
  readonly #transactions = new Map<string, { key: Buffer; known: KnownTransaction }>();
  readonly #recent = new Map<string, { key: Buffer; records: RecentRecord[] }>();
  stored = 0;
  duplicates = 0;

  constructor(store: ChainStore) {
    this.#store = store;
    this.#state = readState(store);
  }

  add(transfer: Transfer): void {
    const { known } = this.#transaction(transfer.txHash);
    if (known.positions.has(transfer.position)) {
      this.duplicates++;
      return;
    }
    const from = transfer.from === null ? NOBODY : this.#addressId(transfer.from);
    const to = transfer.to === null ? NOBODY : this.#addressId(transfer.to);
    const asset = this.#assetId(transfer);
    const cents = transfer.valueUsd === null ? null : Math.round(transfer.valueUsd * 100);
    this.#addEdge(from, DIRECTION_CODE.out, to, asset, transfer, cents);
    this.#addEdge(to, DIRECTION_CODE.in, from, asset, transfer, cents);
    for (const node of new Set([from, to])) {
      if (node === NOBODY) continue;
      const record = this.#node(node, transfer.timestampMs);
      if (from === to) record.selfTransfers++;
      if (!known.parties.has(node)) record.transactions++;
    }
    known.add(transfer.position, from, to);
    this.#addRecent(from, to, asset, transfer, cents);
    this.#count(transfer);
  }

  /** Merges what was collected. Runs inside the write transaction. */
  write(): void {
    const { nodes, recent, meta, transactions } = this.#store;
    for (const { key, known } of this.#transactions.values())
      if (known.isChanged) transactions.putSync(key, known.pack());
    // In the order of the keys: neighbouring pages are written once.
    for (const name of [...this.#edges.keys()].sort((a, b) => a - b)) {
      const node = Math.floor(name / 2);
      const direction = name % 2;
      const added = joinEdges(this.#edges.get(name) ?? []);
      const newParties = this.#mergeNeighbours(node, direction, added);
      const record = this.#nodes.get(node);
      if (!record) continue;
      if (direction === DIRECTION_CODE.in) record.counterpartiesIn += newParties;
      else record.counterpartiesOut += newParties;
    }
    for (const [node, record] of this.#nodes) nodes.putSync(node, packNode(record));
    for (const { key, records } of this.#recent.values()) recent.putSync(key, records);
    meta.putSync('state', this.#state);
  }

  #count(transfer: Transfer): void {
    const state = this.#state;
    this.stored++;
    state.transfers++;
    state.firstBlock = Math.min(state.firstBlock ?? transfer.blockNumber, transfer.blockNumber);
    state.lastBlock = Math.max(state.lastBlock ?? 0, transfer.blockNumber);
    state.newestMs = Math.max(state.newestMs ?? 0, transfer.timestampMs);
  }

  #transaction(txHash: string): { key: Buffer; known: KnownTransaction } {
    let entry = this.#transactions.get(txHash);
    if (!entry) {
      const key = packTransaction(txHash);
      entry = { key, known: new KnownTransaction(this.#store.transactions.getBinary(key)) };
      this.#transactions.set(txHash, entry);
    }
    return entry;
  }

  #addressId(text: string): number {
    const known = this.#addressIds.get(text);
    if (known !== undefined) return known;
    const { ids, keys, chain } = this.#store;
    const length = writeAddressKeyFromText(chain, text, this.#key, 0);
    // Parsed again only to say what is wrong with it.
    if (length < 0) parseAddress(chain, text);
    const key = Buffer.from(this.#key.subarray(0, length));
    const stored = ids.getBinaryFast(key);
    let id = stored?.readUInt32BE(0);
    if (id === undefined) {
      id = this.#state.nextAddress++;
      if (id > DENSE_ID_MAX)
        throw new AssayError('INTERNAL', `The transfer store of ${chain} has no address id left.`);
      ids.putSync(key, u32(id));
      keys.putSync(u32(id), key);
    }
    this.#addressIds.set(text, id);
    return id;
  }

  #assetId(transfer: Transfer): number {
    const known = this.#assetIds.get(transfer.asset);
    if (known !== undefined) return known;
    const { assetIds, assets } = this.#store;
    let id = assetIds.get(transfer.asset);
    if (id === undefined) {
      id = this.#state.nextAsset++;
      assetIds.putSync(transfer.asset, id);
      assets.putSync(id, { asset: transfer.asset, decimals: transfer.decimals });
    } else if (transfer.decimals !== null && assets.get(id)?.decimals === null) {
      assets.putSync(id, { asset: transfer.asset, decimals: transfer.decimals });
    }
    this.#assetIds.set(transfer.asset, id);
    return id;
  }

  #node(node: number, timestampMs: number): NodeRecord {
    let record = this.#nodes.get(node);
    if (!record) {
      const stored = this.#store.nodes.get(node);
      record = unpackNode(stored ?? [0, 0, 0, 0, timestampMs, timestampMs]);
      this.#nodes.set(node, record);
    }
    record.firstSeenMs = Math.min(record.firstSeenMs, timestampMs);
    record.lastSeenMs = Math.max(record.lastSeenMs, timestampMs);
    return record;
  }

  #addEdge(
    node: number,
    direction: number,
    counterparty: number,
    asset: number,
    transfer: Transfer,
    cents: number | null,
  ): void {
    if (node === NOBODY) return;
    const name = node * 2 + direction;
    let edges = this.#edges.get(name);
    if (!edges) {
      edges = [];
      this.#edges.set(name, edges);
    }
    const { amount, timestampMs } = transfer;
    edges.push({
      counterparty,
      asset,
      transfers: 1,
      unpriced: cents === null && amount > 0n ? 1 : 0,
      amount,
      cents: cents ?? 0,
      firstSeenMs: timestampMs,
      lastSeenMs: timestampMs,
    });
  }

  #addRecent(from: number, to: number, asset: number, transfer: Transfer, cents: number | null): void {
    const key = u32(from, to, asset);
    const name = key.toString('latin1');
    let entry = this.#recent.get(name);
    if (!entry) {
      entry = { key, records: [...(this.#store.recent.get(key) ?? [])] };
      this.#recent.set(name, entry);
    }
    const { timestampMs, blockNumber, txHash, position, amount } = transfer;
    const transaction = this.#transaction(txHash).key;
    entry.records.push([timestampMs, blockNumber, transaction, position, amount.toString(16), cents]);
    entry.records.sort(newestFirst);
    entry.records.length = Math.min(entry.records.length, LIMITS.recentTransfersPerEdge);
  }

  /** Returns how many counterparties are new to the address in the direction. */
  #mergeNeighbours(node: number, direction: number, added: readonly Edge[]): number {
    let newParties = 0;
    let at = 0;
    while (at < added.length) {
      const first = added[at] as Edge;
      const found = findChunk(this.#store.neighbours, node, direction, first);
      const { next } = found.chunk;
      let until = at + 1;
      while (until < added.length && (!next || compareEdges(added[until] as Edge, next) < 0)) until++;
      const slice = added.slice(at, until);
      newParties += countNewParties(node, found.chunk, slice);
      this.#writeChunks(node, direction, found.place, mergeEdges(found.chunk.edges, slice), next);
      at = until;
    }
    return newParties;
  }

  #writeChunks(
    node: number,
    direction: number,
    place: EdgePlace,
    edges: readonly Edge[],
    next: EdgePlace | null,
  ): void {
    const { neighbours } = this.#store;
    const bytes = encodeChunk(edges, next);
    if (bytes.length <= LIMITS.edgeChunkBytesMax || edges.length < 2) {
      neighbours.putSync(chunkKey(node, direction, place), bytes);
      return;
    }
    const middle = edges.length >> 1;
    const upper = edges[middle] as Edge;
    const start = { counterparty: upper.counterparty, asset: upper.asset };
    this.#writeChunks(node, direction, place, edges.slice(0, middle), start);
    this.#writeChunks(node, direction, start, edges.slice(middle), next);
  }
}

/**
 * Counterparties of `added` that the address did not know. Only the neighbouring chunk can name one beside the chunk itself, as
 * its first edge: a chunk begins at an edge, so the counterparty a chunk begins with is always in it.
 */
function countNewParties(node: number, chunk: EdgeChunk, added: readonly Edge[]): number {
  const known = new Set([NOBODY, node]);
  if (chunk.next) known.add(chunk.next.counterparty);
  for (const edge of chunk.edges) known.add(edge.counterparty);
  const before = known.size;
  for (const edge of added) known.add(edge.counterparty);
  return known.size - before;
}

/** Newest first; two readings in another order end in the same four. */
function newestFirst(a: RecentRecord, b: RecentRecord): number {
  return b[0] - a[0] || Buffer.compare(a[2], b[2]) || (a[3] < b[3] ? -1 : 1);
}

/** Orders edges and adds up those of one place. Changes the edges. */
function joinEdges(edges: Edge[]): Edge[] {
  const joined: Edge[] = [];
  for (const edge of edges.sort(compareEdges)) {
    const last = joined.at(-1);
    if (last && compareEdges(last, edge) === 0) addEdge(last, edge);
    else joined.push(edge);
  }
  return joined;
}

interface FoundChunk {
  readonly place: EdgePlace;
  readonly chunk: EdgeChunk;
}

/** The chunk that holds, or would hold, an edge. An address without neighbours has an empty first one. */
function findChunk(
  neighbours: Database<Buffer, Uint8Array>,
  node: number,
  direction: number,
  wanted: EdgePlace,
): FoundChunk {
  const firstBytes = neighbours.getBinary(chunkKey(node, direction, FIRST_PLACE));
  if (!firstBytes) return { place: FIRST_PLACE, chunk: { edges: [], next: null } };
  const first = decodeChunk(firstBytes);
  if (!first.next || compareEdges(wanted, first.next) < 0) return { place: FIRST_PLACE, chunk: first };
  const start = chunkKey(node, direction, wanted);
  for (const { key, value } of neighbours.getRange({ start, reverse: true, limit: 1 })) {
    const found = Buffer.from(key);
    if (found.readUInt32BE(0) !== node || found[4] !== direction) break;
    const place = { counterparty: found.readUInt32BE(5), asset: found.readUInt32BE(9) };
    return { place, chunk: decodeChunk(value) };
  }
  throw new AssayError('STORE_CORRUPT', `The transfer store lost a chunk of neighbours of address ${node}.`);
}

function* edgesOf(store: ChainStore, node: number, direction: Direction): Generator<Edge> {
  const code = DIRECTION_CODE[direction];
  const start = chunkKey(node, code, FIRST_PLACE);
  const end = chunkKey(node, code + 1, FIRST_PLACE);
  for (const { value } of store.neighbours.getRange({ start, end })) yield* decodeChunk(value).edges;
}

/** Null where no figure is known: a transfer without value beside one without price says nothing of what moved. */
const usd = (cents: number, unpriced: number): number | null =>
  cents === 0 && unpriced > 0 ? null : cents / 100;

class Sum {
  transfers = 0;
  unpriced = 0;
  cents = 0;
  amount = 0n;

  add(edge: Edge): void {
    this.transfers += edge.transfers;
    this.unpriced += edge.unpriced;
    this.cents += edge.cents;
    this.amount += edge.amount;
  }

  get valueUsd(): number | null {
    return usd(this.cents, this.unpriced);
  }
}

function assetFlow(store: ChainStore, id: number, sum: Sum): AssetFlow {
  const asset = store.assets.get(id);
  if (!asset) throw new AssayError('STORE_CORRUPT', `The transfer store of ${store.chain} lost asset ${id}.`);
  return {
    asset: asset.asset,
    decimals: asset.decimals,
    transfers: sum.transfers,
    amount: sum.amount,
    valueUsd: sum.valueUsd,
    unpricedTransfers: sum.unpriced,
  };
}

function flowOf(store: ChainStore, node: number, direction: Direction): Flow {
  const total = new Sum();
  const byAsset = new Map<number, Sum>();
  for (const edge of edgesOf(store, node, direction)) {
    if (edge.counterparty === node) continue;
    total.add(edge);
    const sum = byAsset.get(edge.asset) ?? new Sum();
    sum.add(edge);
    byAsset.set(edge.asset, sum);
  }
  return {
    transfers: total.transfers,
    unpricedTransfers: total.unpriced,
    valueUsd: total.valueUsd,
    byAsset: [...byAsset]
      .sort(([idA, a], [idB, b]) => b.transfers - a.transfers || idA - idB)
      .slice(0, LIMITS.assetsListedMax)
      .map(([id, sum]) => assetFlow(store, id, sum)),
  };
}

/** Sums of one counterparty over its assets, while the best are being chosen. */
class Candidate extends Sum {
  readonly id: number;
  readonly edges: Edge[] = [];
  firstSeenMs = Number.POSITIVE_INFINITY;
  lastSeenMs = 0;

  constructor(id: number) {
    super();
    this.id = id;
  }

  override add(edge: Edge): void {
    super.add(edge);
    this.edges.push(edge);
    this.firstSeenMs = Math.min(this.firstSeenMs, edge.firstSeenMs);
    this.lastSeenMs = Math.max(this.lastSeenMs, edge.lastSeenMs);
  }
}

const byValue = (a: Candidate, b: Candidate): number =>
  b.cents - a.cents || b.unpriced - a.unpriced || a.id - b.id;

/** Chooses the best `limit` while holding at most twice as many: a hub has a million. */
function bestCandidates(edges: Iterable<Edge>, node: number, limit: number): Candidate[] {
  const best: Candidate[] = [];
  let current: Candidate | null = null;
  const settle = (): void => {
    if (current) best.push(current);
    if (best.length < limit * 2 + 1) return;
    best.sort(byValue);
    best.length = limit;
  };
  for (const edge of edges) {
    if (edge.counterparty === NOBODY || edge.counterparty === node) continue;
    if (current?.id !== edge.counterparty) {
      settle();
      current = new Candidate(edge.counterparty);
    }
    current.add(edge);
  }
  settle();
  return best.sort(byValue).slice(0, limit);
}

function addressKeyOf(store: ChainStore, id: number): AddressKey {
  const key = store.keys.getBinary(u32(id));
  if (!key) throw new AssayError('STORE_CORRUPT', `The transfer store of ${store.chain} lost address ${id}.`);
  return key;
}

function counterpartyOf(store: ChainStore, candidate: Candidate, direction: Direction): Counterparty {
  const key = addressKeyOf(store, candidate.id);
  return {
    key,
    address: formatAddressKey(key, store.chain),
    direction,
    transfers: candidate.transfers,
    unpricedTransfers: candidate.unpriced,
    valueUsd: candidate.valueUsd,
    firstSeenMs: candidate.firstSeenMs,
    lastSeenMs: candidate.lastSeenMs,
    assets: candidate.edges.map((edge) => {
      const sum = new Sum();
      sum.add(edge);
      return assetFlow(store, edge.asset, sum);
    }),
  };
}

/** All assets of the edge between two addresses. */
function* recordsBetween(
  store: ChainStore,
  from: number,
  to: number,
): Generator<{ asset: number; record: RecentRecord }> {
  const start = u32(from, to, 0);
  const end = u32(from, to, DENSE_ID_MAX);
  for (const { key, value } of store.recent.getRange({ start, end })) {
    const asset = Buffer.from(key).readUInt32BE(8);
    for (const record of value) yield { asset, record };
  }
}

function recentTransfer(store: ChainStore, asset: number, record: RecentRecord): RecentTransfer {
  const [timestampMs, blockNumber, transaction, position, amountHex, cents] = record;
  const { asset: name, decimals } = assetFlow(store, asset, new Sum());
  return {
    txHash: unpackTransaction(transaction),
    position,
    blockNumber,
    timestampMs,
    asset: name,
    decimals,
    amount: BigInt(`0x${amountHex}`),
    valueUsd: cents === null ? null : cents / 100,
  };
}

function recentTransfers(store: ChainStore, node: number, limit: number): AddressTransfer[] {
  const edges = (['in', 'out'] as const).flatMap((direction) =>
    [...edgesOf(store, node, direction)]
      .filter((edge) => direction === 'out' || edge.counterparty !== node)
      .map((edge) => ({ edge, direction })),
  );
  const newest = edges.sort((a, b) => b.edge.lastSeenMs - a.edge.lastSeenMs).slice(0, limit);
  const parties = new Map(newest.map((one) => [`${one.direction}${one.edge.counterparty}`, one]));
  return [...parties.values()]
    .flatMap(({ edge, direction }) => {
      const other = edge.counterparty;
      const key = other === NOBODY ? null : addressKeyOf(store, other);
      const counterparty = key && { key, address: formatAddressKey(key, store.chain) };
      const [from, to] = direction === 'in' ? [other, node] : [node, other];
      return [...recordsBetween(store, from, to)].map(({ asset, record }) => ({
        ...recentTransfer(store, asset, record),
        direction,
        counterparty,
      }));
    })
    .sort((a, b) => b.timestampMs - a.timestampMs)
    .slice(0, limit);
}

/** The chain as kernels read it. */
function graphOf(store: ChainStore): TransferGraph {
  const nodeCount = readState(store).nextAddress - 1;
  return {
    chain: store.chain,
    nodeCount,
    idOf: (key) => store.ids.getBinaryFast(key)?.readUInt32BE(0) ?? null,
    keyOf: (node) => addressKeyOf(store, node),
    addressOf: (node) => formatAddressKey(addressKeyOf(store, node), store.chain),
    degree(node, direction) {
      const stored = store.nodes.get(node);
      const record = stored ? unpackNode(stored) : null;
      return (direction === 'in' ? record?.counterpartiesIn : record?.counterpartiesOut) ?? 0;
    },
    neighbours(node, direction, limit, into) {
      const best = bestCandidates(edgesOf(store, node, direction), node, limit);
      for (const [at, candidate] of best.entries()) {
        into.ids[at] = candidate.id;
        into.valueUsd[at] = candidate.cents / 100;
        into.transfers[at] = candidate.transfers;
        into.unpriced[at] = candidate.unpriced;
        into.firstSeenMs[at] = candidate.firstSeenMs;
        into.lastSeenMs[at] = candidate.lastSeenMs;
      }
      return best.length;
    },
    edge(from, to) {
      return [...edgesOf(store, from, 'out')]
        .filter((edge) => edge.counterparty === to)
        .sort((a, b) => b.transfers - a.transfers || a.asset - b.asset)
        .map((edge) => {
          const sum = new Sum();
          sum.add(edge);
          const { firstSeenMs, lastSeenMs } = edge;
          return { ...assetFlow(store, edge.asset, sum), firstSeenMs, lastSeenMs };
        });
    },
  };
}

async function* inBatches(
  transfers: AsyncIterable<Transfer> | Iterable<Transfer>,
): AsyncGenerator<{ chain: ChainId; batch: Transfer[] }> {
  let batch: Transfer[] = [];
  for await (const transfer of transfers) {
    checkTransfer(transfer);
    const first = batch[0];
    if (first && (first.chain !== transfer.chain || batch.length >= LIMITS.ingestBatchTransfers)) {
      yield { chain: first.chain, batch };
      batch = [];
    }
    batch.push(transfer);
  }
  const first = batch[0];
  if (first) yield { chain: first.chain, batch };
}

/**
 * Opens the folder of transfer stores. Environments of chains are opened at their first use; a read-only store of a chain
 * that was never written answers as an empty one. Throws STORE_VERSION for a format it does not know.
 */
export function openTransferStore(options: TransferStoreOptions): TransferStore {
  const open = new Map<ChainId, ChainStore>();

  const storeOf = (chain: ChainId): ChainStore | null => {
    const known = open.get(chain);
    if (known) return known;
    const path = join(options.path, `${chain.toLowerCase()}.mdb`);
    if (options.readOnly && !existsSync(path)) return null;
    const store = openChain(path, chain, options.readOnly);
    open.set(chain, store);
    return store;
  };

  const nodeOf = (store: ChainStore, key: AddressKey): number | null =>
    store.ids.getBinaryFast(key)?.readUInt32BE(0) ?? null;

  const writeBatch = (chain: ChainId, transfers: readonly Transfer[]): IngestCounts => {
    const store = storeOf(chain);
    if (!store || options.readOnly)
      throw new AssayError('INTERNAL', `The transfer store of ${chain} was opened for reading only.`);
    return store.root.transactionSync(() => {
      const batch = new Batch(store);
      for (const transfer of transfers) batch.add(transfer);
      batch.write();
      return { stored: batch.stored, duplicates: batch.duplicates };
    });
  };

  const recentOf = (chain: ChainId, key: AddressKey, limit: number): AddressTransfer[] => {
    const store = storeOf(chain);
    const node = store && nodeOf(store, key);
    if (!store || node === null) return [];
    return recentTransfers(store, node, limit);
  };

  return {
    async ingest(transfers) {
      let stored = 0;
      let duplicates = 0;
      for await (const { chain, batch } of inBatches(transfers)) {
        const counts = writeBatch(chain, batch);
        stored += counts.stored;
        duplicates += counts.duplicates;
      }
      for (const store of open.values()) await store.root.flushed;
      return { stored, duplicates };
    },

    counterparties(chain, key, { direction, limit }) {
      const store = storeOf(chain);
      const node = store && nodeOf(store, key);
      if (!store || node === null) return [];
      const capped = Math.min(Math.max(0, limit), LIMITS.counterpartiesMax);
      return bestCandidates(edgesOf(store, node, direction), node, capped).map((candidate) =>
        counterpartyOf(store, candidate, direction),
      );
    },

    counterpartyCount(chain, key, direction) {
      const store = storeOf(chain);
      const node = store && nodeOf(store, key);
      if (!store || node === null) return 0;
      const stored = store.nodes.get(node);
      const record = stored ? unpackNode(stored) : null;
      return (direction === 'in' ? record?.counterpartiesIn : record?.counterpartiesOut) ?? 0;
    },

    totals(chain, key): AddressTotals | null {
      const store = storeOf(chain);
      const node = store && nodeOf(store, key);
      if (!store || node === null) return null;
      const stored = store.nodes.get(node);
      if (!stored) return null;
      const { selfTransfers, transactions, firstSeenMs, lastSeenMs } = unpackNode(stored);
      return {
        in: flowOf(store, node, 'in'),
        out: flowOf(store, node, 'out'),
        selfTransfers,
        transactions,
        firstSeenMs,
        lastSeenMs,
      };
    },

    newest(chain, from, to, limit): readonly RecentTransfer[] {
      const store = storeOf(chain);
      const fromId = store && nodeOf(store, from);
      const toId = store && nodeOf(store, to);
      if (!store || fromId === null || toId === null) return [];
      return [...recordsBetween(store, fromId, toId)]
        .sort((a, b) => newestFirst(a.record, b.record))
        .slice(0, limit)
        .map(({ asset, record }) => recentTransfer(store, asset, record));
    },

    recent(chain, key, limit) {
      return recentOf(chain, key, Math.min(limit, LIMITS.recentTransfersPerAddress));
    },

    daily(chain, key, limitDays) {
      return dailyFlows(recentOf(chain, key, LIMITS.recentTransfersPerAddress), limitDays);
    },

    graph(chain): TransferGraph | null {
      const store = storeOf(chain);
      return store && readState(store).transfers > 0 ? graphOf(store) : null;
    },

    blocks() {
      return [];
    },

    coverage(chain): TransferCoverage {
      const store = storeOf(chain);
      const state = store ? readState(store) : null;
      return {
        transfers: state?.transfers ?? 0,
        firstBlock: state?.firstBlock ?? null,
        lastBlock: state?.lastBlock ?? null,
        asOf: state?.newestMs == null ? null : isoTime(state.newestMs),
      };
    },

    async close() {
      for (const store of open.values()) await store.root.close();
      open.clear();
    },
  };
}
