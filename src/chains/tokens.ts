/**
 * The curated token list: data/tokens.json and the operator's own file. A transfer of a listed token is evidence; transfers of any
 * other token can be forged by anyone in the name of others. docs/decisions/evidence.md.
 */
import { readFileSync, statSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import { parseAddress } from './address/parse.ts';
import type { AssetFacts } from './assets.ts';
import { CHAIN_LIMITS } from './limits.ts';
import { readOwnTable } from './own-table.ts';
import { type ChainId, chainOf, isEvm, parseChainId } from './registry.ts';

/** One token of the list. */
export interface KnownToken {
  readonly chain: ChainId;
  /** As in a Transfer: the canonical address of the contract. */
  readonly asset: string;
  /** As in its source; never used to recognize a token. */
  readonly symbol: string;
  readonly decimals: number | null;
  /** Publisher's URL; null for a row of the operator. */
  readonly sourceUrl: string | null;
  /** ISO date of the source; null for a row of the operator. */
  readonly date: string | null;
}

export interface TokenList extends Pick<AssetFacts, 'isKnown' | 'decimalsOf'> {
  readonly tokens: readonly KnownToken[];
}

interface TokensFile {
  readonly sources: readonly { readonly url: string; readonly date: string }[];
  readonly rows: readonly (readonly [ChainId, string, string, number, number])[];
}

/**
 * Returns the form in which transfers name a token.
 *
 * @param text - the contract's address in any valid form (EVM, TRON, Solana, TON), `CUR.issuer` with any form of the currency (XRP),
 *   else the chain's own form
 * @throws INVALID_ADDRESS if the chain names tokens by address and the text is not an address
 */
export function canonicalAsset(chain: ChainId, text: string): string {
  const { symbol } = chainOf(chain);
  if (text.toUpperCase() === symbol) return symbol;
  // The id of a TRC-10 token is a number.
  if (chain === 'TRON' && /^\d{1,20}$/.test(text)) return text;
  if (chain === 'XRP') return xrpAsset(text);
  return isEvm(chain) || chain === 'TRON' || chain === 'SOL' || chain === 'TON'
    ? parseAddress(chain, text, 'asset').canonical
    : text;
}

/** Normalizes an XRP asset as nodes return it: currencies of three characters unchanged, longer ones as 40 hex digits. */
function xrpAsset(text: string): string {
  const at = text.indexOf('.');
  const [currency, issuer] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 0 || currency.length <= 3) return text;
  const isHex = /^[0-9A-Fa-f]{40}$/.test(currency);
  const isCode = /^[\x21-\x7e]{4,20}$/.test(currency);
  const hex = isHex
    ? currency
    : isCode
      ? Buffer.from(currency, 'latin1').toString('hex').padEnd(40, '0')
      : null;
  return hex === null ? text : `${hex.toUpperCase()}.${issuer}`;
}

/** Like `canonicalAsset`, for text from a file: returns the text unchanged if it does not name a valid token of the chain. */
export function assetInFile(chain: ChainId, text: string): string {
  // The coin is named only by the symbol itself.
  if (text.toUpperCase() === chainOf(chain).symbol) return text;
  try {
    return canonicalAsset(chain, text);
  } catch (error) {
    if (error instanceof AssayError && error.code === 'INVALID_ADDRESS') return text;
    throw error;
  }
}

/** Maximum length of a symbol in the operator's list; the longest in the built-in list has 30 characters. */
const SYMBOL_CHARS_MAX = 64;
/** Control and formatting characters, including direction marks: symbols are shown in responses, terminals and logs. */
const UNSHOWABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

function symbolOf(text: string): string {
  if (text.length > SYMBOL_CHARS_MAX)
    throw new AssayError(
      'INVALID_FILE',
      `symbol: must have at most ${SYMBOL_CHARS_MAX} characters, and has ${text.length}.`,
    );
  if (UNSHOWABLE.test(text))
    throw new AssayError(
      'INVALID_FILE',
      'symbol: must not have control, formatting or unassigned characters.',
    );
  return text;
}

