/**
 * Transfers of parsed Solana transactions: lamports, and SPL tokens by the owners of their accounts. Fees, votes and failed transactions
 * are not transfers. Lamports that a program moves directly are in no instruction; the balances before and after show them.
 */
import { PublicKey, StakeProgram, SystemProgram, VoteProgram } from '@solana/web3.js';
import {
  asAmount,
  asArray,
  asCount,
  asObject,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import {
  addressOrNull,
  asAddressOf,
  asPattern,
  decimalsOrNull,
  type HistoryRow,
  transfersOf,
} from '../account-chain.ts';

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

const INSTRUCTIONS_MAX = 2_000;
const ACCOUNTS_MAX = 512;

/** Reads a signature, the id of a transaction. */
export const asSignature = (value: Json | undefined): string =>
  asPattern(value, /^[1-9A-HJ-NP-Za-km-z]{80,90}$/, 'signature');

interface TokenAccount {
  readonly owner: string | null;
  readonly mint: string | null;
  readonly decimals: number | null;
}

const isToken = ({ program }: Instruction): boolean => TOKEN_PROGRAMS.has(program);
const opensAccount = (one: Instruction): boolean => isToken(one) && one.type.startsWith('initializeAccount');
/** Whether an instruction gives a token account with all its tokens to another owner. */
const changesOwner = (one: Instruction): boolean =>
  isToken(one) && one.type === 'setAuthority' && one.info.authorityType === 'accountOwner';

/**
 * The token accounts that a transaction touches, by address, while its instructions run. An owner counts from the instruction on that made it
 * the owner: otherwise anyone could pass tokens through an account, give the account away, and make its new owner look paid.
 */
class TokenAccounts {
  readonly #accounts = new Map<string, TokenAccount>();
  readonly #mintDecimals = new Map<string, number | null>();
  /** Tokens of each account. */
  readonly #amounts = new Map<string, bigint>();

  /**
   * @param isWhole - false if the node could not parse some of the instructions, which may have opened any account
   */
  constructor(
    keys: readonly string[],
    meta: JsonObject,
    instructions: readonly Instruction[],
    isWhole: boolean,
  ) {
    const first = (wanted: (one: Instruction) => boolean, address: string, name: string): string | null => {
      const found = instructions.find(
        (one) => wanted(one) && addressOrNull('SOL', one.info.account) === address,
      );
      return found === undefined ? null : addressOrNull('SOL', found.info[name]);
    };
    for (const field of ['preTokenBalances', 'postTokenBalances'])
      for (const value of asArray(meta[field] ?? [], field, ACCOUNTS_MAX)) {
        const row = asObject(value, field);
        const account = keys[asCount(row.accountIndex, 'accountIndex')];
        if (account === undefined) throw badAnswer('accountIndex', 'that of an account');
        const mint = asAddressOf('SOL', row.mint, 'mint');
        const { decimals, amount } = asObject(row.uiTokenAmount, 'uiTokenAmount');
        this.#mintDecimals.set(mint, decimalsOrNull(decimals));
        if (this.#accounts.has(account)) continue;
        // Balances from before 2021 have no owner.
        const owner = addressOrNull('SOL', row.owner);
        const isBefore = field === 'preTokenBalances';
        this.#accounts.set(account, {
          owner: isBefore
            ? owner
            : (first(opensAccount, account, 'owner') ??
              first(changesOwner, account, 'authority') ??
              (isWhole ? owner : null)),
          mint,
          decimals: decimalsOrNull(decimals),
        });
        if (isBefore) this.#amounts.set(account, asAmount(amount ?? 0, 'amount'));
      }
    // Accounts that are closed again before the end.
    for (const one of instructions) {
      const account = opensAccount(one) ? addressOrNull('SOL', one.info.account) : null;
      if (account !== null && !this.#accounts.has(account)) this.open(one.info);
    }
  }

  of(address: string): TokenAccount | undefined {
    return this.#accounts.get(address);
  }

  amountOf(address: string): bigint {
    return this.#amounts.get(address) ?? 0n;
  }

  open(info: JsonObject): void {
    const account = addressOrNull('SOL', info.account);
    const mint = addressOrNull('SOL', info.mint);
    if (account === null) return;
    const decimals = mint === null ? null : (this.#mintDecimals.get(mint) ?? null);
    this.#accounts.set(account, { owner: addressOrNull('SOL', info.owner), mint, decimals });
    this.#amounts.set(account, 0n);
  }

  setOwner(address: string, owner: string | null): void {
    const account = this.#accounts.get(address);
    if (account !== undefined) this.#accounts.set(address, { ...account, owner });
  }

  move(source: string | null, destination: string | null, sent: bigint, received: bigint): void {
    if (source !== null) this.#amounts.set(source, this.amountOf(source) - sent);
    if (destination !== null) this.#amounts.set(destination, this.amountOf(destination) + received);
  }
}

/**
 * Tracks the lamports of each account while the instructions run: the amount that closing a token account pays out is recorded nowhere
 * else.
 */
class Lamports {
  readonly #balances = new Map<string, bigint>();
  /** Number of accounts whose balances are shown. */
  readonly #counted: number;

  constructor(keys: readonly string[], meta: JsonObject) {
    const before = asArray(meta.preBalances ?? [], 'preBalances', ACCOUNTS_MAX);
    this.#counted = before.length;
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

  /**
   * Returns what changed without an instruction that the node shows: a program can change the lamports of its own accounts directly, and
   * add them to any other. Call it after all instructions.
   *
   * @returns the change of each account that has one; null if the balances are not shown, or if they do not add up
   */
  unexplained(keys: readonly string[], meta: JsonObject): readonly (readonly [string, bigint])[] | null {
    const after = asArray(meta.postBalances ?? [], 'postBalances', ACCOUNTS_MAX);
    if (after.length !== keys.length || this.#counted !== keys.length) return null;
    const fee = asAmount(meta.fee ?? 0, 'fee');
    const changes = keys.map((key, index): readonly [string, bigint] => {
      const paid = index === 0 ? fee : 0n;
      return [key, asAmount(after[index], 'postBalance') + paid - this.of(key)];
    });
    if (changes.reduce((sum, [, change]) => sum + change, 0n) !== 0n) return null;
    return changes.filter(([, change]) => change !== 0n);
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

/**
 * Reads the transfers of a parsed transaction; `isWhole` is false if some effects of the token programs are missing, or if it is not known who
 * paid whom.
 */
export function readTransaction(
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
  const inner = asArray(meta.innerInstructions ?? [], 'innerInstructions', INSTRUCTIONS_MAX).flatMap(
    (group) => asArray(asObject(group, 'innerInstructions').instructions, 'instructions', INSTRUCTIONS_MAX),
  );
  let isWhole = ![...asArray(message.instructions, 'instructions', INSTRUCTIONS_MAX), ...inner].some(
    hidesTokens,
  );
  const accounts = new TokenAccounts(keys, meta, instructions, isWhole);
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
    const account = accounts.of(address);
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
    if (type.startsWith('initializeAccount')) {
      accounts.open(info);
      continue;
    }
    if (type === 'setAuthority' && info.authorityType === 'accountOwner') {
      const given = account(info, 'account');
      const held = accounts.of(given);
      const [from, to] = [held?.owner ?? null, addressOrNull('SOL', info.newAuthority)];
      const amount = accounts.amountOf(given);
      // Instructions that are not shown, or confidential transfers of Token-2022, may have taken tokens out of the account.
      const isKnown = isWhole && program !== TOKEN_2022;
      if (isKnown && amount > 0n && held?.mint != null && from !== to)
        add({ position, from, to, amount, asset: held.mint, decimals: held.decimals });
      accounts.setOwner(given, to);
      continue;
    }
    if (type === 'closeAccount') {
      const [closed, to] = [account(info, 'account'), account(info, 'destination')];
      const amount = lamports.of(closed);
      if (amount > 0n) pay(position, closed, to, amount);
      accounts.move(closed, null, accounts.amountOf(closed), 0n);
      continue;
    }
    if (WITHDRAWING.has(type)) {
      if (info.amount === undefined || info.amount === null) {
        isWhole = false;
        continue;
      }
      const [from, to] = [account(info, 'source'), account(info, 'destination')];
      const amount = asAmount(info.amount, 'amount');
      pay(position, from, to, amount);
      if (type === 'unwrapLamports') accounts.move(from, null, amount, 0n);
      continue;
    }
    // The checked variants have the amount next to its decimals.
    const amountOf = (): bigint =>
      info.tokenAmount === undefined
        ? asAmount(info.amount, 'amount')
        : asAmount(asObject(info.tokenAmount, 'tokenAmount').amount, 'amount');
    const move = (source: string | null, destination: string | null): void => {
      const sourceAccount = source === null ? undefined : accounts.of(source);
      const taken = destination === null ? undefined : accounts.of(destination);
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
      const received = gained !== null && gained > 0n && gained < sent ? gained : sent - fee;
      accounts.move(source, destination, sent, received);
      const decimals =
        info.tokenAmount === undefined
          ? null
          : decimalsOrNull(asObject(info.tokenAmount, 'tokenAmount').decimals);
      add({
        position,
        from: source === null ? null : (sourceAccount?.owner ?? addressOrNull('SOL', info.authority)),
        to: destination === null ? null : (taken?.owner ?? destination),
        amount: received,
        asset: mint,
        decimals: decimals ?? sourceAccount?.decimals ?? taken?.decimals ?? null,
      });
    };
    if (type === 'transfer' || type === 'transferChecked' || type === 'transferCheckedWithFee')
      move(account(info, 'source'), account(info, 'destination'));
    else if (type === 'mintTo' || type === 'mintToChecked') move(null, account(info, 'account'));
    else if (type === 'burn' || type === 'burnChecked') move(account(info, 'account'), null);
  }
  // Hidden instructions of the token programs may have moved lamports as well.
  const direct = isWhole ? (lamports.unexplained(keys, meta) ?? []) : [];
  const payers = direct.filter(([, change]) => change < 0n);
  const payees = direct.filter(([, change]) => change > 0n);
  const onlyPayer = payers.length === 1 ? holderOf(payers[0]?.[0] as string) : null;
  const onlyPayee = payees.length === 1 ? holderOf(payees[0]?.[0] as string) : null;
  // With several on both sides, it is not known who paid whom.
  if (payers.length > 1 && payees.length > 1) isWhole = false;
  const addDirect = (address: string, from: string | null, to: string | null, amount: bigint): void => {
    if (from !== to) add({ position: `balance:${keys.indexOf(address)}`, from, to, amount });
  };
  if (onlyPayer === null)
    for (const [address, change] of payers) addDirect(address, holderOf(address), onlyPayee, -change);
  if (onlyPayer !== null || onlyPayee === null)
    for (const [address, change] of payees) addDirect(address, onlyPayer, holderOf(address), change);
  return { height, transfers: list, isWhole };
}
