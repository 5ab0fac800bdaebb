/** Parses responses of Ethereum nodes strictly: every field is validated before it becomes part of a transfer. */
import { AssayError } from '../../../base/errors.ts';
import { formatEvm } from '../../address/evm.ts';
import {
  asArray,
  asHexAmount,
  asHexCount,
  asObject,
  asTimeMs,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { CALL_DIGITS_READ } from '../../initiation.ts';
import type { LogEntry } from '../port.ts';

/** More transactions than any block can hold (30 to 300 million gas, 21,000 each; fewer than 10,000 on the fastest chains). */
const BLOCK_TRANSACTIONS_MAX = 100_000;
const BLOCK_LOGS_MAX = 500_000;

export interface WireTransaction {
  readonly hash: string;
  readonly from: string;
  /** Null for a contract creation. */
  readonly to: string | null;
  readonly value: bigint;
  /** Calldata in lower-case hex without 0x, as far as it decides what moves; undefined if the node does not send it. */
  readonly input: string | undefined;
}

export interface WireWithdrawal {
  readonly index: number;
  readonly address: string;
  /** In gwei. */
  readonly amount: bigint;
}

export interface WireBlock {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampMs: number;
  /** Empty if only the header was requested. */
  readonly transactions: readonly WireTransaction[];
  readonly withdrawals: readonly WireWithdrawal[];
}

export interface WireLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly logIndex: number;
}

export interface WireReceipt {
  readonly transactionHash: string;
  readonly blockHash: string;
  /** Null for blocks from before receipts had a status (October 2017). */
  readonly succeeded: boolean | null;
  readonly contractAddress: string | null;
  readonly logs: readonly WireLog[];
}

/** Parses a hash of 32 bytes, converted to lower case. */
export function asHash(value: Json | undefined, field: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(value))
    throw badAnswer(field, 'a hash of 32 bytes');
  return value.toLowerCase();
}

/** Returns the EIP-55 form of an address in any letter case. */
export function asAddress(value: Json | undefined, field: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(value)) throw badAnswer(field, 'an address');
  return formatEvm(Buffer.from(value.slice(2), 'hex'));
}

/** Like `asAddress`; null if the value is missing or empty. */
export const asAddressOrNull = (value: Json | undefined, field: string): string | null =>
  value === undefined || value === null || value === '' ? null : asAddress(value, field);

/** Parses bytes in hex with 0x, converted to lower case. */
export function asData(value: Json | undefined, field: string): string {
  if (typeof value !== 'string' || !/^0x(?:[0-9a-fA-F]{2})*$/.test(value))
    throw badAnswer(field, 'bytes in hex');
  return value.toLowerCase();
}

/** Returns calldata, or undefined if it is malformed: calldata is only compared, so malformed text is ignored. */
export function asCalldata(value: Json | undefined): string | undefined {
  if (typeof value !== 'string' || !/^0x/.test(value)) return undefined;
  const digits = value.slice(2, 2 + CALL_DIGITS_READ).toLowerCase();
  return /^[0-9a-f]*$/.test(digits) ? digits : undefined;
}

function readTransaction(value: Json): WireTransaction {
  const fields = asObject(value, 'transaction');
  return {
    hash: asHash(fields.hash, 'transaction.hash'),
    from: asAddress(fields.from, 'transaction.from'),
    to: asAddressOrNull(fields.to, 'transaction.to'),
    value: asHexAmount(fields.value, 'transaction.value'),
    input: asCalldata(fields.input),
  };
}

function readWithdrawal(value: Json): WireWithdrawal {
  const fields = asObject(value, 'withdrawal');
  return {
    index: asHexCount(fields.index, 'withdrawal.index'),
    address: asAddress(fields.address, 'withdrawal.address'),
    amount: asHexAmount(fields.amount, 'withdrawal.amount'),
  };
}

/**
 * Parses a block with whole transactions, or only its header (`transactions` are then hashes and are skipped). Null if the block does
 * not exist.
 */
