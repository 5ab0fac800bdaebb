/**
 * Finds wallet addresses in the prose of a list (remarks, other information, statements of
 * reasons). A pattern finds candidates, and the address checks of the chains decide, so that
 * passport, phone and registration numbers, hashes and words are not taken for wallets.
 */

import { detectChains } from '../chains/address/parse.ts';
import { CHAIN_LIMITS } from '../chains/limits.ts';
import type { ChainId } from '../chains/registry.ts';
import type { SourceRecord } from './records.ts';

export interface FoundWallet {
  readonly address: string;
  /** The currency or chain that the text names before the address, as the lists abbreviate it; null if it names none that fits. */
  readonly currency: string | null;
}

/**
 * Matches runs of address characters: the shortest address has 25 (BTC, XRP). A scheme is included only if the chain's form has one;
 * TON's user-friendly form has `-` and `_`, its raw form a workchain.
 */
const CANDIDATE =
  /(?<![A-Za-z0-9])(?:[EU]Q[A-Za-z0-9_-]{46}|(?:-1|0):[0-9a-fA-F]{64}|(?:bitcoincash|xrpl|ethereum):[A-Za-z0-9]{25,}|[A-Za-z0-9]{25,})(?![A-Za-z0-9])/g;

interface Currency {
  readonly symbol: string;
  readonly words: RegExp;
  /** Chains with this native currency; null for a token that exists on many chains. */
  readonly chains: readonly ChainId[] | null;
}

const CURRENCIES: readonly Currency[] = [
  { symbol: 'XBT', words: /\b(?:xbt|btc|bitcoins?)\b/gi, chains: ['BTC'] },
  { symbol: 'BCH', words: /\b(?:bch|bitcoin cash)\b/gi, chains: ['BCH'] },
  { symbol: 'BSV', words: /\b(?:bsv|bitcoin sv)\b/gi, chains: ['BSV'] },
  { symbol: 'LTC', words: /\b(?:ltc|litecoin)\b/gi, chains: ['LTC'] },
  { symbol: 'DOGE', words: /\b(?:doge|dogecoin)\b/gi, chains: ['DOGE'] },
  { symbol: 'DASH', words: /\bDASH\b|\bDash\b/g, chains: ['DASH'] },
  { symbol: 'ZEC', words: /\b(?:zec|zcash)\b/gi, chains: ['ZEC'] },
  { symbol: 'ETH', words: /\b(?:eth|ether|ethereum|erc-?20)\b/gi, chains: ['ETH'] },
  { symbol: 'ETC', words: /\b(?:ETC|ethereum classic)\b/g, chains: ['ETC'] },
  { symbol: 'BSC', words: /\b(?:bsc|bnb|binance smart chain|bep-?20)\b/gi, chains: ['BSC'] },
  { symbol: 'ARB', words: /\b(?:ARB|[Aa]rbitrum)\b/g, chains: ['ARBITRUM'] },
  { symbol: 'MATIC', words: /\b(?:MATIC|[Pp]olygon)\b/g, chains: ['POLYGON'] },
  { symbol: 'TRX', words: /\b(?:trx|tron|trc-?20)\b/gi, chains: ['TRON'] },
  { symbol: 'SOL', words: /\b(?:SOL|[Ss]olana)\b/g, chains: ['SOL'] },
  { symbol: 'XRP', words: /\b(?:xrp|ripple)\b/gi, chains: ['XRP'] },
  { symbol: 'XLM', words: /\b(?:xlm|stellar)\b/gi, chains: ['XLM'] },
  { symbol: 'ADA', words: /\b(?:ADA|[Cc]ardano)\b/g, chains: ['ADA'] },
  { symbol: 'DOT', words: /\b(?:DOT|[Pp]olkadot)\b/g, chains: ['DOT'] },
  { symbol: 'TON', words: /\bTON\b|\bToncoin\b/g, chains: ['TON'] },
  { symbol: 'XMR', words: /\b(?:xmr|monero)\b/gi, chains: ['XMR'] },
  { symbol: 'ATOM', words: /\b(?:ATOM|[Cc]osmos)\b/g, chains: ['ATOM'] },
  { symbol: 'ALGO', words: /\b(?:ALGO|[Aa]lgorand)\b/g, chains: ['ALGO'] },
  { symbol: 'XTZ', words: /\b(?:xtz|tezos)\b/gi, chains: ['XTZ'] },
  { symbol: 'USDT', words: /\b(?:usdt|tether)\b/gi, chains: null },
  { symbol: 'USDC', words: /\busdc\b/gi, chains: null },
];

