/**
 * Solana over the JSON-RPC of a node (solana.com/docs/rpc): parsed transactions, SPL tokens by the owners of their accounts, and blocks
 * by slot. A slot without a block (its leader produced none) is returned as an empty block with the hash of the block below it, so that
 * the slots form a chain without gaps. Fees, votes and failed transactions are not transfers. The WebSocket of a node answers no
 * requests: it announces new slots, and the transactions of subscribed addresses through their logs.
 */
import { PublicKey, StakeProgram, SystemProgram, VoteProgram } from '@solana/web3.js';
import { AssayError } from '../../../base/errors.ts';
import { invalidCursor } from '../../../base/paging.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import {
  asAmount,
  asArray,
  asCount,
  asObject,
  asSecondsMs,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { RpcRefusal, rpcCall, rpcRequest } from '../../endpoints/json-rpc.ts';
import type { Subscription } from '../../endpoints/json-rpc-socket.ts';
import {
  addressOrNull,
  asAddressOf,
  asPattern,
  type ChainReader,
  decimalsOrNull,
  type HistoryRow,
  openAccountChain,
  type RowsPage,
  type RowsQuery,
  type Sourced,
  transfersOf,
} from '../account-chain.ts';
import type { Call, OpenAdapter } from '../port.ts';

const LAYOUTS = ['json-rpc'] as const;
const GENESIS = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d';
/** Voted for by two thirds of the stake: no such block has been reverted so far, and it is available 12 s before finality. */
const COMMITMENT = 'confirmed';
/**
 * A node refuses a whole block because of one transaction with a higher version. Version 1 (SIMD-0385) occurs in most blocks since
 * September 2026; in parsed form it looks like the other versions.
 */
const TRANSACTION_VERSION_MAX = 1;
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';
const TOKEN_PROGRAMS: ReadonlySet<string> = new Set(
  ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', TOKEN_2022].map((id) => new PublicKey(id).toBase58()),
);
/** The wrapped SOL mints of both token programs: their tokens are the lamports of the accounts that hold them. */
const WRAPPED: ReadonlySet<string | null> = new Set([
  'So11111111111111111111111111111111111111112',
  '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXej9',
]);
const SYSTEM = SystemProgram.programId.toBase58();
const STAKE = StakeProgram.programId.toBase58();
const VOTE = VoteProgram.programId.toBase58();

/** The slot was skipped, or is missing in long-term storage for good. */
const SKIPPED: ReadonlySet<number> = new Set([-32007, -32009]);
/** The block is not available yet, or its status is not. */
const NOT_YET: ReadonlySet<number> = new Set([-32004, -32014]);
/** The node is behind the cluster. */
const UNAVAILABLE_CODES = [-32005, -32016];
/** Number of slots to search for the block below a skipped slot: the longest run of missed slots so far had some dozens. */
const LOOK_BACK_SLOTS = 400;
const BLOCK_TRANSACTIONS_MAX = 100_000;
const INSTRUCTIONS_MAX = 2_000;
const ACCOUNTS_MAX = 512;
/** Each row costs one request: public servers answer a few per second. */
const ROWS_PUBLIC = 8;
const ROWS_OWN = 50;
const ROWS_AT_ONCE = 8;
const NOT_LISTED =
  'Tokens received in token accounts of the address are missing if the transaction does not name the address: the node does not list it.';

const NOT_PARSED = 'Some instructions of the token programs are missing: the node cannot parse them.';

const SLOTS: Subscription = { subscribe: 'slotSubscribe', unsubscribe: 'slotUnsubscribe', params: [] };

/** Subscribes to the logs of transactions that name an address, including failed transactions, which also paid a fee. */
const logsOf = (address: string): Subscription => ({
  subscribe: 'logsSubscribe',
  unsubscribe: 'logsUnsubscribe',
  params: [{ mentions: [new PublicKey(address).toBase58()] }, { commitment: COMMITMENT }],
});

const asSignature = (value: Json | undefined): string =>
  asPattern(value, /^[1-9A-HJ-NP-Za-km-z]{80,90}$/, 'signature');
const asBlockhash = (value: Json | undefined, field: string): string =>
  asPattern(value, /^[1-9A-HJ-NP-Za-km-z]{32,44}$/, field);

