/**
 * The layout of ethereum-etl (github.com/blockchain-etl/ethereum-etl, docs/schema.md): transactions, token transfers and internal
 * traces, for every EVM chain; blocks, receipts, contracts and tokens for what they add. Rows are told apart by their fields, so
 * the files may have any name and order.
 */

import { createHash } from 'node:crypto';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import {
  CALL_DIGITS_READ,
  initiationOf,
  movesTokens,
  type TransactionCall,
} from '../../chains/initiation.ts';
import { type ChainId, chainOf, isEvm } from '../../chains/registry.ts';
import type { Initiation, Transfer } from '../../chains/transfer.ts';
import { type RowFields, readRows } from './rows.ts';
import {
  AddressTexts,
  fieldOf,
  hashOf,
  integerOf,
  RowFault,
  smallIntegerOf,
  textOf,
  timeOf,
} from './transfer-fields.ts';

/** What a row is. Kinds without transfers of their own are counted, and left. */
export type RowKind =
  | 'block'
  | 'transaction'
  | 'token_transfer'
  | 'trace'
  | 'receipt'
  | 'contract'
  | 'token'
  | 'other';

/** By the columns that only this kind has. */
export function kindOf(fields: RowFields): RowKind {
  const has = (name: string): boolean => name in fields;
  if (has('transaction_hash') && has('token_address') && has('value')) return 'token_transfer';
  if (has('trace_type')) return 'trace';
  if (has('hash') && has('from_address') && has('value')) return 'transaction';
  if (has('number') && has('timestamp') && has('hash')) return 'block';
  if (has('transaction_hash') && has('cumulative_gas_used')) return 'receipt';
  if (has('address') && has('is_erc721')) return 'contract';
  if (has('address') && has('symbol') && has('decimals')) return 'token';
  return 'other';
}

/** What other rows than a transfer's own say of it; read before all else. */
interface Context {
  /** Block → milliseconds since the epoch. */
  readonly times: Map<number, number>;
  /** Transactions whose receipt says that they failed. */
  readonly failed: Set<string>;
  /** Transaction → the contract that it made. */
  readonly created: Map<string, string>;
  /** Contracts of ERC-721, whose values are numbers of pieces. Lower case. */
  readonly pieces: Set<string>;
  /** Token contract → its decimals. Lower case. */
  readonly decimals: Map<string, number>;
  /** Transaction → who sent it and what it calls; read only if token transfers or traces are among the files. */
  readonly calls: Map<string, TransactionCall>;
}

/** More decimals than any asset has; a contract may say anything. */
const DECIMALS_MAX = 77;

const isTrue = (value: unknown): boolean => value === true || String(value).toLowerCase() === 'true';

/** Null for a block whose number or time cannot be read: its row is rejected when its turn comes. */
function blockTime(fields: RowFields): { number: number; ms: number } | null {
  return orNull(() => {
    const ms = timeOf(fields, 'timestamp', 'seconds');
    return ms === null ? null : { number: smallIntegerOf(fields, 'number'), ms };
  });
}

/** A row of another kind that cannot be read adds nothing; what it would have told of transfers is then missing there. */
function orNull<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof RowFault) return null;
    throw error;
  }
}

/** How each kind adds to what is known. */
const CONTEXT_READERS: Readonly<Partial<Record<RowKind, (fields: RowFields, context: Context) => void>>> = {
  block(fields, { times }) {
    const time = blockTime(fields);
    if (time) times.set(time.number, time.ms);
  },
  receipt(fields, { failed, created }) {
    const hash = orNull(() => hashOf(fields, 'transaction_hash'));
    if (hash === null) return;
    const status = fieldOf(fields, 'status');
    if (status !== undefined && Number(status) === 0) failed.add(hash);
    const contract = fieldOf(fields, 'contract_address');
    if (typeof contract === 'string') created.set(hash, contract);
  },
  contract(fields, { pieces }) {
    const address = fieldOf(fields, 'address');
    if (typeof address === 'string' && isTrue(fieldOf(fields, 'is_erc721')))
      pieces.add(address.toLowerCase());
  },
  token(fields, { decimals }) {
    const address = fieldOf(fields, 'address');
    const count = orNull(() =>
      fieldOf(fields, 'decimals') === undefined ? null : smallIntegerOf(fields, 'decimals'),
    );
    if (typeof address === 'string' && count !== null && count <= DECIMALS_MAX)
      decimals.set(address.toLowerCase(), count);
  },
};

/** Kinds of rows that a transaction explains: it says who sent it and what it calls. */
const EXPLAINED: ReadonlySet<RowKind> = new Set(['token_transfer', 'trace']);