/** Setting that names the operator's list. */
const SETTING = 'ASSAY_TOKENS_FILE';

const OWN_COLUMNS = ['chain', 'asset', 'symbol', 'decimals'] as const;
type OwnColumn = (typeof OWN_COLUMNS)[number];

function readOwnRow(cell: (column: OwnColumn) => string): KnownToken {
  const chain = parseChainId(cell('chain'));
  const text = cell('asset');
  if (text === '' || text.length > CHAIN_LIMITS.addressTextMax)
    throw new AssayError('INVALID_FILE', `asset: must have 1 to ${CHAIN_LIMITS.addressTextMax} characters.`);
  if (UNSHOWABLE.test(text))
    throw new AssayError(
      'INVALID_FILE',
      'asset: must not have control, formatting or unassigned characters.',
    );
  const asset = canonicalAsset(chain, text);
  if (asset === chainOf(chain).symbol)
    throw new AssayError('INVALID_FILE', `asset: ${asset} is the chain's own coin, which is always known.`);
  const digits = cell('decimals');
  if (!/^\d{0,2}$/.test(digits) || Number(digits) > 77)
    throw new AssayError('INVALID_FILE', 'decimals: must be a whole number from 0 to 77, or empty.');
  const decimals = digits === '' ? null : Number(digits);
  return { chain, asset, symbol: symbolOf(cell('symbol')), decimals, sourceUrl: null, date: null };
}

/**
 * Reads the operator's list. Any invalid line is an error, because a misread token affects every verdict.
 *
 * @throws INVALID_FILE with the setting and the line number
 */
function readOwnTokens(path: string): KnownToken[] {
  const found = statSync(path, { throwIfNoEntry: false });
  const refuse = (reason: string): AssayError =>
    new AssayError('INVALID_FILE', `${SETTING}: ${path} ${reason}`, { field: SETTING });
  if (found?.isFile() !== true) throw refuse('is not a file.');
  if (found.size > CHAIN_LIMITS.ownTokensBytesMax)
    throw refuse(`has more than ${CHAIN_LIMITS.ownTokensBytesMax} bytes.`);
  return readOwnTable(readFileSync(path, 'utf8'), {
    name: `${SETTING}: ${path}`,
    setting: SETTING,
    columns: OWN_COLUMNS,
    required: ['chain', 'asset'],
    readRow: readOwnRow,
  });
}

function readShipped(): KnownToken[] {
  const { sources, rows } = JSON.parse(readFileSync(shippedData('tokens.json'), 'utf8')) as TokensFile;
  return rows.map(([chain, asset, symbol, decimals, source]) => ({
    chain,
    asset,
    symbol,
    decimals,
    sourceUrl: sources[source]?.url ?? null,
    date: sources[source]?.date ?? null,
  }));
}

/**
 * Loads the list of tokens with transfers that are evidence.
 *
 * @param options.ownFile - CSV of the operator (`chain,asset[,symbol][,decimals]`); null if not configured
 * @throws INVALID_FILE with the line number of an invalid row in the operator's file
 */
export function loadTokenList(options: { readonly ownFile?: string | null } = {}): TokenList {
  const { ownFile = null } = options;
  const tokens = [...readShipped(), ...(ownFile === null ? [] : readOwnTokens(ownFile))];
  const byChain = new Map<ChainId, Map<string, number | null>>();
  for (const { chain, asset, decimals } of tokens) {
    const assets = byChain.get(chain) ?? new Map<string, number | null>();
    assets.set(asset, assets.get(asset) ?? decimals);
    byChain.set(chain, assets);
  }
  return {
    tokens,
    isKnown: (chain, asset) => asset === chainOf(chain).symbol || byChain.get(chain)?.has(asset) === true,
    decimalsOf: (chain, asset) => byChain.get(chain)?.get(asset) ?? null,
  };
}
