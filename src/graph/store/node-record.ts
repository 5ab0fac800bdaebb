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

/**
 * Begins a record since format 6. No former record begins like this: it would be a number in more bytes than it needs. Former records have
 * amounts with all of their digits, and the time of each of the newest transfers, which the log has too.
 */
const COMPACT_FIRST = 0x80;
const COMPACT_SECOND = 0;
/** Fields before the flows: four counts, and two times. */
const COUNTS = 4;

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
  const { newest } = node;
  out.length = 0;
  out.byte(COMPACT_FIRST);
  out.byte(COMPACT_SECOND);
  out.varint(node.counterpartiesIn);
  out.varint(node.counterpartiesOut);
  out.varint(node.selfTransfers);
  out.varint(node.transactions);
  out.time(node.firstSeenMs);
  out.time(node.lastSeenMs - node.firstSeenMs);
  const isDescending = newest.every(({ ordinal }, at) => at === 0 || ordinal < numberAt(newest, at - 1));
  out.varint(node.flows.length * 2 + (isDescending ? 1 : 0));
  for (const flow of node.flows) {
    const { transfers, unpriced, amount, pricedAmount } = flow;
    const hasPart = pricedAmount !== null && pricedPart(transfers, unpriced, 0, 0) === null;
    out.varint(flowName(flow.asset, flow.direction) * 2 + (hasPart ? 1 : 0));
    out.varint(transfers);
    out.varint(unpriced);
    out.varint(flow.cents);
    out.compact(amount);
    if (hasPart) out.compact(pricedAmount);
  }
  for (const [at, { ordinal }] of newest.entries())
    if (at === 0) out.varint(ordinal);
    else if (isDescending) out.varint(numberAt(newest, at - 1) - ordinal);
    else out.signed(numberAt(newest, at - 1) - ordinal);
  return out.take();
}

const numberAt = (newest: readonly TransferRef[], at: number): number => (newest[at] as TransferRef).ordinal;

const reader = new ByteReader();
/** Whether the opened record is of format 6 or later. */
let isCompact = false;

function open(bytes: Buffer): void {
  isCompact = bytes.length > 1 && bytes[0] === COMPACT_FIRST && bytes[1] === COMPACT_SECOND;
  reader.open(bytes, isCompact ? 2 : 0);
}

/** The number of the next flow, and whether its priced part follows its amount. */
function readName(): readonly [name: number, hasPart: boolean] {
  const code = reader.varint();
  return isCompact ? [Math.floor(code / 2), code % 2 === 1] : [code, false];
}

/** A transfer whose time is only in the log. */
class LoggedRef implements TransferRef {
  readonly ordinal: number;
  readonly #timeOf: (ordinal: number) => number;
  #timestampMs = -1;

  constructor(ordinal: number, timeOf: (ordinal: number) => number) {
    this.ordinal = ordinal;
    this.#timeOf = timeOf;
  }

  get timestampMs(): number {
    if (this.#timestampMs < 0) this.#timestampMs = this.#timeOf(this.ordinal);
    return this.#timestampMs;
  }
}

/**
 * Unpacks a record.
 *
 * @param timeOf - returns the time of a logged transfer in milliseconds; called when the time of one of the newest transfers is read, if
 * the record does not have it
 */
export function unpackNode(bytes: Buffer, timeOf: (ordinal: number) => number): NodeRecord {
  open(bytes);
  const counterpartiesIn = reader.varint();
  const counterpartiesOut = reader.varint();
  const selfTransfers = reader.varint();
  const transactions = reader.varint();
  const firstSeenMs = reader.time();
  const lastSeenMs = firstSeenMs + reader.time();
  const flows: FlowSum[] = [];
  const head = reader.varint();
  for (let left = isCompact ? Math.floor(head / 2) : head; left > 0; left--) {
    const [name, isFollowed] = readName();
    const transfers = reader.varint();
    const unpriced = reader.varint();
    const cents = reader.varint();
    const hasPart = isFollowed || (!isCompact && reader.isMarked);
    const amount = readAmount();
    const pricedAmount = hasPart ? readAmount() : pricedPart(transfers, unpriced, amount, 0n);
    const [asset, direction] = [Math.floor(name / 2), name % 2];
    flows.push({ asset, direction, transfers, unpriced, cents, amount, pricedAmount });
  }
  const newest: TransferRef[] = [];
  readNewest(head, lastSeenMs, (timestampMs, ordinal) => {
    newest.push(timestampMs < 0 ? new LoggedRef(ordinal, timeOf) : { timestampMs, ordinal });
  });
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

const readAmount = (): bigint => (isCompact ? reader.compact() : reader.amount());
const readAmountNumber = (): number => (isCompact ? reader.compactNumber() : reader.amountNumber());
const skipAmount = (): void => (isCompact ? reader.skipCompact() : reader.skipAmount());

/** Reads the list of the newest transfers at the end of a record. The first is the one that was last seen. */
function readNewest(
  head: number,
  lastSeenMs: number,
  visit: (timestampMs: number, ordinal: number) => void,
): void {
  let ordinal = 0;
  if (!isCompact) {
    for (let timestampMs = lastSeenMs; !reader.isAtEnd; ) {
      timestampMs -= reader.time();
      ordinal += reader.signed();
      visit(timestampMs, ordinal);
    }
    return;
  }
  if (reader.isAtEnd) return;
  ordinal = reader.varint();
  visit(lastSeenMs, ordinal);
  while (!reader.isAtEnd) {
    ordinal -= head % 2 === 1 ? reader.varint() : reader.signed();
    visit(-1, ordinal);
  }
}

/**
 * Calls `visit` for the newest transfers of a record, newest first, without reading its sums. A time below zero is not in the record, only
 * in the log.
 */
export function forEachNewest(bytes: Buffer, visit: (timestampMs: number, ordinal: number) => void): void {
  open(bytes);
  for (let field = 0; field < COUNTS; field++) reader.varint();
  const lastSeenMs = reader.time() + reader.time();
  const head = reader.varint();
  for (let left = isCompact ? Math.floor(head / 2) : head; left > 0; left--) {
    const [, isFollowed] = readName();
    for (let field = 0; field < 3; field++) reader.varint();
    const hasPart = isFollowed || (!isCompact && reader.isMarked);
    skipAmount();
    if (hasPart) skipAmount();
  }
  readNewest(head, lastSeenMs, visit);
}

/** Reads only the flows of a record, with amounts as doubles: in, then out. Kernels read them for every address on their way. */
export function flowSums(bytes: Buffer): readonly [AssetSums[], AssetSums[]] {
  open(bytes);
  for (let field = 0; field < COUNTS; field++) reader.varint();
  reader.time();
  reader.time();
  const sums: [AssetSums[], AssetSums[]] = [[], []];
  const head = reader.varint();
  for (let left = isCompact ? Math.floor(head / 2) : head; left > 0; left--) {
    const code = reader.varint();
    const name = isCompact ? Math.floor(code / 2) : code;
    const side = name % 2 === 0 ? sums[0] : sums[1];
    const transfers = reader.varint();
    const unpriced = reader.varint();
    const cents = reader.varint();
    const hasPart = isCompact ? code % 2 === 1 : reader.isMarked;
    const amount = readAmountNumber();
    const pricedAmount = hasPart
      ? readAmountNumber()
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
  open(bytes);
  const first = reader.varint();
  return direction === 0 ? first : reader.varint();
}