/** Returns the kind of the first row of a file; null for an empty file. */
async function firstKind(file: string, signal: AbortSignal | undefined): Promise<RowKind | null> {
  for await (const row of readRows(file, signal)) return row.ok ? kindOf(row.fields) : null;
  return null;
}

/** Calldata in hex without 0x, as far as it decides what moves; undefined if the export leaves it out. */
function inputOf(fields: RowFields): string | undefined {
  const input = fieldOf(fields, 'input');
  if (typeof input !== 'string' || !/^0x/i.test(input)) return undefined;
  const digits = input.slice(2, 2 + CALL_DIGITS_READ).toLowerCase();
  return movesTokens(digits) ? digits : '';
}

/** Reads who sent the transactions that call contracts. Those beyond the limit stay unknown, and say so. */
async function readCalls(
  files: readonly string[],
  addresses: AddressTexts,
  calls: Map<string, TransactionCall>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const kinds = new Map<string, RowKind | null>();
  for (const file of files) kinds.set(file, await firstKind(file, signal));
  if (![...kinds.values()].some((kind) => kind !== null && EXPLAINED.has(kind))) return;
  for (const file of files) {
    if (kinds.get(file) !== 'transaction') continue;
    for await (const row of readRows(file, signal)) {
      if (calls.size >= LIMITS.ingestCallsMax) return;
      if (!row.ok || kindOf(row.fields) !== 'transaction') continue;
      const { fields } = row;
      // A plain payment logs nothing, and has no trace but its own.
      if (fieldOf(fields, 'input') === '0x') continue;
      try {
        const txHash = hashOf(fields, 'hash');
        const sender = addresses.required(fields, 'from_address');
        const called = addresses.optional(fields, 'to_address');
        calls.set(txHash, { sender, called, input: inputOf(fields) });
      } catch (error) {
        // The row is rejected with its reason when its turn comes.
        if (!(error instanceof RowFault || error instanceof AssayError)) throw error;
      }
    }
  }
}

/** The first row of each file says what it holds; files of kinds that add to others are read for that before all else. */
async function readContext(files: readonly string[], signal: AbortSignal | undefined): Promise<Context> {
  const context: Context = {
    times: new Map(),
    failed: new Set(),
    created: new Map(),
    pieces: new Set(),
    decimals: new Map(),
    calls: new Map(),
  };
  for (const file of files) {
    for await (const row of readRows(file, signal)) {
      const read = row.ok ? CONTEXT_READERS[kindOf(row.fields)] : undefined;
      if (!row.ok || !read) break;
      read(row.fields, context);
      const { times, failed, created, pieces, decimals } = context;
      if (times.size + failed.size + created.size + pieces.size + decimals.size > LIMITS.ingestBlockTimesMax)
        throw new AssayError(
          'INVALID_FILE',
          `${file}: more than ${LIMITS.ingestBlockTimesMax} blocks, failed transactions and tokens at once. Ingest them in parts.`,
        );
    }
  }
  return context;
}

/** Reads one row: its transfer, or null for a row that carries none. Throws RowFault or AddressError with the reason. */
export type TransferRowReader = (fields: RowFields) => Transfer | null;