const verify = rpcRequest<void>({
  method: 'getGenesisHash',
  params: [],
  layouts: LAYOUTS,
  read(result) {
    const found = asBlockhash(result, 'genesis hash');
    if (found !== GENESIS)
      throw new AssayError(
        'CHAIN_MISMATCH',
        `An endpoint of SOL serves the cluster that begins with ${found}.`,
      );
  },
});

interface TokenAccount {
  readonly owner: string | null;
  readonly mint: string | null;
  readonly decimals: number | null;
}

/**
 * Returns every token account that the transaction touched, by address: from the balances before and after, and from the accounts that
 * the transaction created.
 */
function tokenAccounts(
  keys: readonly string[],
  meta: JsonObject,
  instructions: readonly Instruction[],
): ReadonlyMap<string, TokenAccount> {
  const accounts = new Map<string, TokenAccount>();
  const mintDecimals = new Map<string, number | null>();
  for (const field of ['preTokenBalances', 'postTokenBalances'])
    for (const value of asArray(meta[field] ?? [], field, ACCOUNTS_MAX)) {
      const row = asObject(value, field);
      const account = keys[asCount(row.accountIndex, 'accountIndex')];
      if (account === undefined) throw badAnswer('accountIndex', 'that of an account');
      const mint = asAddressOf('SOL', row.mint, 'mint');
      const decimals = decimalsOrNull(asObject(row.uiTokenAmount, 'uiTokenAmount').decimals);
      mintDecimals.set(mint, decimals);
      // Balances from before 2021 have no owner.
      accounts.set(account, { owner: addressOrNull('SOL', row.owner), mint, decimals });
    }
  for (const { program, type, info } of instructions) {
    if (!TOKEN_PROGRAMS.has(program) || !type.startsWith('initializeAccount')) continue;
    const account = addressOrNull('SOL', info.account);
    const mint = addressOrNull('SOL', info.mint);
    if (account === null || accounts.has(account)) continue;
    const decimals = mint === null ? null : (mintDecimals.get(mint) ?? null);
    accounts.set(account, { owner: addressOrNull('SOL', info.owner), mint, decimals });
  }
  return accounts;
}

/**
 * Tracks the lamports of each account while the instructions run: the amount that closing a token account pays out is recorded nowhere
 * else.
 */
class Lamports {
  readonly #balances = new Map<string, bigint>();

  constructor(keys: readonly string[], meta: JsonObject) {
    const before = asArray(meta.preBalances ?? [], 'preBalances', ACCOUNTS_MAX);
    for (const [index, value] of before.entries()) {
      const key = keys[index];
      if (key === undefined) throw badAnswer('preBalances', 'one for each account');
      this.#balances.set(key, asAmount(value, 'preBalance'));
    }
  }

  of(address: string): bigint {
    return this.#balances.get(address) ?? 0n;
  }

  move(from: string, to: string, amount: bigint): void {
    this.#balances.set(from, this.of(from) - amount);
    this.#balances.set(to, this.of(to) + amount);
  }
}

/**
 * Returns a function that computes the gain of a token account if exactly one instruction changed its balance. The gain is less than
 * the sent amount if the mint withholds a transfer fee. Null if the gain cannot be determined.
 */
function gainsOf(
  keys: readonly string[],
  meta: JsonObject,
  instructions: readonly Instruction[],
): (account: string) => bigint | null {
  const balancesOf = (field: string): ReadonlyMap<string, bigint> =>
    new Map(
      asArray(meta[field] ?? [], field, ACCOUNTS_MAX).map((value) => {
        const row = asObject(value, field);
        const amount = asAmount(asObject(row.uiTokenAmount, 'uiTokenAmount').amount, 'amount');
        return [keys[asCount(row.accountIndex, 'accountIndex')] ?? '', amount] as const;
      }),
    );
  // Computed on first use: most transactions do not need it.
  let balances: readonly [before: ReadonlyMap<string, bigint>, after: ReadonlyMap<string, bigint>] | null =
    null;
  return (account) => {
    balances ??= [balancesOf('preTokenBalances'), balancesOf('postTokenBalances')];
    const [before, after] = balances;
    const touching = instructions.filter(
      ({ program, info }) =>
        TOKEN_PROGRAMS.has(program) &&
        (info.amount !== undefined || info.tokenAmount !== undefined) &&
        [info.source, info.destination, info.account].includes(account),
    );
    const gained = after.get(account);
    return touching.length === 1 && gained !== undefined ? gained - (before.get(account) ?? 0n) : null;
  };
}

