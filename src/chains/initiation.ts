/**
 * Describes how the transaction of a transfer was started: by which account, whether it calls the token, and whether the call decodes
 * to this transfer. Shown next to transfers that anyone can forge; it proves nothing about a token that is not in a curated list.
 */
import type { Initiation, Transfer } from './transfer.ts';

/** The fields of a transaction that explain its transfers. */
export interface TransactionCall {
  /** Canonical address of the account that signed it. */
  readonly sender: string;
  /** Canonical address that it calls; null for a contract creation, undefined if the source does not say. */
  readonly called?: string | null | undefined;
  /** Calldata in lower-case hex without 0x; undefined if the source does not say. */
  readonly input?: string | undefined;
}

type Moved = Pick<Transfer, 'from' | 'to' | 'amount' | 'decimals'>;

const WORD = 64;
const SELECTOR = 8;

/** Selectors of the calls that move tokens: ERC-20, ERC-721, and ERC-1155 with a single item. */
const TRANSFER = 'a9059cbb';
const TRANSFER_FROM = '23b872dd';
const SAFE_TRANSFER_FROM = '42842e0e';
const SAFE_TRANSFER_FROM_WITH_DATA = 'b88d4fde';
const SAFE_TRANSFER_FROM_1155 = 'f242432a';

const MOVING: ReadonlySet<string> = new Set([
  TRANSFER,
  TRANSFER_FROM,
  SAFE_TRANSFER_FROM,
  SAFE_TRANSFER_FROM_WITH_DATA,
  SAFE_TRANSFER_FROM_1155,
]);

/** Hex digits of calldata that decide whether it moves a token: a selector and four words. */
export const CALL_DIGITS_READ: number = SELECTOR + 4 * WORD;

/** Returns true if calldata begins with the selector of a call that moves tokens. */
export const movesTokens = (input: string): boolean => MOVING.has(input.slice(0, SELECTOR));

/**
 * Returns true if calldata is a call that moves exactly `moved`.
 *
 * @param input - lower-case hex without 0x
 * @param sender - the account that makes the call
 * @param hexOf - returns the 20 bytes of an address in lower-case hex
 */
function decodesTo(input: string, sender: string, moved: Moved, hexOf: (address: string) => string): boolean {
  const { from, to, amount, decimals } = moved;
  if (from === null || to === null) return false;
  const word = (index: number): string => input.slice(SELECTOR + index * WORD, SELECTOR + (index + 1) * WORD);
  // Only the last 20 bytes of a word are the address; TRON fills the byte before them.
  const isAddress = (index: number, address: string): boolean =>
    word(index).length === WORD && word(index).slice(24) === hexOf(address);
  const isAmount = (index: number): boolean =>
    word(index).length === WORD && word(index) === amount.toString(16).padStart(WORD, '0');
  const isPiece = decimals === 0 && amount === 1n;
  switch (input.slice(0, SELECTOR)) {
    case TRANSFER:
      return sender === from && isAddress(0, to) && isAmount(1);
    case TRANSFER_FROM:
      return isAddress(0, from) && isAddress(1, to) && (isPiece || isAmount(2));
    case SAFE_TRANSFER_FROM:
    case SAFE_TRANSFER_FROM_WITH_DATA:
      return isAddress(0, from) && isAddress(1, to) && isPiece;
    case SAFE_TRANSFER_FROM_1155:
      return isAddress(0, from) && isAddress(1, to) && isAmount(3);
    default:
      return false;
  }
}

const evmHex = (address: string): string => address.slice(2).toLowerCase();

/**
 * Returns how the transaction of a transfer was started.
 *
 * @param transfer - a transfer of the transaction
 * @param call - the transaction
 * @param symbol - the native coin of the chain, which no contract moves
 * @param hexOf - returns the 20 bytes of an address in lower-case hex; default: of an EVM address
 */
export function initiationOf(
  transfer: Moved & Pick<Transfer, 'asset'>,
  call: TransactionCall,
  symbol: string,
  hexOf: (address: string) => string = evmHex,
): Initiation {
  const { sender, called, input } = call;
  if (transfer.asset === symbol || called === undefined) return { sender, callsAsset: null, decodes: null };
  const callsAsset = called === transfer.asset;
  const decodes = !callsAsset
    ? false
    : input === undefined
      ? null
      : decodesTo(input, sender, transfer, hexOf);
  return { sender, callsAsset, decodes };
}
