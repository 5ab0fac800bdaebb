/** Builds the transfers of EVM transactions, with the same positions as every other reader of EVM chains. */
import { createHash } from 'node:crypto';
import { AbiCoder } from 'ethers';
import { formatEvm } from '../../address/evm.ts';
import { initiationOf, type TransactionCall } from '../../initiation.ts';
import { CHAIN_LIMITS } from '../../limits.ts';
import { type ChainId, chainOf } from '../../registry.ts';
import type { Transfer } from '../../transfer.ts';
import type { InnerMove, WireBlock, WireLog, WireReceipt } from './wire.ts';

/** keccak-256 of the event signatures (EIP-20, EIP-721, EIP-1155). */
export const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
export const TRANSFER_SINGLE_TOPIC = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62';
export const TRANSFER_BATCH_TOPIC = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb';

/** Contracts that log moves of the native coin as token transfers; these are already included as native transfers. */
const NATIVE_AS_TOKEN: Readonly<Partial<Record<ChainId, string>>> = {
  // L2BaseToken of ZKsync's system contracts.
  ZKSYNC: '0x000000000000000000000000000000000000800A',
};

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;
/** Maximum items of one ERC-1155 event: far more than the gas of a transaction allows. */
const BATCH_MAX = 10_000;

/** One token movement in a log. */
export interface TokenMove {
  /** `12`, or `12:3` for the fourth item of a batch. */
  readonly place: string;
  readonly asset: string;
  readonly from: string | null;
  readonly to: string | null;
  readonly amount: bigint;
  /** NFTs (ERC-721, ERC-1155) have no decimals; null if the contract must be asked. */
  readonly decimals: 0 | null;
}

const topicAddress = (topic: string): string => formatEvm(Buffer.from(topic.slice(26), 'hex'));
/** Tokens are minted from the zero address and burnt to it. */
const party = (topic: string): string | null => {
  const address = topicAddress(topic);
  return address === ZERO_ADDRESS ? null : address;
};

/** Returns the movements in a log; empty for logs of other events and for malformed transfer events. */
export function tokenMoves(log: WireLog, chain: ChainId): TokenMove[] {
  const { address: asset, topics, data, logIndex } = log;
  const [kind, first = '', second = '', third = ''] = topics;
  if (asset === NATIVE_AS_TOKEN[chain]) return [];
  if (kind === TRANSFER_TOPIC && topics.length === 3 && data.length === 66) {
    const from = party(first);
    const to = party(second);
    if (from === null && to === null) return [];
    return [{ place: String(logIndex), asset, from, to, amount: BigInt(data), decimals: null }];
  }
  if (kind === TRANSFER_TOPIC && topics.length === 4) {
    const from = party(first);
    const to = party(second);
    if (from === null && to === null) return [];
    return [{ place: String(logIndex), asset, from, to, amount: 1n, decimals: 0 }];
  }
  if ((kind !== TRANSFER_SINGLE_TOPIC && kind !== TRANSFER_BATCH_TOPIC) || topics.length !== 4) return [];
  const from = party(second);
  const to = party(third);
  if (from === null && to === null) return [];
  const amounts = kind === TRANSFER_SINGLE_TOPIC ? singleAmount(data) : batchAmounts(data);
  return amounts.map((amount, index) => ({
    place: kind === TRANSFER_SINGLE_TOPIC ? String(logIndex) : `${logIndex}:${index}`,
    asset,
    from,
    to,
    amount,
    decimals: 0,
  }));
}

const singleAmount = (data: string): readonly bigint[] =>
  data.length === 130 ? [BigInt(`0x${data.slice(66)}`)] : [];

/** A contract may log any bytes; data that does not decode is not a transfer. */
function batchAmounts(data: string): readonly bigint[] {
  try {
    const [ids, amounts] = AbiCoder.defaultAbiCoder().decode(['uint256[]', 'uint256[]'], data) as unknown as [
      bigint[],
      bigint[],
    ];
    return ids.length === amounts.length && amounts.length <= BATCH_MAX ? [...amounts] : [];
  } catch {
    return [];
  }
}

/** Returns the position of a trace path; a path that exceeds the length limit of positions is replaced by its hash. */
export function tracePosition(path: string): string {
  const position = `trace:${path}`;
  if (position.length <= CHAIN_LIMITS.transferPositionTextMax) return position;
  return `trace:${createHash('sha256').update(path).digest('hex').slice(0, 40)}`;
}

/** Returns the tokens in the logs that need a lookup of their decimals. */
export function assetsOf(receipts: readonly WireReceipt[], chain: ChainId): Set<string> {
  const assets = new Set<string>();
  for (const { logs } of receipts)
    for (const log of logs)
      for (const move of tokenMoves(log, chain)) if (move.decimals === null) assets.add(move.asset);
  return assets;
}

const GWEI = 1_000_000_000n;

/**
 * Returns all transfers of a block. A failed transaction is kept with the amount 0, because it is a contact between two parties.
 *
 * @param receipts - in the order of the block's transactions
 * @param inner - null if the block was not traced
 */
export function blockTransfers(
  chain: ChainId,
  block: WireBlock,
  receipts: readonly WireReceipt[],
  inner: readonly InnerMove[] | null,
  decimalsOf: (asset: string) => number | null,
): Transfer[] {
  const { symbol, decimals } = chainOf(chain);
  const { height: blockNumber, timestampMs } = block;
  const innerOf = new Map<number, InnerMove[]>();
  for (const move of inner ?? []) {
    const moves = innerOf.get(move.transactionIndex);
    if (moves === undefined) innerOf.set(move.transactionIndex, [move]);
    else moves.push(move);
  }
  const transfers: Transfer[] = [];
  /** The transaction of the transfers that are being added; null for transfers of the block itself. */
  let call: TransactionCall | null = null;
  const add = (
    txHash: string,
    position: string,
    from: string | null,
    to: string | null,
    amount: bigint,
    asset: string = symbol,
    assetDecimals: number | null = decimals,
  ): void => {
    const moved = { from, to, asset, amount, decimals: assetDecimals };
    transfers.push({
      chain,
      txHash,
      position,
      blockNumber,
      timestampMs,
      ...moved,
      valueUsd: null,
      initiation: call === null ? null : initiationOf(moved, call, symbol),
    });
  };
  for (const [index, transaction] of block.transactions.entries()) {
    const receipt = receipts[index];
    const failed = receipt?.succeeded === false;
    const { hash, from } = transaction;
    call = { sender: from, called: transaction.to, input: transaction.input };
    add(
      hash,
      'value',
      from,
      transaction.to ?? receipt?.contractAddress ?? null,
      failed ? 0n : transaction.value,
    );
    if (failed) continue;
    for (const log of receipt?.logs ?? [])
      for (const { place, asset, from: sender, to, amount, decimals: own } of tokenMoves(log, chain))
        add(hash, `log:${place}`, sender, to, amount, asset, own ?? decimalsOf(asset));
    for (const { path, from: sender, to, value } of innerOf.get(index) ?? [])
      add(hash, tracePosition(path), sender, to, value);
  }
  call = null;
  // Only withdrawals on Ethereum pay the native coin (Gnosis pays another token). They belong to the block, so its number is their id.
  if (chain === 'ETH')
    for (const { index, address, amount } of block.withdrawals)
      add(
        `0x${blockNumber.toString(16).padStart(64, '0')}`,
        `withdrawal:${index}`,
        null,
        address,
        amount * GWEI,
      );
  return transfers;
}
