/** The chain that a publisher's word for a currency or network points to (data/currencies.json). It is only a hint. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';

export type CurrencyHint =
  /** No word, or an asset that exists on several chains: only the address decides. */
  | { readonly kind: 'none' }
  | { readonly kind: 'chain'; readonly chain: ChainId }
  /** An EVM network outside the 36 chains: an account is the same account on every EVM chain, a contract is not. */
  | { readonly kind: 'evm-elsewhere'; readonly name: string }
  /** A chain outside the 36: its addresses are rejected even if they have the form of a supported chain. */
  | { readonly kind: 'elsewhere'; readonly name: string }
  | { readonly kind: 'unknown'; readonly word: string };

export interface Currencies {
  hintOf(word: string | null): CurrencyHint;
  /** The default chain for an address form that several coins share: the first of the preferred chains that is in `chains`. */
  preferred(chains: readonly ChainId[]): ChainId | null;
}

interface CurrenciesFile {
  readonly chains: Readonly<Record<ChainId, readonly string[]>>;
  readonly tokens: readonly string[];
  readonly evmElsewhere: readonly string[];
  readonly elsewhere: Readonly<Record<string, string>>;
  readonly preference: readonly ChainId[];
}

const NONE: CurrencyHint = { kind: 'none' };

/**
 * Reads data/currencies.json.
 *
 * @throws INVALID_FILE if a chain has no entry
 */
export function loadCurrencies(path: string = shippedData('currencies.json')): Currencies {
  const file = JSON.parse(readFileSync(path, 'utf8')) as CurrenciesFile;
  const hints = new Map<string, CurrencyHint>();
  for (const [word, name] of Object.entries(file.elsewhere)) hints.set(word, { kind: 'elsewhere', name });
  for (const word of file.evmElsewhere) hints.set(word, { kind: 'evm-elsewhere', name: word });
  for (const word of file.tokens) hints.set(word, NONE);
  for (const chain of CHAINS) {
    const hint: CurrencyHint = { kind: 'chain', chain: chain.id };
    const words: readonly string[] | undefined = file.chains[chain.id];
    if (words === undefined)
      throw new AssayError('INVALID_FILE', `${path}: chains.${chain.id} must be an array of words.`, {
        field: `chains.${chain.id}`,
      });
    for (const word of words) hints.set(word, hint);
    hints.set(chain.id.toLowerCase(), hint);
    hints.set(chain.caip2.toLowerCase(), hint);
  }
  return {
    hintOf(word) {
      if (word === null || word.trim() === '') return NONE;
      return hints.get(word.trim().toLowerCase()) ?? { kind: 'unknown', word: word.trim().slice(0, 32) };
    },
    preferred: (chains) => file.preference.find((chain) => chains.includes(chain)) ?? null,
  };
}
