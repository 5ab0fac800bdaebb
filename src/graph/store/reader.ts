/** Reads transfers from one chain's store: the reader's port, and the graph that kernels walk. */
import { isoTime } from '../../base/clock.ts';
import { ReadingValue } from '../../base/reading.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { formatAddressKey } from '../../chains/address/parse.ts';
import { dailyFlows } from '../daily.ts';
import { type AssetSum, type Edge, type TransferRef, totalsOf } from '../edges.ts';
import type { AssetFlow, Direction } from '../flow.ts';
import type { EdgeDetail, TransferGraph } from '../graph.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import type {
  AddressTotals,
  AddressTransfer,
  Counterparty,
  CounterpartyChoice,
  DailyFlows,
  Flow,
  MovedValue,
  RecentTransfer,
  StoredBlock,
  TransferCoverage,
} from '../transfers.ts';
import { Adjacency, cappedCounterparties, readNode } from './adjacency.ts';
import type { ChainRecords } from './chain-records.ts';
import { type Coverage, DIRECTION_CODE, joinCoverage } from './chain-store.ts';
import { readEntries } from './delta.ts';
import { unpackTransaction } from './fingerprint.ts';
import { initiationIn } from './initiation.ts';
import type { KeyCache } from './key-cache.ts';
import { addReference, listedEdges, listsAll } from './listed-transfers.ts';
import { cursorAt, LOG_CHUNK_TRANSFERS, type LoggedTransfer, readTransfer } from './log.ts';
import { createNode, type FlowSum, type NodeRecord, unpackNode } from './node-record.ts';

const NOBODY = 0;

interface Sums {
  readonly transfers: number;
  readonly unpriced: number;
  readonly cents: number;
}

/** Returns null if the value is unknown: transfers worth 0 beside unpriced ones do not determine it. */
const usd = ({ cents, unpriced }: Sums): number | null => (cents === 0 && unpriced > 0 ? null : cents / 100);

function assetFlow(records: ChainRecords, sum: Sums & { asset: number; amount: bigint }): AssetFlow {
  const { asset, decimals } = records.assetOf(sum.asset);
  return {
    asset,
    decimals,
    transfers: sum.transfers,
    amount: sum.amount,
    valueUsd: usd(sum),
    unpricedTransfers: sum.unpriced,
  };
}

function flowOf(records: ChainRecords, record: NodeRecord, direction: Direction): Flow {
  const code = DIRECTION_CODE[direction];
  const sums: FlowSum[] = record.flows.filter((flow) => flow.direction === code);
  const total = { transfers: 0, unpriced: 0, cents: 0 };
  for (const sum of sums) {
    total.transfers += sum.transfers;
    total.unpriced += sum.unpriced;
    total.cents += sum.cents;
  }
  return {
    transfers: total.transfers,
    unpricedTransfers: total.unpriced,
    valueUsd: usd(total),
    byAsset: sums
      .sort((a, b) => b.transfers - a.transfers || a.asset - b.asset)
      .slice(0, GRAPH_LIMITS.assetsListedMax)
      .map((sum) => assetFlow(records, sum)),
  };
}

function counterpartyOf(records: ChainRecords, key: Buffer, edge: Edge, direction: Direction): Counterparty {
  const totals = totalsOf(edge);
  return {
    key,
    get address() {
      return formatAddressKey(key, records.chain);
    },
    direction,
    transfers: totals.transfers,
    unpricedTransfers: totals.unpriced,
    valueUsd: usd(totals),
    firstSeenMs: totals.firstSeenMs,
    lastSeenMs: totals.lastSeenMs,
    assets: edge.assets.map((sum) => assetFlow(records, sum)),
  };
}

const usdOfCents = (cents: number | null): number | null => (cents === null ? null : cents / 100);

/** Returns a transfer as results show it. */
export function transferOf(records: ChainRecords, logged: LoggedTransfer): RecentTransfer {
  const { asset, decimals } = records.assetOf(logged.asset);
  return {
    txHash: unpackTransaction(logged.transaction),
    position: logged.position,
    blockNumber: logged.blockNumber,
    timestampMs: logged.timestampMs,
    asset,
    decimals,
    amount: logged.amount,
    valueUsd: usdOfCents(logged.cents),
    initiation: initiationIn(logged.initiation),
  };
}

/** Newest first. Transfers at the same time are in the order of their transactions, not of their arrival. */
const newestTransfers = (a: RecentTransfer, b: RecentTransfer): number =>
  b.timestampMs - a.timestampMs ||
  (a.txHash === b.txHash ? (a.position < b.position ? -1 : 1) : a.txHash < b.txHash ? -1 : 1);

/** Read queries on one chain. Each call sees one commit: the newest. */
export interface ChainReader {
  counterparties(key: Uint8Array, options: CounterpartyChoice): readonly Counterparty[];
  counterpartyCount(key: Uint8Array, direction: Direction): number;
  totals(key: Uint8Array): AddressTotals | null;
  newest(from: Uint8Array, to: Uint8Array, limit: number): readonly RecentTransfer[];
  recent(
    key: Uint8Array,
    limit: number,
    isWanted?: (moved: MovedValue, counterparty: () => AddressKey | null) => boolean,
  ): readonly AddressTransfer[];
  daily(key: Uint8Array, limitDays: number): DailyFlows;
  graph(): TransferGraph | null;
  blocks(): readonly StoredBlock[];
  coverage(): TransferCoverage;
}