const SPEAKS_OF_CRYPTO =
  /\b(?:wallets?|crypto\w*|digital (?:currency|asset)|virtual (?:currency|asset)|blockchain|stablecoin|solana|SOL|toncoin|TON)\b/i;

/** Returns the distinct wallets of a text, in the order of first mention. */
export function findWallets(text: string): FoundWallet[] {
  const found = new Map<string, FoundWallet>();
  for (const { candidate, at } of candidatesOf(text)) {
    if (found.has(candidate)) continue;
    const chains = detectChains(candidate);
    if (chains.length === 0 || (isUnchecked(candidate, chains) && !isPlausible(text, candidate, at)))
      continue;
    found.set(candidate, { address: candidate, currency: currencyBefore(text.slice(0, at), chains) });
  }
  return [...found.values()];
}

/**
 * Yields the party, then a reject for each run of characters in its remarks that looks like a wallet but is valid on no chain. A run
 * looks like a wallet if it is `0x` and 30 to 50 hexadecimal digits, or if the text is about crypto-assets. This makes a misprint in
 * the list visible.
 */
export function* withUnreadableWallets<List extends string>(
  record: SourceRecord<List>,
): Generator<SourceRecord<List>, void, undefined> {
  yield record;
  if (record.type !== 'party' || record.remarks === null) return;
  const seen = new Set<string>();
  for (const { candidate, at } of candidatesOf(record.remarks)) {
    if (seen.has(candidate)) continue;
    seen.add(candidate);
    const hasTheLook = /^0x[0-9a-fA-F]{30,50}$/.test(candidate) || isPlausible(record.remarks, candidate, at);
    if (!hasTheLook || detectChains(candidate).length > 0) continue;
    yield {
      type: 'reject',
      reason: 'Looks like a wallet address, but is not valid on any supported chain.',
      text: candidate.slice(0, 500),
      entityId: record.entityId,
      provenance: record.provenance,
    };
  }
}

function* candidatesOf(text: string): Generator<{ readonly candidate: string; readonly at: number }> {
  for (const match of text.matchAll(CANDIDATE)) {
    const [candidate] = match;
    if (candidate.length <= CHAIN_LIMITS.addressTextMax && looksDrawn(candidate))
      yield { candidate, at: match.index };
  }
}

/** Words have no digits, numbers have no letters, and a bare run of hexadecimal digits is a hash or a serial number. */
const looksDrawn = (candidate: string): boolean =>
  /\d/.test(candidate) && /[A-Za-z]/.test(candidate) && !/^[0-9a-fA-F]+$/.test(candidate);

/** Address forms without a checksum, which other texts can match by chance: Solana's, and TON's raw form. */
const isUnchecked = (candidate: string, chains: readonly ChainId[]): boolean =>
  chains.every((chain) => chain === 'SOL') || /^(?:-1|0):/.test(candidate);

/** Returns whether the text is about crypto-assets, and the run is neither part of a URL nor all in one letter case. */
function isPlausible(text: string, candidate: string, at: number): boolean {
  const insideUrl = /[/=?&.#]/.test(text[at - 1] ?? '') || /[/=&]/.test(text[at + candidate.length] ?? '');
  const drawnFromBothCases =
    candidate.includes(':') ||
    (/[a-z]/.test(candidate) && /[A-Z]/.test(candidate)) ||
    /^[a-z]{2,8}1/.test(candidate);
  return !insideUrl && drawnFromBothCases && SPEAKS_OF_CRYPTO.test(text);
}

/** Returns the last currency named before the address. It is a token, or native to one of the address's possible chains. */
function currencyBefore(before: string, chains: readonly ChainId[]): string | null {
  let best: { readonly at: number; readonly symbol: string } | null = null;
  for (const { symbol, words, chains: native } of CURRENCIES) {
    if (native !== null && !native.some((chain) => chains.includes(chain))) continue;
    for (const match of before.matchAll(words)) {
      // "Bitcoin Cash" matches "Bitcoin" at the same position; the longer name comes later in the table, so it wins.
      if (best === null || match.index >= best.at) best = { at: match.index, symbol };
    }
  }
  return best?.symbol ?? null;
}
