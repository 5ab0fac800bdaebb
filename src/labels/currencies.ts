/** What a publisher's word for a currency or network says of the chain (data/currencies.json). A hint, no more. */
import { readFileSync } from 'node:fs';
import { shippedData } from '../base/paths.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';

export type CurrencyHint =
  /** No word, or an asset of several chains: the address decides alone. */
  | { readonly kind: 'none' }
  | { readonly kind: 'chain'; readonly chain: ChainId }
  /** An EVM network outside the 36: an account is the same account on every EVM chain, a contract is not. */
  | { readonly kind: 'evm-elsewhere'; readonly name: string }
  /** A chain outside the 36, whose addresses mean nothing here even where they look familiar. */
  | { readonly kind: 'elsewhere'; readonly name: string }
  | { readonly kind: 'unknown'; readonly word: string };

export interface Currencies {
  hintOf(word: string | null): CurrencyHint;
  /** The chain that a form shared by several coins means where nothing else is said; the first of `chains` that has a preference. */
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

/** Reads data/currencies.json. */
export function loadCurrencies(path: string = shippedData('currencies.json')): Currencies {
  const file = JSON.parse(readFileSync(path, 'utf8')) as CurrenciesFile;
  const hints = new Map<string, CurrencyHint>();
  for (const [word, name] of Object.entries(file.elsewhere)) hints.set(word, { kind: 'elsewhere', name });
  for (const word of file.evmElsewhere) hints.set(word, { kind: 'evm-elsewhere', name: word });
  for (const word of file.tokens) hints.set(word, NONE);
  for (const chain of CHAINS) {
    const hint: CurrencyHint = { kind: 'chain', chain: chain.id };
    for (const word of file.chains[chain.id]) hints.set(word, hint);
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