/**
 * Creates a reader of one chain's records.
 *
 * @param cache - caches keys and texts of addresses, if the ids of the records never change; default: none
 */
export function createChainReader(records: ChainRecords, cache: KeyCache | null = null): ChainReader {
  const keys = cache ?? records;
  /** A key that is valid until the next one is read. */
  const keyNow = (node: number): Buffer => cache?.viewOf(node) ?? records.keyOf(node);
  const adjacency = new Adjacency(records);

  const readLogged = (refs: readonly TransferRef[]): LoggedTransfer[] => {
    records.prefetchLog?.(refs.map(({ ordinal }) => Math.floor(ordinal / LOG_CHUNK_TRANSFERS)));
    return refs.map(({ ordinal }) => readTransfer(records, ordinal));
  };

  /** A screening reads the newest transfers of its address twice: for the days, and for those that prove nothing. */
  const newestRead = new ReadingValue<{ readonly node: number; readonly logs: readonly LoggedTransfer[] }>();

  /** Returns the newest transfers of an address, in the order in which its record lists them. */
  const newestOf = (node: number): readonly LoggedTransfer[] => {
    const read = newestRead.value;
    if (read?.node === node) return read.logs;
    const logs = readLogged(readNode(records, node)?.newest ?? []);
    newestRead.value = { node, logs };
    return logs;
  };

  /** A screening reads the transfers of its address to one counterparty after another. */
  const listedRead = new ReadingValue<{ readonly node: number; readonly edges: Map<number, Edge> | null }>();

  /** The edges of an address with the references to their newest transfers. Null if they are in the stored edges. */
  const listedOf = (node: number): Map<number, Edge> | null => {
    if (listedRead.value?.node === node) return listedRead.value.edges;
    const stored = records.node(node);
    const record = stored
      ? unpackNode(stored, (ordinal) => cursorAt(records, ordinal).timestampMs)
      : createNode();
    const edges = listsAll(record) ? listedEdges(records, node, record) : null;
    const delta = edges && records.delta(node);
    for (const entry of delta ? readEntries(delta) : [])
      if (entry.direction === DIRECTION_CODE.out && entry.counterparty !== 0 && entry.counterparty !== node)
        addReference(edges as Map<number, Edge>, entry.counterparty, entry);
    listedRead.value = { node, edges };
    return edges;
  };

  /** A screening names the state of the chain several times. */
  const coverage = new ReadingValue<TransferCoverage>();

  const recent = (
    key: Uint8Array,
    limit: number,
    isWanted: (moved: MovedValue, counterparty: () => AddressKey | null) => boolean = () => true,
  ): AddressTransfer[] => {
    const node = records.idOf(key);
    if (node === null) return [];
    const otherOf = ({ from, to }: LoggedTransfer): number => (from === node ? to : from);
    const otherKeyOf = (logged: LoggedTransfer): Buffer | null => {
      const other = otherOf(logged);
      return other === NOBODY ? null : keys.keyOf(other);
    };
    const logs = newestOf(node)
      .slice(0, Math.max(0, limit))
      .filter((logged) => {
        const { asset, amount, cents } = logged;
        const moved = { asset: records.assetOf(asset).asset, amount, valueUsd: usdOfCents(cents) };
        return isWanted(moved, () => otherKeyOf(logged));
      });
    if (logs.length > 0) records.prefetch?.({ nodes: logs.map(otherOf) });
    return logs
      .map((logged): AddressTransfer => {
        const direction = logged.from === node ? 'out' : 'in';
        const otherKey = otherKeyOf(logged);
        const { txHash, position, blockNumber, timestampMs, asset, decimals, amount, valueUsd, initiation } =
          transferOf(records, logged);
        return {
          txHash,
          position,
          blockNumber,
          timestampMs,
          asset,
          decimals,
          amount,
          valueUsd,
          initiation,
          direction,
          counterparty: otherKey && {
            node: otherOf(logged),
            key: otherKey,
            get address() {
              return formatAddressKey(otherKey, records.chain);
            },
          },
        };
      })
      .sort(newestTransfers);
  };

  return {
    counterparties(key, { direction, limit, isWanted = () => true }) {
      const node = records.idOf(key);
      if (node === null) return [];
      const best = adjacency.open(node, DIRECTION_CODE[direction]).bestIds(cappedCounterparties(limit));
      records.prefetch?.({ nodes: best });
      const wanted = best
        .filter((counterparty) => isWanted(keyNow(counterparty)))
        .map((counterparty) => ({ counterparty, key: keys.keyOf(counterparty) }));
      if (wanted.length === 0) return [];
      const edges = adjacency.edges(new Set(wanted.map((one) => one.counterparty)));
      return wanted.flatMap((one) => {
        const edge = edges.get(one.counterparty);
        return edge ? [counterpartyOf(records, one.key, edge, direction)] : [];
      });
    },

    counterpartyCount(key, direction) {
      const node = records.idOf(key);
      return node === null ? 0 : adjacency.open(node, DIRECTION_CODE[direction]).degree();
    },

    totals(key) {
      const node = records.idOf(key);
      const record = node === null ? null : readNode(records, node);
      return (
        record && {
          in: flowOf(records, record, 'in'),
          out: flowOf(records, record, 'out'),
          selfTransfers: record.selfTransfers,
          transactions: record.transactions,
          firstSeenMs: record.firstSeenMs,
          lastSeenMs: record.lastSeenMs,
        }
      );
    },

    newest(from, to, limit) {
      const sender = records.idOf(from);
      const receiver = records.idOf(to);
      if (sender === null || receiver === null) return [];
      const listed = listedOf(sender);
      const edge = listed ? listed.get(receiver) : adjacency.open(sender, DIRECTION_CODE.out).edge(receiver);
      const refs = (edge?.assets ?? []).flatMap((sum) => sum.newest);
      return readLogged(refs)
        .map((logged) => transferOf(records, logged))
        .sort(newestTransfers)
        .slice(0, Math.max(0, limit));
    },

    recent,

    daily(key, limitDays) {
      const node = records.idOf(key);
      const newest = node === null ? [] : newestOf(node);
      // Uses only the log: the counterparties are not needed, and formatting each would cost a hash.
      const found = newest
        .filter(({ from, to }) => from !== to)
        .sort((a, b) => b.timestampMs - a.timestampMs)
        .map(({ from, timestampMs, cents, amount }) => ({
          direction: from === node ? ('out' as const) : ('in' as const),
          timestampMs,
          amount,
          valueUsd: usdOfCents(cents),
        }));
      return dailyFlows(found, {
        limitDays,
        holdsAll: newest.length < GRAPH_LIMITS.recentTransfersPerAddress,
      });
    },

    graph: () => (records.state().transfers > 0 ? createGraph(records, { adjacency, cache }) : null),

    blocks() {
      const found: StoredBlock[] = [];
      for (const { height, hash, parentHash, timestampMs } of records.blocks())
        found.push({ height, hash, parentHash, timestampMs });
      return found;
    },

    coverage() {
      coverage.value ??= readCoverage(records);
      return coverage.value as TransferCoverage;
    },
  };
}

