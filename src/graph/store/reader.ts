/** Answers about transfers out of one chain's store: the reader's port, and the graph that kernels walk. */
import { isoTime } from '../../base/clock.ts';
import { LIMITS } from '../../base/limits.ts';
import { formatAddressKey } from '../../chains/address/parse.ts';
import { dailyFlows } from '../daily.ts';
import { type AssetSum, type Edge, totalsOf } from '../edges.ts';
import type { AssetFlow, Direction } from '../flow.ts';
import type { EdgeDetail, TransferGraph } from '../graph.ts';
import type {
  AddressTotals,
  AddressTransfer,
  Counterparty,
  DailyFlows,
  Flow,
  RecentTransfer,
  StoredBlock,
  TransferCoverage,
} from '../transfers.ts';
import { Adjacency, cappedCounterparties, readNode } from './adjacency.ts';
import {
  addressKeyOf,
  assetOf,
  type ChainStore,
  type Coverage,
  DIRECTION_CODE,
  idOf,
  joinCoverage,
  readState,
} from './chain-store.ts';
import { unpackTransaction } from './fingerprint.ts';
import { type LoggedTransfer, readTransfer } from './log.ts';
import type { FlowSum, NodeRecord } from './node-record.ts';

const NOBODY = 0;

interface Sums {
  readonly transfers: number;
  readonly unpriced: number;
  readonly cents: number;
}

/** Null where no figure is known: a transfer without value beside one without price says nothing of what moved. */
const usd = ({ cents, unpriced }: Sums): number | null => (cents === 0 && unpriced > 0 ? null : cents / 100);

function assetFlow(store: ChainStore, sum: Sums & { asset: number; amount: bigint }): AssetFlow {
  const { asset, decimals } = assetOf(store, sum.asset);
  return {
    asset,
    decimals,
    transfers: sum.transfers,
    amount: sum.amount,
    valueUsd: usd(sum),
    unpricedTransfers: sum.unpriced,
  };
}

function flowOf(store: ChainStore, record: NodeRecord, direction: Direction): Flow {
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
      .slice(0, LIMITS.assetsListedMax)
      .map((sum) => assetFlow(store, sum)),
  };
}

function counterpartyOf(store: ChainStore, edge: Edge, direction: Direction): Counterparty {
  const key = addressKeyOf(store, edge.counterparty);
  const totals = totalsOf(edge);
  return {
    key,
    address: formatAddressKey(key, store.chain),
    direction,
    transfers: totals.transfers,
    unpricedTransfers: totals.unpriced,
    valueUsd: usd(totals),
    firstSeenMs: totals.firstSeenMs,
    lastSeenMs: totals.lastSeenMs,
    assets: edge.assets.map((sum) => assetFlow(store, sum)),
  };
}

function transferOf(store: ChainStore, logged: LoggedTransfer): RecentTransfer {
  const { asset, decimals } = assetOf(store, logged.asset);
  return {
    txHash: unpackTransaction(logged.transaction),
    position: logged.position,
    blockNumber: logged.blockNumber,
    timestampMs: logged.timestampMs,
    asset,
    decimals,
    amount: logged.amount,
    valueUsd: logged.cents === null ? null : logged.cents / 100,
  };
}

/** Newest first; those of one moment in the order of their transactions, whatever order they came in. */
const newestTransfers = (a: RecentTransfer, b: RecentTransfer): number =>
  b.timestampMs - a.timestampMs ||
  (a.txHash === b.txHash ? (a.position < b.position ? -1 : 1) : a.txHash < b.txHash ? -1 : 1);

/** The answers about one chain. Every call sees the newest commit; a call is of one commit. */
export interface ChainReader {
  counterparties(
    key: Uint8Array,
    options: { readonly direction: Direction; readonly limit: number },
  ): readonly Counterparty[];
  counterpartyCount(key: Uint8Array, direction: Direction): number;
  totals(key: Uint8Array): AddressTotals | null;
  newest(from: Uint8Array, to: Uint8Array, limit: number): readonly RecentTransfer[];
  recent(key: Uint8Array, limit: number): readonly AddressTransfer[];
  daily(key: Uint8Array, limitDays: number): DailyFlows;
  graph(): TransferGraph | null;
  blocks(): readonly StoredBlock[];
  coverage(): TransferCoverage;
}

