/**
 * The layout of ethereum-etl (github.com/blockchain-etl/ethereum-etl, docs/schema.md) for every EVM chain: transactions, token transfers
 * and internal traces, and the blocks, receipts, contracts and tokens that complete them. The columns identify the kind of a row, so the
 * files may have any name and order.
 */

import { createHash } from 'node:crypto';
import { AssayError } from '../../base/errors.ts';
import {
  CALL_DIGITS_READ,
  initiationOf,
  movesTokens,
  type TransactionCall,
} from '../../chains/initiation.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import { type ChainId, chainOf, isEvm } from '../../chains/registry.ts';
import { loadTokenList } from '../../chains/tokens.ts';
import type { Initiation, Transfer } from '../../chains/transfer.ts';
import { INGEST_LIMITS } from './limits.ts';
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

/** The kind of a row. Rows without transfers of their own are counted and skipped. */
export type RowKind =
  | 'block'
  | 'transaction'
  | 'token_transfer'
  | 'trace'
  | 'receipt'
  | 'contract'
  | 'token'
  | 'log'
  | 'other';

/** Determines the kind by the columns that only this kind has. */
export function kindOf(fields: RowFields): RowKind {
  const has = (name: string): boolean => name in fields;
  if (has('transaction_hash') && has('token_address') && has('value')) return 'token_transfer';
  if (has('trace_type')) return 'trace';
  if (has('hash') && has('from_address') && has('value')) return 'transaction';
  if (has('number') && has('timestamp') && has('hash')) return 'block';
  if (has('transaction_hash') && has('cumulative_gas_used')) return 'receipt';
  if (has('address') && has('is_erc721')) return 'contract';
  if (has('address') && has('symbol') && has('decimals')) return 'token';
  if (has('transaction_hash') && has('topics')) return 'log';
  return 'other';
}

/** Data about transfers that is in other rows. It is read before everything else. */
interface Context {
  /** Block → milliseconds since the epoch. */
  readonly times: Map<number, number>;
  /** Transactions with a failed status in their receipt. */
  readonly failed: Set<string>;
  /** Transaction → the contract that it created. */
  readonly created: Map<string, string>;
  /** ERC-721 contracts: the `value` of their transfers is a token id. Lower case. */
  readonly pieces: Set<string>;
  /** Token contract → its decimals. Lower case. */
  readonly decimals: Map<string, number>;
  /** Transaction → its sender and the contract it calls. Filled only if the files include token transfers or traces. */
  readonly calls: Map<string, TransactionCall>;
}

/** More decimals than any real asset has. A contract may report any number. */
const DECIMALS_MAX = 77;

const isTrue = (value: unknown): boolean => value === true || String(value).toLowerCase() === 'true';

/** Returns null if the number or time of a block cannot be read. The row is rejected later, when it is processed. */
function blockTime(fields: RowFields): { number: number; ms: number } | null {
  return orNull(() => {
    const ms = timeOf(fields, 'timestamp', 'seconds');
    return ms === null ? null : { number: smallIntegerOf(fields, 'number'), ms };
  });
}

/** Returns null if a context row cannot be read: transfers then lack what it would have added. */
function orNull<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof RowFault) return null;
    throw error;
  }
}

/** How each kind of row adds to the context. */
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

/** Kinds of rows that need their transaction's sender and call. */
const EXPLAINED: ReadonlySet<RowKind> = new Set(['token_transfer', 'trace']);

async function firstKind(file: string, signal: AbortSignal | undefined): Promise<RowKind | null> {
  for await (const row of readRows(file, signal)) return row.ok ? kindOf(row.fields) : null;
  return null;
}

/** Calldata in hex without 0x, up to the length that decides what moves. Undefined if the export leaves it out. */
function inputOf(fields: RowFields): string | undefined {
  const input = fieldOf(fields, 'input');
  if (typeof input !== 'string' || !/^0x/i.test(input)) return undefined;
  const digits = input.slice(2, 2 + CALL_DIGITS_READ).toLowerCase();
  return movesTokens(digits) ? digits : '';
}

/** Reads the senders of the transactions that call contracts. Transactions beyond the limit get no initiation. */
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
      if (calls.size >= INGEST_LIMITS.ingestCallsMax) return;
      if (!row.ok || kindOf(row.fields) !== 'transaction') continue;
      const { fields } = row;
      // A plain payment emits no logs, and has no trace except its own.
      if (fieldOf(fields, 'input') === '0x') continue;
      try {
        const txHash = hashOf(fields, 'hash');
        const sender = addresses.required(fields, 'from_address');
        const called = addresses.optional(fields, 'to_address');
        calls.set(txHash, { sender, called, input: inputOf(fields) });
      } catch (error) {
        // The row is rejected with its reason later, when it is processed.
        if (!(error instanceof RowFault || error instanceof AssayError)) throw error;
      }
    }
  }
}