export function readBlock(value: Json, content: 'header' | 'whole'): WireBlock | null {
  if (value === null) return null;
  const fields = asObject(value, 'block');
  const transactions =
    content === 'whole' ? asArray(fields.transactions, 'block.transactions', BLOCK_TRANSACTIONS_MAX) : [];
  const withdrawals =
    content === 'whole' && Array.isArray(fields.withdrawals)
      ? asArray(fields.withdrawals, 'withdrawals', 1_024)
      : [];
  return {
    height: asHexCount(fields.number, 'block.number'),
    hash: asHash(fields.hash, 'block.hash'),
    parentHash: asHash(fields.parentHash, 'block.parentHash'),
    timestampMs: asTimeMs(asHexCount(fields.timestamp, 'block.timestamp') * 1000, 'block.timestamp'),
    transactions: transactions.map(readTransaction),
    withdrawals: withdrawals.map(readWithdrawal),
  };
}

/** A transaction that creates a contract. */
export interface WireCreation {
  readonly hash: string;
  readonly from: string;
  readonly nonce: bigint;
  /** Position in the block. */
  readonly index: number;
}

/** Parses the transactions of a block that have no recipient; the others are only counted. Null if the block does not exist. */
export function readCreations(
  value: Json,
): { readonly header: WireBlock; readonly creating: readonly WireCreation[] } | null {
  const header = readBlock(value, 'header');
  if (header === null) return null;
  const creating: WireCreation[] = [];
  const rows = asArray(asObject(value, 'block').transactions, 'block.transactions', BLOCK_TRANSACTIONS_MAX);
  for (const [index, row] of rows.entries()) {
    const { to, from, hash, nonce } = asObject(row, 'transaction');
    if (to !== undefined && to !== null && to !== '') continue;
    creating.push({
      hash: asHash(hash, 'transaction.hash'),
      from: asAddress(from, 'transaction.from'),
      nonce: asHexAmount(nonce, 'transaction.nonce'),
      index,
    });
  }
  return { header, creating };
}

/** Parses a word of storage, which some nodes return without its leading zeros. */
export function asWord(value: Json | undefined, field: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{0,64}$/.test(value))
    throw badAnswer(field, '32 bytes in hex');
  return `0x${value.slice(2).toLowerCase().padStart(64, '0')}`;
}

/** Parses a log of a receipt. */
export function readLog(value: Json): WireLog {
  const fields = asObject(value, 'log');
  return {
    address: asAddress(fields.address, 'log.address'),
    topics: asArray(fields.topics, 'log.topics', 4).map((topic) => asHash(topic, 'log.topic')),
    data: asData(fields.data, 'log.data'),
    logIndex: asHexCount(fields.logIndex, 'log.logIndex'),
  };
}

