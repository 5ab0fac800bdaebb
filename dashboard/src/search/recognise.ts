/** Determines the kind of a text in the search box: an address, a name, a hash of a transaction, or a list. */
import { entriesOfTable, entryOf } from './table.ts';

export type Recognised =
  | { readonly kind: 'nothing' }
  /** A valid address, with every chain on which it is one; EVM addresses are valid on all EVM chains. */
  | { readonly kind: 'address'; readonly address: string; readonly chains: readonly string[] }
  /** The form of an EVM address, whose checksum is wrong. */
  | { readonly kind: 'mistyped' }
  /** The form of a transaction hash, which no address has. */
  | { readonly kind: 'hash'; readonly hash: string }
  | { readonly kind: 'ens'; readonly name: string }
  | { readonly kind: 'list'; readonly texts: readonly string[] }
  | { readonly kind: 'name'; readonly name: string };

/** Texts of a list, which are separated by line breaks, commas, semicolons, tabs or quotes. */
const SEPARATORS = /[\r\n,;\t"']+/;
/** 32 bytes in hexadecimal digits, with or without 0x: transactions of EVM chains, UTXO chains, TRX, XRP, XLM, ADA and ATOM. */
const HEX_HASH = /^(?:0x)?[0-9a-f]{64}$/i;
/** 64 bytes in base 58: the signature of a SOL transaction. */
const SOL_HASH = /^[1-9A-HJ-NP-Za-km-z]{86,88}$/;
/** 32 bytes in base 32, base 58 with a prefix, and base 64: transactions of ALGO, XTZ and TON. */
const OTHER_HASHES = /^(?:[A-Z2-7]{52}|o[1-9A-HJ-NP-Za-km-z]{50}|[A-Za-z0-9+/_-]{43}=)$/;
const EVM = /^0x[0-9a-f]{40}$/i;
const ENS = /^[^\s.]+(?:\.[^\s.]+)*\.eth$/i;

/** A list has texts of which at least one is an address: "Smith, John" is a name. */
function listIn(text: string, chainsOf: (text: string) => readonly string[]): readonly string[] | null {
  const entries = entriesOfTable(text, chainsOf);
  if (entries !== null) return [...new Set(entries)];
  const texts = text
    .split(SEPARATORS)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (texts.length < 2) return null;
  return texts.some((part) => chainsOf(entryOf(part, chainsOf).text).length > 0) ? [...new Set(texts)] : null;
}

/**
 * Recognises a text.
 *
 * @param chainsOf - returns the chains on which a text is a valid address, by the parser of the server
 */
export function recognise(input: string, chainsOf: (text: string) => readonly string[]): Recognised {
  const text = input.trim();
  if (text === '') return { kind: 'nothing' };
  const chains = chainsOf(text);
  if (chains.length > 0) return { kind: 'address', address: text, chains };
  const texts = listIn(text, chainsOf);
  if (texts !== null) return { kind: 'list', texts };
  if (EVM.test(text)) return { kind: 'mistyped' };
  if (HEX_HASH.test(text) || SOL_HASH.test(text) || OTHER_HASHES.test(text))
    return { kind: 'hash', hash: text };
  if (ENS.test(text)) return { kind: 'ens', name: text.toLowerCase() };
  return { kind: 'name', name: text.replace(/\s+/g, ' ') };
}