interface Instruction {
  /** `2`, or `2:1` for the second inner instruction of the third instruction. */
  readonly place: string;
  readonly program: string;
  readonly type: string;
  readonly info: JsonObject;
}

/** Returns the instruction if the node parsed it; otherwise nothing. */
function readInstruction(value: Json, place: string): readonly Instruction[] {
  const fields = asObject(value, 'instruction');
  const { parsed } = fields;
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return [];
  const { type, info } = parsed as JsonObject;
  if (typeof type !== 'string' || typeof info !== 'object' || info === null) return [];
  return [
    { place, program: asAddressOf('SOL', fields.programId, 'programId'), type, info: asObject(info, 'info') },
  ];
}

function readInstructions(message: JsonObject, meta: JsonObject): readonly Instruction[] {
  const inner = new Map<number, readonly Json[]>();
  for (const value of asArray(meta.innerInstructions ?? [], 'innerInstructions', INSTRUCTIONS_MAX)) {
    const group = asObject(value, 'innerInstructions');
    inner.set(asCount(group.index, 'index'), asArray(group.instructions, 'instructions', INSTRUCTIONS_MAX));
  }
  return asArray(message.instructions, 'instructions', INSTRUCTIONS_MAX).flatMap((value, index) => [
    ...readInstruction(value, String(index)),
    ...(inner.get(index) ?? []).flatMap((each, at) => readInstruction(each, `${index}:${at}`)),
  ]);
}

/** Instruction types of the token programs that move lamports and do not always include the amount. */
const WITHDRAWING: ReadonlySet<string> = new Set(['unwrapLamports', 'withdrawExcessLamports']);

/** Returns whether the node could not parse an instruction of a token program: one such instruction may contain several transfers. */
function hidesTokens(value: Json): boolean {
  const { programId, parsed } = asObject(value, 'instruction');
  return typeof programId === 'string' && TOKEN_PROGRAMS.has(programId) && typeof parsed !== 'object';
}

/** Fields of the payer and the payee in instructions that move lamports, as the node's parser names them. */
const LAMPORT_MOVES: Readonly<Record<string, readonly [from: string, to: string]>> = {
  [`${SYSTEM} transfer`]: ['source', 'destination'],
  [`${SYSTEM} transferWithSeed`]: ['source', 'destination'],
  [`${SYSTEM} createAccount`]: ['source', 'newAccount'],
  [`${SYSTEM} createAccountWithSeed`]: ['source', 'newAccount'],
  [`${SYSTEM} withdrawFromNonce`]: ['nonceAccount', 'destination'],
  [`${STAKE} withdraw`]: ['stakeAccount', 'destination'],
  [`${STAKE} split`]: ['stakeAccount', 'newSplitAccount'],
  [`${VOTE} withdraw`]: ['voteAccount', 'destination'],
};