function readCoverage(records: ChainRecords): TransferCoverage {
  const { transfers, settled } = records.state();
  let covered: Coverage = settled;
  for (const block of records.blocks()) covered = joinCoverage(covered, block.coverage);
  const { firstBlock, lastBlock, newestMs } = covered;
  return { transfers, firstBlock, lastBlock, asOf: newestMs === null ? null : isoTime(newestMs) };
}

const byTransfers = (a: AssetSum, b: AssetSum): number => b.transfers - a.transfers || a.asset - b.asset;

/** The chain as kernels read it, as of the commit that is newest when the kernel starts. */
function createGraph(
  records: ChainRecords,
  { adjacency, cache }: { readonly adjacency: Adjacency; readonly cache: KeyCache | null },
): TransferGraph {
  const keys = cache ?? records;
  const { nextAddress, nextOrdinal } = records.state();
  const source = records.source?.();
  return {
    chain: records.chain,
    nodeCount: nextAddress - 1,
    version: `${source ?? ''} ${nextOrdinal}`,
    ...(source !== undefined && { source }),
    idOf: (key) => records.idOf(key),
    keyOf: (node) => keys.keyOf(node),
    ...(records.prefetch && { prefetch: (next) => records.prefetch?.(next) }),
    addressOf: (node) => formatAddressKey(keys.keyOf(node), records.chain),
    ...(cache && { texts: cache, peekKey: (node) => cache.peek(node) }),
    degree: (node, direction) => adjacency.open(node, DIRECTION_CODE[direction]).degree(),
    neighbours: (node, direction, limit, into) =>
      adjacency.open(node, DIRECTION_CODE[direction]).neighbours(limit, into),
    sums(node) {
      const [received, sent] = adjacency.open(node, DIRECTION_CODE.in).sums();
      return { in: received, out: sent };
    },
    assetName: (asset) => records.assetOf(asset).asset,
    row: (node, direction, query, into) => adjacency.open(node, DIRECTION_CODE[direction]).row(query, into),
    reportsOthers: true,
    edge(from, to, side = 'out'): readonly EdgeDetail[] {
      const [node, other] = side === 'out' ? [from, to] : [to, from];
      const assets = adjacency.open(node, DIRECTION_CODE[side]).edge(other)?.assets ?? [];
      return [...assets].sort(byTransfers).map((sum) => ({
        ...assetFlow(records, sum),
        firstSeenMs: sum.firstSeenMs,
        lastSeenMs: sum.lastSeenMs,
        days: sum.days,
      }));
    },
  };
}