/** Parses the result of eth_getLogs, in chain order. Logs that the node marks as reverted are left out. */
export function readLogEntries(value: Json): LogEntry[] {
  return asArray(value, 'logs', BLOCK_LOGS_MAX)
    .flatMap((row): LogEntry[] => {
      const fields = asObject(row, 'log');
      if (fields.removed === true) return [];
      return [
        {
          ...readLog(row),
          blockNumber: asHexCount(fields.blockNumber, 'log.blockNumber'),
          txHash: asHash(fields.transactionHash, 'log.transactionHash'),
        },
      ];
    })
    .sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

/**
 * Parses the receipt of a transaction.
 *
 * @throws CHAIN_BAD_ANSWER also for a log that names another transaction or block, or that the node calls reverted
 */
export function readReceipt(value: Json): WireReceipt {
  const fields = asObject(value, 'receipt');
  const transactionHash = asHash(fields.transactionHash, 'receipt.transactionHash');
  const blockHash = asHash(fields.blockHash, 'receipt.blockHash');
  return {
    transactionHash,
    blockHash,
    succeeded:
      fields.status === undefined || fields.status === null
        ? null
        : asHexAmount(fields.status, 'receipt.status') !== 0n,
    contractAddress: asAddressOrNull(fields.contractAddress, 'receipt.contractAddress'),
    logs: asArray(fields.logs, 'receipt.logs', BLOCK_LOGS_MAX).map((row) => {
      const log = asObject(row, 'log');
      // A node that mixes branches or transactions: none of its receipts is trusted.
      for (const [field, expected] of Object.entries({ transactionHash, blockHash })) {
        const own = log[field];
        if (own !== undefined && own !== null && asHash(own, `log.${field}`) !== expected)
          throw badAnswer(`log.${field}`, 'that of its receipt');
      }
      if (log.removed === true) throw badAnswer('log.removed', 'false in a receipt');
      return readLog(row);
    }),
  };
}

/** Parses the receipts of a block; null if the node has none for it (the block was reverted). */
export const readReceipts = (value: Json): readonly WireReceipt[] | null =>
  value === null ? null : asArray(value, 'receipts', BLOCK_TRANSACTIONS_MAX).map(readReceipt);

// --- traces -----------------------------------------------------------------------------------------------------------

/** Value that moved inside a transaction: a call, creation or self-destruct that was not reverted and moved something. */
export interface InnerMove {
  /** Index of the transaction in the block. */
  readonly transactionIndex: number;
  /** `0_1`: the second call of the first call. */
  readonly path: string;
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
}

/** The traces of a block. */
export interface BlockTraces {
  readonly moves: readonly InnerMove[];
  /** False if the node failed to trace some of the transactions. */
  readonly isWhole: boolean;
}

const TRACES_MAX = 2_000_000;
/** The EVM's limit of nested calls. */
const CALL_DEPTH_MAX = 1_024;

/** Whether a call failed. Some nodes also send an empty error with calls that succeeded. */
const hasFailed = ({ error }: JsonObject): boolean => error !== undefined && error !== null && error !== '';

/** Calls without value to 0x01 to 0xff and 0x100: built-in functions such as `ecrecover`. */
const PRECOMPILED = /^0x0{37}(?:0[0-9a-f]{2}|100)$/;

/**
 * Whether a call is one that most nodes leave out of `trace_block`, and geth does not leave out of its call trees. The calls after it have
 * lower numbers without it. It is never counted, so that a transfer has the same position whichever node returned it by whichever method.
 */
function isLeftOut(kind: Json | undefined, { to, value }: JsonObject): boolean {
  if (typeof kind !== 'string' || !/^(?:static)?call$/i.test(kind) || typeof to !== 'string') return false;
  const hasValue = value !== undefined && value !== null && asHexAmount(value, 'trace.value') > 0n;
  return !hasValue && PRECOMPILED.test(to.toLowerCase());
}

/**
 * Parses the response of `trace_block` (OpenEthereum, Erigon, Nethermind, Reth, anvil) for a block with transactions: a flat list with
 * callers before their calls. Null if the node does not have the traces: each transaction has at least one.
 */
export function readTraceBlock(value: Json, blockHash: string): BlockTraces | null {
  if (value === null || (Array.isArray(value) && value.length === 0)) return null;
  const moves: InnerMove[] = [];
  let failed: { readonly transactionIndex: number; readonly path: string }[] = [];
  /** Numbers of the calls that are left out, by transaction and path of their caller. */
  const leftOut = new Map<string, number[]>();
  for (const row of asArray(value, 'traces', TRACES_MAX)) {
    const trace = asObject(row, 'trace');
    if (trace.type === 'reward') continue;
    // The chain switched to another branch between two requests; this is not a fault of the node.
    if (asHash(trace.blockHash, 'trace.blockHash') !== blockHash)
      throw new AssayError('CHAIN_REFUSED', 'The block was replaced while it was read.');
    const transactionIndex = trace.transactionPosition;
    if (
      typeof transactionIndex !== 'number' ||
      !Number.isSafeInteger(transactionIndex) ||
      transactionIndex < 0
    )
      throw badAnswer('trace.transactionPosition', 'a whole number');
    const steps = asArray(trace.traceAddress, 'trace.traceAddress', CALL_DEPTH_MAX).map((step) => {
      if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 0)
        throw badAnswer('trace.traceAddress', 'a list of whole numbers');
      return step;
    });
    const path = steps.join('_');
    const callerOf = (depth: number): string => `${transactionIndex} ${steps.slice(0, depth).join('_')}`;
    const action = asObject(trace.action, 'trace.action');
    if (trace.type === 'call' && steps.length > 0 && isLeftOut(action.callType, action)) {
      const caller = callerOf(steps.length - 1);
      leftOut.set(caller, [...(leftOut.get(caller) ?? []), steps.at(-1) as number]);
      continue;
    }
    if (failed[0] !== undefined && failed[0].transactionIndex !== transactionIndex) failed = [];
    const isUndone =
      hasFailed(trace) ||
      failed.some((above) => above.path === '' || path === above.path || path.startsWith(`${above.path}_`));
    if (hasFailed(trace)) failed.push({ transactionIndex, path });
    if (isUndone || (path === '' && trace.type !== 'suicide')) continue;
    const move = readAction(trace.type, trace.action, trace.result);
    if (move === null || move.value === 0n) continue;
    const counted = steps.map(
      (step, depth) => step - (leftOut.get(callerOf(depth)) ?? []).filter((left) => left < step).length,
    );
    moves.push({ transactionIndex, path: counted.join('_'), ...move });
  }
  return { moves, isWhole: true };
}

