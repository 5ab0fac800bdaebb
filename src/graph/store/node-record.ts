/** The sums of one address that its edges do not hold, packed: counts, flows by asset, and its newest transfers. */
import type { TransferRef } from '../edges.ts';
import type { AssetSums } from '../graph.ts';
import { ByteReader, ByteWriter } from './bytes.ts';

/** What moved of one asset in one direction, whoever stood on the other side; self-transfers left out. */
export interface FlowSum {
  readonly asset: number;
  /** 0 in, 1 out. */
  readonly direction: number;
  transfers: number;
  unpriced: number;
  cents: number;
  amount: bigint;
}

export interface NodeRecord {
  counterpartiesIn: number;
  counterpartiesOut: number;
  selfTransfers: number;
  transactions: number;
  firstSeenMs: number;
  lastSeenMs: number;
  /** In the order of `flowName`. */
  flows: FlowSum[];
  /** Newest first. */
  newest: TransferRef[];
}

export const createNode = (): NodeRecord => ({
  counterpartiesIn: 0,
  counterpartiesOut: 0,
  selfTransfers: 0,
  transactions: 0,
  firstSeenMs: Number.POSITIVE_INFINITY,
  lastSeenMs: 0,
  flows: [],
  newest: [],
});

const flowName = (asset: number, direction: number): number => asset * 2 + direction;

/** The sum of an asset and direction; made where the address has none. Binary search: an exchange has 10,000 assets. */
export function flowOf(node: NodeRecord, asset: number, direction: number): FlowSum {
  const wanted = flowName(asset, direction);
  let low = 0;
  let high = node.flows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const flow = node.flows[middle] as FlowSum;
    const name = flowName(flow.asset, flow.direction);
    if (name === wanted) return flow;
    if (name < wanted) low = middle + 1;
    else high = middle;
  }
  const made: FlowSum = { asset, direction, transfers: 0, unpriced: 0, cents: 0, amount: 0n };
  node.flows.splice(low, 0, made);
  return made;
}

const out = new ByteWriter();

export function packNode(node: NodeRecord): Buffer {
  out.length = 0;
  out.varint(node.counterpartiesIn);
  out.varint(node.counterpartiesOut);
  out.varint(node.selfTransfers);
  out.varint(node.transactions);
  out.time(node.firstSeenMs);
  out.time(node.lastSeenMs - node.firstSeenMs);
  out.varint(node.flows.length);
  for (const flow of node.flows) {
    out.varint(flowName(flow.asset, flow.direction));
    out.varint(flow.transfers);
    out.varint(flow.unpriced);
    out.varint(flow.cents);
    out.amount(flow.amount);
  }
  let timestampMs = node.lastSeenMs;
  let ordinal = 0;
  for (const ref of node.newest) {
    out.time(timestampMs - ref.timestampMs);
    out.signed(ref.ordinal - ordinal);
    timestampMs = ref.timestampMs;
    ordinal = ref.ordinal;
  }
  return out.take();
}

const reader = new ByteReader();

export function unpackNode(bytes: Buffer): NodeRecord {
  reader.open(bytes);
  const counterpartiesIn = reader.varint();
  const counterpartiesOut = reader.varint();
  const selfTransfers = reader.varint();
  const transactions = reader.varint();
  const firstSeenMs = reader.time();
  const lastSeenMs = firstSeenMs + reader.time();
  const flows: FlowSum[] = [];
  for (let left = reader.varint(); left > 0; left--) {
    const name = reader.varint();
    flows.push({
      asset: Math.floor(name / 2),
      direction: name % 2,
      transfers: reader.varint(),
      unpriced: reader.varint(),
      cents: reader.varint(),
      amount: reader.amount(),
    });
  }
  const newest: TransferRef[] = [];
  let timestampMs = lastSeenMs;
  let ordinal = 0;
  while (!reader.isAtEnd) {
    timestampMs -= reader.time();
    ordinal += reader.signed();
    newest.push({ timestampMs, ordinal });
  }
  return {
    counterpartiesIn,
    counterpartiesOut,
    selfTransfers,
    transactions,
    firstSeenMs,
    lastSeenMs,
    flows,
    newest,
  };
}

/** The flows of a record alone, with amounts as doubles: in, then out. Kernels read them of every address they pass. */
export function flowSums(bytes: Buffer): readonly [AssetSums[], AssetSums[]] {
  reader.open(bytes);
  for (let field = 0; field < 4; field++) reader.varint();
  reader.time();
  reader.time();
  const sums: [AssetSums[], AssetSums[]] = [[], []];
  for (let left = reader.varint(); left > 0; left--) {
    const name = reader.varint();
    const side = name % 2 === 0 ? sums[0] : sums[1];
    side.push({
      asset: Math.floor(name / 2),
      transfers: reader.varint(),
      unpriced: reader.varint(),
      cents: reader.varint(),
      amount: reader.amountNumber(),
    });
  }
  return sums;
}

/** Counterparties in (0) or out (1), without the rest of the record. */
export function counterpartiesIn(bytes: Buffer, direction: number): number {
  reader.open(bytes);
  const first = reader.varint();
  return direction === 0 ? first : reader.varint();
}