/** Reads the transfers of a parsed transaction; `isWhole` is false if some effects of the token programs are missing. */
function readTransaction(
  value: JsonObject,
  shared: { readonly blockNumber: number; readonly timestampMs: number },
): HistoryRow & { readonly isWhole: boolean } {
  const height = shared.blockNumber;
  const meta = value.meta === null ? {} : asObject(value.meta, 'meta');
  if (meta.err !== undefined && meta.err !== null) return { height, transfers: [], isWhole: true };
  const transaction = asObject(value.transaction, 'transaction');
  const [signature] = asArray(transaction.signatures, 'signatures', 64);
  const message = asObject(transaction.message, 'message');
  const keys = asArray(message.accountKeys, 'accountKeys', ACCOUNTS_MAX).map((key) =>
    asAddressOf('SOL', asObject(key, 'accountKey').pubkey, 'pubkey'),
  );
  const instructions = readInstructions(message, meta);
  const accounts = tokenAccounts(keys, meta, instructions);
  const inner = asArray(meta.innerInstructions ?? [], 'innerInstructions', INSTRUCTIONS_MAX).flatMap(
    (group) => asArray(asObject(group, 'innerInstructions').instructions, 'instructions', INSTRUCTIONS_MAX),
  );
  let isWhole = ![...asArray(message.instructions, 'instructions', INSTRUCTIONS_MAX), ...inner].some(
    hidesTokens,
  );
  // The first account pays the fee and signs.
  const [sender] = keys;
  const { list, add } = transfersOf('SOL', {
    txHash: asSignature(signature),
    ...shared,
    call: sender === undefined ? null : { sender },
  });
  const account = (info: JsonObject, name: string): string => asAddressOf('SOL', info[name], name);
  const lamports = new Lamports(keys, meta);
  const gainOf = gainsOf(keys, meta, instructions);
  /**
   * Returns the owner of wrapped SOL, which belongs to the owner of its token account: wrapping and unwrapping are not transfers. The
   * lamports of other token accounts are only rent, and belong to the account itself.
   */
  const holderOf = (address: string): string => {
    const account = accounts.get(address);
    return account?.owner != null && WRAPPED.has(account.mint) ? account.owner : address;
  };
  const pay = (position: string, source: string, destination: string, amount: bigint): void => {
    lamports.move(source, destination, amount);
    const [from, to] = [holderOf(source), holderOf(destination)];
    if (from !== to || source === destination) add({ position, from, to, amount });
  };
  for (const { place, program, type, info } of instructions) {
    const position = `ix:${place}`;
    const parties = LAMPORT_MOVES[`${program} ${type}`];
    if (parties !== undefined) {
      const [from, to] = [account(info, parties[0]), account(info, parties[1])];
      pay(position, from, to, asAmount(info.lamports, 'lamports'));
      continue;
    }
    if (!TOKEN_PROGRAMS.has(program)) continue;
    if (type === 'closeAccount') {
      const [closed, to] = [account(info, 'account'), account(info, 'destination')];
      const amount = lamports.of(closed);
      if (amount > 0n) pay(position, closed, to, amount);
      continue;
    }
    if (WITHDRAWING.has(type)) {
      if (info.amount === undefined || info.amount === null) {
        isWhole = false;
        continue;
      }
      const [from, to] = [account(info, 'source'), account(info, 'destination')];
      pay(position, from, to, asAmount(info.amount, 'amount'));
      continue;
    }
    // The checked variants have the amount next to its decimals.
    const amountOf = (): bigint =>
      info.tokenAmount === undefined
        ? asAmount(info.amount, 'amount')
        : asAmount(asObject(info.tokenAmount, 'tokenAmount').amount, 'amount');
    const move = (source: string | null, destination: string | null): void => {
      const sourceAccount = source === null ? undefined : accounts.get(source);
      const taken = destination === null ? undefined : accounts.get(destination);
      const mint = addressOrNull('SOL', info.mint) ?? sourceAccount?.mint ?? taken?.mint ?? null;
      if (mint === null) return;
      const sent = amountOf();
      if (WRAPPED.has(mint) && source !== null && destination !== null)
        lamports.move(source, destination, sent);
      const gained = program === TOKEN_2022 && destination !== null ? gainOf(destination) : null;
      const fee =
        info.feeAmount === undefined
          ? 0n
          : asAmount(asObject(info.feeAmount, 'feeAmount').amount, 'feeAmount');
      if (fee > sent) throw badAnswer('feeAmount', 'at most the amount that was sent');
      const decimals =
        info.tokenAmount === undefined
          ? null
          : decimalsOrNull(asObject(info.tokenAmount, 'tokenAmount').decimals);
      add({
        position,
        from: source === null ? null : (sourceAccount?.owner ?? addressOrNull('SOL', info.authority)),
        to: destination === null ? null : (taken?.owner ?? destination),
        amount: gained !== null && gained > 0n && gained < sent ? gained : sent - fee,
        asset: mint,
        decimals: decimals ?? sourceAccount?.decimals ?? taken?.decimals ?? null,
      });
    };
    if (type === 'transfer' || type === 'transferChecked' || type === 'transferCheckedWithFee')
      move(account(info, 'source'), account(info, 'destination'));
    else if (type === 'mintTo' || type === 'mintToChecked') move(null, account(info, 'account'));
    else if (type === 'burn' || type === 'burnChecked') move(account(info, 'account'), null);
  }
  return { height, transfers: list, isWhole };
}

interface WireBlock {
  readonly hash: string;
  readonly parentHash: string;
  readonly parentSlot: number;
  readonly timestampMs: number;
  readonly transactions: readonly Json[];
}

