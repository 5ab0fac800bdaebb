/**
 * Sources of heads and blocks of a UTXO chain, independent of the layout, and the conversion of a block to a result.
 */
import { AssayError } from '../../../base/errors.ts';
import type { Block } from '../../block.ts';
import type { ChainId } from '../../registry.ts';
import type { UtxoTransaction } from '../../utxo-transaction.ts';
import type { BlockAnswer, Call, HeadAnswer, Unconfirmed } from '../port.ts';
import type { BlockBody, TransactionBody } from './wire.ts';

export interface BlockSource {
  head(call: Call): Promise<HeadAnswer>;
  /** Returns the hash of the block at a height; null if the chain has no such block. */
  hashAt(height: number, call: Call): Promise<string | null>;
  block(height: number, call: Call): Promise<BlockAnswer>;
  /** Absent if the layout does not list the pool of a node. */
  readonly unconfirmed?: Unconfirmed | undefined;
}

export const NO_BLOCK = { block: null, height: null, completeness: 'COMPLETE', note: null } as const;

/** Returns a note if the spent output of some input is unknown; null if all are known. */
export function missingInputsNote(transactions: readonly Pick<UtxoTransaction, 'inputs'>[]): string | null {
  let unknown = 0;
  for (const { inputs } of transactions) for (const { value } of inputs) if (value === null) unknown++;
  if (unknown === 0) return null;
  return `${unknown} inputs have no address and amount: no source has the outputs that they spend.`;
}

/**
 * Validates that a transaction does not pay more than it takes, which no rule of any of these chains allows.
 *
 * @throws CHAIN_BAD_ANSWER if it does
 */
export function checkSums({ txid, isCoinbase, inputs, outputs, shielded }: TransactionBody): void {
  let rest = (shielded?.in ?? 0n) - (shielded?.out ?? 0n);
  for (const { value } of inputs) {
    if (value === null) return;
    rest += value;
  }
  for (const { value } of outputs) rest -= value;
  if (rest < 0n && !isCoinbase)
    throw new AssayError(
      'CHAIN_BAD_ANSWER',
      `Transaction ${txid} pays ${-rest} satoshi more than its inputs have.`,
    );
}

/**
 * Converts a block to a result; it is PARTIAL if spent outputs are unknown.
 *
 * @throws CHAIN_BAD_ANSWER if a transaction pays more than it takes
 */
export function blockAnswer(chain: ChainId, height: number, body: BlockBody, source: string): BlockAnswer {
  const { hash, parentHash, timestampMs } = body;
  for (const transaction of body.transactions) checkSums(transaction);
  const transactions = body.transactions.map((transaction, indexInBlock) => ({
    chain,
    ...transaction,
    blockNumber: height,
    indexInBlock,
    timestampMs,
  }));
  const block: Block = {
    chain,
    height,
    hash,
    parentHash: height === 0 ? null : parentHash,
    timestampMs,
    transfers: [],
    transactions,
  };
  const note = missingInputsNote(transactions);
  return { block, source, height, completeness: note === null ? 'COMPLETE' : 'PARTIAL', note };
}