/**
 * A reader of the rows of `files`. The value of a transaction is position `value`, a token transfer `log:<log_index>`, an internal
 * call `trace:<path>`. A failed transaction (receipt_status 0, or its receipt's status) moved nothing: it is kept, with the amount
 * 0. Where a row carries no block_timestamp, its block must be in one of the files.
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
  const context = await readContext(files, signal);
  await readCalls(files, addresses, context.calls, signal);

  const time = (fields: RowFields, blockNumber: number): number => {
    const ms = timeOf(fields, 'block_timestamp', 'seconds') ?? context.times.get(blockNumber);
    if (ms !== undefined) return ms;
    throw new RowFault(`block_timestamp is missing, and no file gives the time of block ${blockNumber}.`);
  };

  const transaction = (fields: RowFields): Transfer => {
    const blockNumber = smallIntegerOf(fields, 'block_number');
    const txHash = hashOf(fields, 'hash');
    const status = fieldOf(fields, 'receipt_status');
    const failed = status === undefined ? context.failed.has(txHash) : Number(status) === 0;
    const amount = integerOf(fields, 'value');
    const from = addresses.required(fields, 'from_address');
    return {
      chain,
      txHash,
      position: 'value',
      blockNumber,
      timestampMs: time(fields, blockNumber),
      from,
      // A contract creation has no receiver; the contract's address stands in the receipt, where that was exported.
      to: addresses.optional(fields, 'to_address') ?? createdBy(fields, txHash),
      asset: symbol,
      amount: failed ? 0n : amount,
      decimals,
      valueUsd: null,
      initiation: { sender: from, callsAsset: null, decodes: null },
    };
  };

  const createdBy = (fields: RowFields, txHash: string): string | null => {
    const contract = context.created.get(txHash);
    return (
      addresses.optional(fields, 'receipt_contract_address') ??
      (contract === undefined ? null : addresses.required({ contract_address: contract }, 'contract_address'))
    );
  };

  const tokenTransfer = (fields: RowFields): Transfer => {
    const blockNumber = smallIntegerOf(fields, 'block_number');
    const asset = addresses.required(fields, 'token_address');
    const standard = standardOf(fields, asset, context);
    const txHash = hashOf(fields, 'transaction_hash');
    const moved = {
      from: party(addresses.required(fields, 'from_address')),
      to: party(addresses.required(fields, 'to_address')),
      asset,
      // The `value` of an ERC-721 is the number of the piece: one piece moved, whatever its number.
      amount: standard === 721 ? 1n : integerOf(fields, 'value'),
      decimals: standard === null ? (context.decimals.get(asset.toLowerCase()) ?? null) : 0,
    };
    const call = context.calls.get(txHash);
    return {
      chain,
      txHash,
      position: `log:${smallIntegerOf(fields, 'log_index')}${partOf(fields)}`,
      blockNumber,
      timestampMs: time(fields, blockNumber),
      ...moved,
      valueUsd: null,
      initiation: call === undefined ? null : initiationOf(moved, call, symbol),
    };
  };

  const trace = createTraceReader({
    chain,
    symbol,
    decimals,
    addresses,
    time,
    hasFailed: (hash) => context.failed.has(hash),
    senderOf: (hash) => context.calls.get(hash)?.sender ?? null,
  });

  return (fields) => {
    const kind = kindOf(fields);
    if (kind === 'transaction') return transaction(fields);
    if (kind === 'token_transfer') return tokenTransfer(fields);
    if (kind === 'trace') return trace(fields);
    if (kind === 'block' && blockTime(fields) === null)
      throw new RowFault('number or timestamp is not that of a block.');
    return null;
  };
}

// --- tokens -----------------------------------------------------------------------------------------------------------

/** Columns in which exports built on ethereum-etl say what a token is, and their words without marks. */
const STANDARD_COLUMNS = ['token_type', 'token_standard', 'erc_type', 'standard'] as const;

/** 721 or 1155 where the row, or a file of contracts, says so; null for fungible tokens and for what nobody tells apart. */
function standardOf(fields: RowFields, asset: string, { pieces }: Context): 721 | 1155 | null {
  for (const column of STANDARD_COLUMNS) {
    const word = String(fieldOf(fields, column) ?? '').replace(/\D+/g, '');
    if (word === '721') return 721;
    if (word === '1155') return 1155;
  }
  if (isTrue(fieldOf(fields, 'is_erc721')) || pieces.has(asset.toLowerCase())) return 721;
  return null;
}

/** One log of ERC-1155 can move several kinds of tokens; exports give each a row of its own with its place in the batch. */
function partOf(fields: RowFields): string {
  const part = fieldOf(fields, 'batch_index') ?? fieldOf(fields, 'sub_index');
  return part === undefined ? '' : `:${smallIntegerOf({ part }, 'part')}`;
}

const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000';

/** Tokens are minted from and burnt to the zero address, by the ERC-20 convention: nobody sends, nobody receives. */
const party = (address: string): string | null => (address === ZERO_ADDRESS ? null : address);

// --- traces -----------------------------------------------------------------------------------------------------------

interface TraceDeps {
  readonly chain: ChainId;
  readonly symbol: string;
  readonly decimals: number;
  readonly addresses: AddressTexts;
  readonly time: (fields: RowFields, blockNumber: number) => number;
  readonly hasFailed: (txHash: string) => boolean;
  readonly senderOf: (txHash: string) => string | null;
}

