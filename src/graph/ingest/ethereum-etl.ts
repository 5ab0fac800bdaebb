/**
 * The layout of ethereum-etl (github.com/blockchain-etl/ethereum-etl, docs/schema.md): blocks, transactions and token transfers,
 * for every EVM chain. Rows are told apart by their fields, so the files may have any name and order.
 */

import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { type ChainId, chainOf, isEvm } from '../../chains/registry.ts';
import type { Transfer } from '../../chains/transfer.ts';
import { type RowFields, readRows } from './rows.ts';
import {
  AddressTexts,
  fieldOf,
  hashOf,
  integerOf,
  RowFault,
  smallIntegerOf,
  timeOf,
} from './transfer-fields.ts';

/** What a row is. Kinds without transfers of their own are counted, and left. */
type RowKind = 'block' | 'transaction' | 'token_transfer' | 'other';

/** By the columns that only this kind has. */
export function kindOf(fields: RowFields): RowKind {
  const has = (name: string): boolean => name in fields;
  if (has('transaction_hash') && has('token_address') && has('value')) return 'token_transfer';
  if (has('hash') && has('from_address') && has('value')) return 'transaction';
  if (has('number') && has('timestamp') && has('hash')) return 'block';
  return 'other';
}

/** The first row of each file says whether it holds blocks; those are read for their times before all else. */
async function readBlockTimes(
  files: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Map<number, number>> {
  const times = new Map<number, number>();
  for (const file of files) {
    for await (const row of readRows(file, signal)) {
      if (!row.ok || kindOf(row.fields) !== 'block') break;
      const time = blockTime(row.fields);
      if (time) times.set(time.number, time.ms);
      if (times.size > LIMITS.ingestBlockTimesMax)
        throw new AssayError(
          'INVALID_FILE',
          `${file}: more than ${LIMITS.ingestBlockTimesMax} blocks at once. Ingest them in parts.`,
        );
    }
  }
  return times;
}

/** Null for a block whose number or time cannot be read: its row is rejected when its turn comes. */
function blockTime(fields: RowFields): { number: number; ms: number } | null {
  try {
    const ms = timeOf(fields, 'timestamp', 'seconds');
    return ms === null ? null : { number: smallIntegerOf(fields, 'number'), ms };
  } catch (error) {
    if (error instanceof RowFault) return null;
    throw error;
  }
}

/** Reads one row: its transfer, or null for a row that carries none. Throws RowFault or AddressError with the reason. */
export type TransferRowReader = (fields: RowFields) => Transfer | null;

/**
 * A reader of the rows of `files`. The value of a transaction is position `value`, a token transfer `log:<log_index>`.
 * A failed transaction (receipt_status 0) moved nothing: it is kept, with the amount 0. Where a row carries no
 * block_timestamp, its block must be in one of the files.
 */
export async function ethereumEtlReader(options: {
  readonly chain: ChainId;
  readonly files: readonly string[];
  readonly signal?: AbortSignal;
}): Promise<TransferRowReader> {
  const { chain, files, signal } = options;
  if (!isEvm(chain))
    throw new AssayError(
      'INVALID_REQUEST',
      `chain: ${chain} is not an EVM chain, and ethereum-etl reads only those.`,
      {
        field: 'chain',
      },
    );
  const { symbol, decimals } = chainOf(chain);
  const addresses = new AddressTexts(chain);
  const blockTimes = await readBlockTimes(files, signal);

  const time = (fields: RowFields, blockNumber: number): number => {
    const ms = timeOf(fields, 'block_timestamp', 'seconds') ?? blockTimes.get(blockNumber);
    if (ms !== undefined) return ms;
    throw new RowFault(`block_timestamp is missing, and no file gives the time of block ${blockNumber}.`);
  };

  const transaction = (fields: RowFields): Transfer => {
    const blockNumber = smallIntegerOf(fields, 'block_number');
    const status = fieldOf(fields, 'receipt_status');
    const failed = status !== undefined && Number(status) === 0;
    const amount = integerOf(fields, 'value');
    return {
      chain,
      txHash: hashOf(fields, 'hash'),
      position: 'value',
      blockNumber,
      timestampMs: time(fields, blockNumber),
      from: addresses.required(fields, 'from_address'),
      // A contract creation has no receiver; the contract's address stands in the receipt, where that was exported.
      to: addresses.optional(fields, 'to_address') ?? addresses.optional(fields, 'receipt_contract_address'),
      asset: symbol,
      amount: failed ? 0n : amount,
      decimals,
      valueUsd: null,
    };
  };

  const tokenTransfer = (fields: RowFields): Transfer => {
    const blockNumber = smallIntegerOf(fields, 'block_number');
    return {
      chain,
      txHash: hashOf(fields, 'transaction_hash'),
      position: `log:${smallIntegerOf(fields, 'log_index')}`,
      blockNumber,
      timestampMs: time(fields, blockNumber),
      from: party(addresses.required(fields, 'from_address')),
      to: party(addresses.required(fields, 'to_address')),
      asset: addresses.required(fields, 'token_address'),
      amount: integerOf(fields, 'value'),
      decimals: null,
      valueUsd: null,
    };
  };

  return (fields) => {
    const kind = kindOf(fields);
    if (kind === 'transaction') return transaction(fields);
    if (kind === 'token_transfer') return tokenTransfer(fields);
    if (kind === 'block' && blockTime(fields) === null)
      throw new RowFault('number or timestamp is not that of a block.');
    return null;
  };
}

const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000';

/** Tokens are minted from and burnt to the zero address, by the ERC-20 convention: nobody sends, nobody receives. */
const party = (address: string): string | null => (address === ZERO_ADDRESS ? null : address);