function readBlock(result: Json): WireBlock | null {
  if (result === null) return null;
  const block = asObject(result, 'block');
  return {
    hash: asBlockhash(block.blockhash, 'blockhash'),
    parentHash: asBlockhash(block.previousBlockhash, 'previousBlockhash'),
    parentSlot: asCount(block.parentSlot, 'parentSlot'),
    timestampMs: block.blockTime === null ? 0 : asSecondsMs(block.blockTime, 'blockTime'),
    transactions: asArray(block.transactions ?? [], 'transactions', BLOCK_TRANSACTIONS_MAX),
  };
}

interface Signature {
  readonly signature: string;
  readonly slot: number;
  readonly failed: boolean;
}

/** Reads the responses of the endpoints. See `ChainReader`. */
class SolanaReader implements ChainReader {
  readonly #pool: EndpointPool;

  readonly #isOwn: boolean;

  constructor(pool: EndpointPool) {
    this.#pool = pool;
    this.#isOwn = pool.endpoints.every(({ own }) => own);
  }

  async #rpc<T>(method: string, params: Json, read: (result: Json) => T, call: Call): Promise<Sourced<T>> {
    const options = { method, params, layouts: LAYOUTS, unavailableCodes: UNAVAILABLE_CODES, read };
    const { value, endpoint } = await rpcCall(this.#pool, options, call);
    return { value, source: endpoint.source, height: null };
  }