/** `0_1_2` of the ways exports write a path (`0,1,2`, `[0,1,2]`, a bare number); empty for the transaction itself. */
function pathOf(fields: RowFields): string {
  const value = fieldOf(fields, 'trace_address');
  if (value === undefined) return '';
  const parts = Array.isArray(value) ? value.map(String) : (String(value).match(/[^,\s[\]"]+/g) ?? []);
  for (const part of parts)
    if (!/^\d{1,9}$/.test(part)) throw new RowFault('trace_address is not a list of whole numbers.');
  return parts.join('_');
}

/** Paths of the deepest calls go past what a position may have: those are named by their hash. */
function positionOf(path: string): string {
  const position = `trace:${path}`;
  if (position.length <= LIMITS.transferPositionTextMax) return position;
  return `trace:${createHash('sha256').update(path).digest('hex').slice(0, 40)}`;
}

/**
 * Reads traces in the order of the export, callers before their calls. What moves value: calls, creations and self-destructs that
 * were not taken back; rewards and the genesis allocation. A delegated call runs another's code on the caller's own account, a
 * static call cannot pay: neither moves anything. The outermost call is the transaction, and takes its position.
 */
function createTraceReader(deps: TraceDeps): TransferRowReader {
  const { chain, symbol, decimals, addresses, time, hasFailed, senderOf } = deps;
  /** Paths that failed in the transaction that is read: exports without a status mark only the call that failed itself. */
  let current = '';
  let failedPaths: string[] = [];
  let rewardBlock = -1;
  let uncles = 0;

  function isReverted(fields: RowFields, txHash: string, path: string): boolean {
    if (txHash !== current) {
      current = txHash;
      failedPaths = [];
    }
    const status = fieldOf(fields, 'status');
    const own = status === undefined ? fieldOf(fields, 'error') !== undefined : Number(status) === 0;
    const inherited =
      hasFailed(txHash) || failedPaths.some((failed) => failed === '' || path.startsWith(`${failed}_`));
    if (own && !inherited) failedPaths.push(path);
    return own || inherited;
  }

  function called(fields: RowFields, traceType: string): Transfer | null {
    const callType = fieldOf(fields, 'call_type');
    const moves = traceType !== 'call' || callType === undefined || callType === 'call';
    const txHash = hashOf(fields, 'transaction_hash');
    const path = pathOf(fields);
    const reverted = isReverted(fields, txHash, path);
    const isOuter = path === '' && traceType !== 'suicide';
    if (!moves || (reverted && !isOuter)) return null;
    const value = fieldOf(fields, 'value');
    const amount = value === undefined || reverted ? 0n : integerOf(fields, 'value');
    // Calls without value are how contracts work, not contacts between people; the transaction itself is one.
    if (amount === 0n && !isOuter) return null;
    const from = addresses.optional(fields, 'from_address');
    const to = addresses.optional(fields, 'to_address');
    if (from === null && to === null) return null;
    const blockNumber = smallIntegerOf(fields, 'block_number');
    // The outermost call is made by the account that signed the transaction.
    const sender = isOuter ? from : senderOf(txHash);
    const initiation: Initiation | null =
      sender === null ? null : { sender, callsAsset: null, decodes: null };
    return {
      ...blank(blockNumber, time(fields, blockNumber)),
      initiation,
      txHash,
      position: isOuter ? 'value' : positionOf(path),
      from,
      to,
      amount,
    };
  }

  const blank = (
    blockNumber: number,
    timestampMs: number,
  ): Pick<Transfer, 'chain' | 'blockNumber' | 'timestampMs' | 'asset' | 'decimals' | 'valueUsd'> => ({
    chain,
    blockNumber,
    timestampMs,
    asset: symbol,
    decimals,
    valueUsd: null,
  });

  /** What belongs to a block rather than to a transaction has the block's number for its id. */
  function ofBlock(fields: RowFields, position: (blockNumber: number) => string): Transfer {
    const blockNumber = smallIntegerOf(fields, 'block_number');
    return {
      ...blank(blockNumber, time(fields, blockNumber)),
      txHash: `0x${blockNumber.toString(16).padStart(64, '0')}`,
      position: position(blockNumber),
      from: addresses.optional(fields, 'from_address'),
      to: addresses.required(fields, 'to_address'),
      amount: integerOf(fields, 'value'),
    };
  }

  function rewardPosition(rewardType: unknown, blockNumber: number): string {
    if (rewardType !== 'uncle') return 'reward:block';
    if (blockNumber !== rewardBlock) uncles = 0;
    rewardBlock = blockNumber;
    return `reward:uncle:${uncles++}`;
  }

  return (fields) => {
    const traceType = textOf(fields, 'trace_type');
    switch (traceType) {
      case 'call':
      case 'create':
      case 'create2':
      case 'suicide':
      case 'selfdestruct':
        return called(fields, traceType === 'selfdestruct' ? 'suicide' : traceType);
      case 'reward':
        return ofBlock(fields, (blockNumber) => rewardPosition(fieldOf(fields, 'reward_type'), blockNumber));
      case 'genesis':
        return ofBlock(fields, () => `genesis:${textOf(fields, 'to_address').toLowerCase()}`);
      case 'daofork':
        return ofBlock(fields, () => `daofork:${textOf(fields, 'from_address').toLowerCase()}`);
      default:
        throw new RowFault(`trace_type is '${traceType.slice(0, 40)}', which is none that is known.`);
    }
  };
}