export function createChainReader(store: ChainStore): ChainReader {
  const adjacency = new Adjacency(store);

  const recent = (key: Uint8Array, limit: number): AddressTransfer[] => {
    const node = idOf(store, key);
    const record = node === null ? null : readNode(store, node);
    if (node === null || !record) return [];
    return record.newest
      .slice(0, Math.max(0, limit))
      .map(({ ordinal }): AddressTransfer => {
        const logged = readTransfer(store, ordinal);
        const direction = logged.from === node ? 'out' : 'in';
        const other = direction === 'out' ? logged.to : logged.from;
        const otherKey = other === NOBODY ? null : addressKeyOf(store, other);
        return {
          ...transferOf(store, logged),
          direction,
          counterparty: otherKey && { key: otherKey, address: formatAddressKey(otherKey, store.chain) },
        };
      })
      .sort(newestTransfers);
  };

  return {
    counterparties(key, { direction, limit }) {
      const node = idOf(store, key);
      if (node === null) return [];
      const best = adjacency.open(node, DIRECTION_CODE[direction]).best(cappedCounterparties(limit));
      const edges = adjacency.edges(new Set(best.map((one) => one.counterparty)));
      return best.flatMap(({ counterparty }) => {
        const edge = edges.get(counterparty);
        return edge ? [counterpartyOf(store, edge, direction)] : [];
      });
    },

    counterpartyCount(key, direction) {
      const node = idOf(store, key);
      return node === null ? 0 : adjacency.open(node, DIRECTION_CODE[direction]).degree();
    },

    totals(key) {
      const node = idOf(store, key);
      const record = node === null ? null : readNode(store, node);
      return (
        record && {
          in: flowOf(store, record, 'in'),
          out: flowOf(store, record, 'out'),
          selfTransfers: record.selfTransfers,
          transactions: record.transactions,
          firstSeenMs: record.firstSeenMs,
          lastSeenMs: record.lastSeenMs,
        }
      );
    },

    newest(from, to, limit) {
      const sender = idOf(store, from);
      const receiver = idOf(store, to);
      if (sender === null || receiver === null) return [];
      const edge = adjacency.open(sender, DIRECTION_CODE.out).edge(receiver);
      const refs = (edge?.assets ?? []).flatMap((sum) => sum.newest);
      return refs
        .map(({ ordinal }) => transferOf(store, readTransfer(store, ordinal)))
        .sort(newestTransfers)
        .slice(0, Math.max(0, limit));
    },

    recent: (key, limit) => recent(key, limit),

    daily(key, limitDays) {
      const node = idOf(store, key);
      const newest = node === null ? [] : (readNode(store, node)?.newest ?? []);
      // Read from the log alone: who was at the other end would cost a hash each to write out.
      const found = newest
        .map(({ ordinal }) => readTransfer(store, ordinal))
        .filter(({ from, to }) => from !== to)
        .sort((a, b) => b.timestampMs - a.timestampMs)
        .map(({ from, timestampMs, cents, amount }) => ({
          direction: from === node ? ('out' as const) : ('in' as const),
          timestampMs,
          amount,
          valueUsd: cents === null ? null : cents / 100,
        }));
      return dailyFlows(found, { limitDays, holdsAll: newest.length < LIMITS.recentTransfersPerAddress });
    },

    graph: () => (readState(store).transfers > 0 ? createGraph(store, adjacency) : null),

    blocks() {
      const found: StoredBlock[] = [];
      for (const { key, value } of store.blocks.getRange({ reverse: true }))
        found.push({
          height: key,
          hash: value.hash,
          parentHash: value.parentHash,
          timestampMs: value.timestampMs,
        });
      return found;
    },

    coverage() {
      const { transfers, settled } = readState(store);
      let covered: Coverage = settled;
      for (const { value } of store.blocks.getRange()) covered = joinCoverage(covered, value.coverage);
      const { firstBlock, lastBlock, newestMs } = covered;
      return { transfers, firstBlock, lastBlock, asOf: newestMs === null ? null : isoTime(newestMs) };
    },
  };
}

const byTransfers = (a: AssetSum, b: AssetSum): number => b.transfers - a.transfers || a.asset - b.asset;

/** The chain as kernels read it, as of the commit that is newest when the kernel begins. */
function createGraph(store: ChainStore, adjacency: Adjacency): TransferGraph {
  return {
    chain: store.chain,
    nodeCount: readState(store).nextAddress - 1,
    idOf: (key) => idOf(store, key),
    keyOf: (node) => addressKeyOf(store, node),
    addressOf: (node) => formatAddressKey(addressKeyOf(store, node), store.chain),
    degree: (node, direction) => adjacency.open(node, DIRECTION_CODE[direction]).degree(),
    neighbours: (node, direction, limit, into) =>
      adjacency.open(node, DIRECTION_CODE[direction]).neighbours(limit, into),
    edge(from, to): readonly EdgeDetail[] {
      const assets = adjacency.open(from, DIRECTION_CODE.out).edge(to)?.assets ?? [];
      return [...assets].sort(byTransfers).map((sum) => ({
        ...assetFlow(store, sum),
        firstSeenMs: sum.firstSeenMs,
        lastSeenMs: sum.lastSeenMs,
      }));
    },
  };
}
