/** The sums of one address that are not part of its edges, packed: counts, flows by asset, and its newest transfers. */
import type { TransferRef } from '../edges.ts';
import type { AssetSums } from '../graph.ts';
import { ByteReader, ByteWriter } from './bytes.ts';

/** Sums of one asset in one direction, with or without a counterparty. Self-transfers are left out. */
export interface FlowSum {
  readonly asset: number;
  /** 0 in, 1 out. */
  readonly direction: number;
  transfers: number;
  unpriced: number;
  cents: number;
  amount: bigint;
  /** Part of `amount` that has a price. Null if a program that did not keep it stored transfers both with and without a price. */
  pricedAmount: bigint | null;
}

/** The length byte of an amount has this bit set if the priced part follows: the flow has transfers with and without a price. */
const PRICED_PART = 0x80;

/** The priced part of a flow if all or none of its transfers have a price. Null if only some have. */
const pricedPart = <T>(transfers: number, unpriced: number, amount: T, none: T): T | null =>
  unpriced === 0 ? amount : unpriced === transfers ? none : null;

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

/** Creates an empty record. */
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

/** Returns the sum of an asset and direction, and creates it if the address has none. Binary search: an exchange has 10,000 assets. */
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
  const made: FlowSum = {
    asset,
    direction,
    transfers: 0,
    unpriced: 0,
    cents: 0,
    amount: 0n,
    pricedAmount: 0n,
  };
  node.flows.splice(low, 0, made);
  return made;
}

const out = new ByteWriter();

/** Packs a record. */
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
    const amountAt = out.length;
    out.amount(flow.amount);
    if (flow.pricedAmount === null || pricedPart(flow.transfers, flow.unpriced, 0, 0) !== null) continue;
    out.bytes[amountAt] = (out.bytes[amountAt] as number) | PRICED_PART;
    out.amount(flow.pricedAmount);
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

/** Unpacks a record. */
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
    const transfers = reader.varint();
    const unpriced = reader.varint();
    const cents = reader.varint();
    const hasPart = reader.isMarked;
    const amount = reader.amount();
    const pricedAmount = hasPart ? reader.amount() : pricedPart(transfers, unpriced, amount, 0n);
    const [asset, direction] = [Math.floor(name / 2), name % 2];
    flows.push({ asset, direction, transfers, unpriced, cents, amount, pricedAmount });
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

/** Calls `visit` for the newest transfers of a record, newest first, without reading its sums. */
export function forEachNewest(bytes: Buffer, visit: (timestampMs: number, ordinal: number) => void): void {
  reader.open(bytes);
  for (let field = 0; field < 4; field++) reader.varint();
  let timestampMs = reader.time() + reader.time();
  for (let left = reader.varint(); left > 0; left--) {
    for (let field = 0; field < 4; field++) reader.varint();
    const hasPart = reader.isMarked;
    reader.skipAmount();
    if (hasPart) reader.skipAmount();
  }
  let ordinal = 0;
  while (!reader.isAtEnd) {
    timestampMs -= reader.time();
    ordinal += reader.signed();
    visit(timestampMs, ordinal);
  }
}

/** Reads only the flows of a record, with amounts as doubles: in, then out. Kernels read them for every address on their way. */
export function flowSums(bytes: Buffer): readonly [AssetSums[], AssetSums[]] {
  reader.open(bytes);
  for (let field = 0; field < 4; field++) reader.varint();
  reader.time();
  reader.time();
  const sums: [AssetSums[], AssetSums[]] = [[], []];
  for (let left = reader.varint(); left > 0; left--) {
    const name = reader.varint();
    const side = name % 2 === 0 ? sums[0] : sums[1];
    const transfers = reader.varint();
    const unpriced = reader.varint();
    const cents = reader.varint();
    const hasPart = reader.isMarked;
    const amount = reader.amountNumber();
    const pricedAmount = hasPart
      ? reader.amountNumber()
      : (pricedPart(transfers, unpriced, amount, 0) ?? amount);
    side.push({ asset: Math.floor(name / 2), transfers, unpriced, cents, amount, pricedAmount });
  }
  return sums;
}

/** Converts a flow to the form that kernels read. If its priced part is unknown, all of it counts as priced. */
export function sumsOfFlow({ asset, transfers, unpriced, cents, amount, pricedAmount }: FlowSum): AssetSums {
  const priced = Number(pricedAmount ?? amount);
  return { asset, transfers, unpriced, cents, amount: Number(amount), pricedAmount: priced };
}

/** Reads the number of counterparties in (0) or out (1), without the rest of the record. */
export function counterpartiesIn(bytes: Buffer, direction: number): number {
  reader.open(bytes);
  const first = reader.varint();
  return direction === 0 ? first : reader.varint();
}