/** Reads the files that start with a row of a context kind, before all others. */
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
      if (
        times.size + failed.size + created.size + pieces.size + decimals.size >
        INGEST_LIMITS.ingestBlockTimesMax
      )
        throw new AssayError(
          'INVALID_FILE',
          `${file}: more than ${INGEST_LIMITS.ingestBlockTimesMax} blocks, failed transactions and tokens at once. Ingest them in parts.`,
        );
    }
  }
  return context;
}

/** Reads one row. Returns its transfer, or null if the row has none. Throws RowFault or AddressError with the reason. */
export type TransferRowReader = (fields: RowFields) => Transfer | null;

/**
 * Creates a reader for the rows of `files`. The position of a transaction's value is `value`, of a token transfer `log:<log_index>`, of an
 * internal call `trace:<path>`. A failed transaction (receipt_status 0, or its receipt's status) moved nothing: it is stored with the
 * amount 0. If a row has no block_timestamp, its block must be in one of the files.
 *
 * @throws INVALID_REQUEST if the chain is not an EVM chain
 * @throws INVALID_FILE if the context files have too many rows
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
  const tokens = loadTokenList();
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
      // A contract creation has no receiver. The contract's address is in the receipt, if receipts were exported.
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
      // The `value` of an ERC-721 transfer is the token id: one piece moved, whatever its id.
      amount: standard === 721 ? 1n : integerOf(fields, 'value'),
      decimals:
        standard === null
          ? (context.decimals.get(asset.toLowerCase()) ?? tokens.decimalsOf(chain, asset))
          : 0,
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
      throw new RowFault('number or timestamp is not valid for a block.');
    return null;
  };
}

// --- tokens -----------------------------------------------------------------------------------------------------------

/** Columns in which exports based on ethereum-etl give the token standard. */
const STANDARD_COLUMNS = ['token_type', 'token_standard', 'erc_type', 'standard'] as const;

/** Returns 721 or 1155 if the row or a contracts file gives it, and null for fungible tokens or an unknown standard. */
function standardOf(fields: RowFields, asset: string, { pieces }: Context): 721 | 1155 | null {
  for (const column of STANDARD_COLUMNS) {
    const word = String(fieldOf(fields, column) ?? '').replace(/\D+/g, '');
    if (word === '721') return 721;
    if (word === '1155') return 1155;
  }
  if (isTrue(fieldOf(fields, 'is_erc721')) || pieces.has(asset.toLowerCase())) return 721;
  return null;
}

/** One ERC-1155 log can move several kinds of tokens. Exports give each a row of its own, with its index in the batch. */
function partOf(fields: RowFields): string {
  const part = fieldOf(fields, 'batch_index') ?? fieldOf(fields, 'sub_index');
  return part === undefined ? '' : `:${smallIntegerOf({ part }, 'part')}`;
}

const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000';

/** By the ERC-20 convention, tokens are minted from and burnt to the zero address: it is not a party. */
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

/** `0_1_2` from the formats in which exports write a path (`0,1,2`, `[0,1,2]`, a single number). Empty for the transaction itself. */
function pathOf(fields: RowFields): string {
  const value = fieldOf(fields, 'trace_address');
  if (value === undefined) return '';
  const parts = Array.isArray(value) ? value.map(String) : (String(value).match(/[^,\s[\]"]+/g) ?? []);
  for (const part of parts)
    if (!/^\d{1,9}$/.test(part)) throw new RowFault('trace_address is not a list of whole numbers.');
  return parts.join('_');
}

/** Paths of the deepest calls exceed the length of a position. They are replaced by their hash. */
function positionOf(path: string): string {
  const position = `trace:${path}`;
  if (position.length <= CHAIN_LIMITS.transferPositionTextMax) return position;
  return `trace:${createHash('sha256').update(path).digest('hex').slice(0, 40)}`;
}

/**
 * Reads traces in the order of the export, callers before their calls. These move value: calls, creations and self-destructs that were not
 * reverted, rewards, and the genesis allocation. A delegated call runs foreign code on the caller's own account, and a static call cannot
 * pay: neither moves anything. The outermost call is the transaction, and gets its position.
 */
function createTraceReader(deps: TraceDeps): TransferRowReader {
  const { chain, symbol, decimals, addresses, time, hasFailed, senderOf } = deps;
  /** Failed paths of the current transaction: exports without a status mark only the call that itself failed. */
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
    // Calls without value are internal to contracts and say nothing about contacts between parties. The transaction itself does.
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

  /** A transfer of a block, not of a transaction. Its transaction id is the block number. */
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
        throw new RowFault(`trace_type is '${traceType.slice(0, 40)}' is not supported.`);
    }
  };
}