  /** Returns the block of a slot: `skipped` if it will never have one, null if it has none yet. */
  async #slotAt(
    slot: number,
    content: 'full' | 'none',
    call: Call,
  ): Promise<Sourced<WireBlock | 'skipped' | null>> {
    const params = [
      slot,
      {
        encoding: 'jsonParsed',
        transactionDetails: content,
        rewards: false,
        commitment: COMMITMENT,
        maxSupportedTransactionVersion: TRANSACTION_VERSION_MAX,
      },
    ];
    try {
      return await this.#rpc('getBlock', params, readBlock, call);
    } catch (error) {
      if (!(error instanceof RpcRefusal)) throw error;
      const source = error.message.split(' refused ')[0] ?? '';
      if (SKIPPED.has(error.rpcCode)) return { value: 'skipped', source, height: null };
      if (NOT_YET.has(error.rpcCode)) return { value: null, source, height: null };
      throw error;
    }
  }

  /** Returns the newest slot at or below `slot` that has a block. */
  async #filledSlot(slot: number, call: Call): Promise<number> {
    const from = Math.max(0, slot - LOOK_BACK_SLOTS);
    const { value } = await this.#rpc(
      'getBlocks',
      [from, slot, { commitment: COMMITMENT }],
      (result) => asArray(result, 'slots', LOOK_BACK_SLOTS + 1).map((each) => asCount(each, 'slot')),
      call,
    );
    const newest = value.at(-1);
    if (newest === undefined || newest > slot || newest < from)
      throw badAnswer('slots', `with one up to ${slot}`);
    return newest;
  }

  async head(call: Call) {
    const { value: slot } = await this.#rpc(
      'getSlot',
      [{ commitment: COMMITMENT }],
      (result) => asCount(result, 'slot'),
      call,
    );
    const height = await this.#filledSlot(slot, call);
    const { value: block, source } = await this.#slotAt(height, 'none', call);
    if (block === null || block === 'skipped') throw badAnswer('block', 'present');
    return { source, height, value: { height, hash: block.hash, timestampMs: block.timestampMs } };
  }

  async block(height: number, call: Call): Promise<Sourced<Block | null>> {
    const sourced = await this.#slotAt(height, 'full', call);
    const { source } = sourced;
    if (sourced.value === null) return { value: null, source, height: null };
    if (sourced.value === 'skipped') {
      const below = await this.#slotAt(await this.#filledSlot(height, call), 'none', call);
      if (below.value === null || below.value === 'skipped') throw badAnswer('block', 'present');
      const { hash, timestampMs } = below.value;
      return {
        source,
        height,
        value: { chain: 'SOL', height, hash, parentHash: hash, timestampMs, transfers: [] },
      };
    }
    const { hash, parentHash, timestampMs, transactions } = sourced.value;
    const rows = transactions.map((value) =>
      readTransaction(asObject(value, 'transaction'), { blockNumber: height, timestampMs }),
    );
    const transfers = rows.flatMap((row) => row.transfers);
    return {
      source,
      height,
      ...(rows.every(({ isWhole }) => isWhole) ? {} : { note: NOT_PARSED }),
      value: {
        chain: 'SOL',
        height,
        hash,
        parentHash: height === 0 ? null : parentHash,
        timestampMs,
        transfers,
      },
    };
  }

  async #rowOf({ signature, slot, failed }: Signature, call: Call): Promise<HistoryRow> {
    if (failed) return { height: slot, transfers: [] };
    const options = {
      encoding: 'jsonParsed',
      commitment: COMMITMENT,
      maxSupportedTransactionVersion: TRANSACTION_VERSION_MAX,
    };
    const { value } = await this.#rpc(
      'getTransaction',
      [signature, options],
      (result) => {
        // A different node behind the same host name may not have it yet.
        if (result === null)
          throw new AssayError('CHAIN_REFUSED', `The node does not have the transaction ${signature}.`);
        const fields = asObject(result, 'transaction');
        if (asCount(fields.slot, 'slot') !== slot) throw badAnswer('slot', 'that of the list');
        const timestampMs =
          fields.blockTime === null || fields.blockTime === undefined
            ? 0
            : asSecondsMs(fields.blockTime, 'blockTime');
        return readTransaction(fields, { blockNumber: slot, timestampMs });
      },
      call,
    );
    return value;
  }

  async balance(address: string, call: Call) {
    const sourced = await this.#rpc(
      'getBalance',
      [address, { commitment: COMMITMENT }],
      (result) => {
        const { context, value } = asObject(result, 'result');
        return {
          balance: asAmount(value, 'value'),
          slot: asCount(asObject(context, 'context').slot, 'slot'),
        };
      },
      call,
    );
    return { ...sourced, value: sourced.value.balance, height: sourced.value.slot };
  }

  readonly transactionCount = null;

  async rows(address: string, { cursor, size, from }: RowsQuery, call: Call): Promise<Sourced<RowsPage>> {
    if (cursor !== null && !/^[1-9A-HJ-NP-Za-km-z]{80,90}$/.test(cursor)) throw invalidCursor();
    const limit = Math.min(size, this.#isOwn ? ROWS_OWN : ROWS_PUBLIC);
    const sourced = await this.#rpc(
      'getSignaturesForAddress',
      [address, { limit, commitment: COMMITMENT, ...(cursor === null ? {} : { before: cursor }) }],
      (result) =>
        asArray(result, 'signatures', limit).map((value): Signature => {
          const row = asObject(value, 'signature');
          return {
            signature: asSignature(row.signature),
            slot: asCount(row.slot, 'slot'),
            failed: row.err !== null && row.err !== undefined,
          };
        }),
      call,
    );
    const wanted = sourced.value.filter(({ slot }) => from === null || slot >= from);
    const rows: HistoryRow[] = [];
    for (let at = 0; at < wanted.length; at += ROWS_AT_ONCE)
      rows.push(
        ...(await Promise.all(wanted.slice(at, at + ROWS_AT_ONCE).map((row) => this.#rowOf(row, call)))),
      );
    const isEnd = sourced.value.length < limit || wanted.length < sourced.value.length;
    const next = isEnd ? null : (sourced.value.at(-1)?.signature ?? null);
    return { ...sourced, note: NOT_LISTED, value: { rows, next } };
  }

  async hashAt(height: number, call: Call) {
    const { value } = await this.#slotAt(height, 'none', call);
    if (value === 'skipped') return (await this.block(height, call)).value?.hash ?? null;
    return value?.hash ?? null;
  }

  // Slots are announced before they are confirmed, so a notification means that it is time to poll, and its slot number is not used.
  onNudge(nudge: () => void) {
    return this.#pool.listen(SLOTS, { onStart: () => nudge(), onNotification: () => nudge() });
  }

  /**
   * Announces transactions that name the address. Those from before the subscription, or from a gap in the connection, may be missed.
   */
  onActivity(address: string, onActivity: () => void) {
    return this.#pool.listen(logsOf(address), {
      onStart: onActivity,
      // The content does not matter: the history is read again and is the source of truth.
      onNotification: onActivity,
    });
  }
}

/** Opens the adapter of Solana. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) =>
  openAccountChain(
    {
      layouts: { balance: LAYOUTS, count: [], history: LAYOUTS, block: LAYOUTS },
      verify,
      pollPublicMs: 2_000,
      socketsOnlyNotify: true,
      reader: (pool) => new SolanaReader(pool),
    },
    options,
    deps,
  );