function readAction(
  type: Json | undefined,
  actionValue: Json | undefined,
  resultValue: Json | undefined,
): Pick<InnerMove, 'from' | 'to' | 'value'> | null {
  const action = asObject(actionValue, 'trace.action');
  if (type === 'call') {
    if (action.callType !== 'call') return null;
    return {
      from: asAddress(action.from, 'trace.from'),
      to: asAddress(action.to, 'trace.to'),
      value: asHexAmount(action.value, 'trace.value'),
    };
  }
  if (type === 'create') {
    const created = asAddressOrNull(asObject(resultValue, 'trace.result').address, 'trace.address');
    if (created === null) return null;
    return {
      from: asAddress(action.from, 'trace.from'),
      to: created,
      value: asHexAmount(action.value, 'trace.value'),
    };
  }
  if (type === 'suicide')
    return {
      from: asAddress(action.address, 'trace.address'),
      to: asAddress(action.refundAddress, 'trace.refundAddress'),
      value: asHexAmount(action.balance, 'trace.balance'),
    };
  throw badAnswer('trace.type', 'call, create, suicide or reward');
}

const MOVING_CALLS: ReadonlySet<Json | undefined> = new Set(['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT']);

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/**
 * Parses the response of `debug_traceBlockByNumber` with geth's callTracer: one call tree per transaction, in block order. A transaction
 * that takes the node too long has an error in its place. Bor (Polygon) leaves out the last transaction of a block if it is a state sync,
 * which comes from the zero address. Null if the node does not have the traces.
 */
export function readCallTracer(
  value: Json,
  transactions: readonly Pick<WireTransaction, 'hash' | 'from'>[],
): BlockTraces | null {
  if (value === null) return null;
  const rows = asArray(value, 'traces', BLOCK_TRANSACTIONS_MAX);
  const isSynced = transactions.at(-1)?.from === ZERO_ADDRESS && rows.length === transactions.length - 1;
  if (rows.length !== transactions.length && !isSynced) throw badAnswer('traces', 'one for each transaction');
  const moves: InnerMove[] = [];
  let isWhole = true;
  for (const [transactionIndex, row] of rows.entries()) {
    const { result, txHash, error } = asObject(row, 'trace');
    if (txHash !== undefined && asHash(txHash, 'trace.txHash') !== transactions[transactionIndex]?.hash)
      throw badAnswer('trace.txHash', 'that of the transaction');
    if ((result === undefined || result === null) && typeof error === 'string') isWhole = false;
    else walkCalls(result, transactionIndex, [], moves);
  }
  return { moves, isWhole };
}

/** Walks depth first. A failed call moved nothing, and neither did its inner calls. */
function walkCalls(
  value: Json | undefined,
  transactionIndex: number,
  path: readonly number[],
  moves: InnerMove[],
): void {
  if (path.length > CALL_DEPTH_MAX) throw badAnswer('trace.calls', `nested at most ${CALL_DEPTH_MAX} deep`);
  const call = asObject(value, 'trace.result');
  if (hasFailed(call)) return;
  if (path.length > 0 && MOVING_CALLS.has(call.type) && call.value !== undefined && call.value !== null) {
    const amount = asHexAmount(call.value, 'trace.value');
    const to = asAddressOrNull(call.to, 'trace.to');
    if (amount > 0n && to !== null)
      moves.push({
        transactionIndex,
        path: path.join('_'),
        from: asAddress(call.from, 'trace.from'),
        to,
        value: amount,
      });
  }
  if (call.calls === undefined || call.calls === null) return;
  let index = 0;
  for (const inner of asArray(call.calls, 'trace.calls', TRACES_MAX)) {
    const each = asObject(inner, 'trace.result');
    if (isLeftOut(each.type, each)) continue;
    walkCalls(inner, transactionIndex, [...path, index++], moves);
  }
}
