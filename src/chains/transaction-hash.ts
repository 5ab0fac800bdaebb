/** Forms of transaction hashes: the chains on which a text can be one, and how their transfers write it. */
import { CHAINS, type ChainFamily, type ChainId } from './registry.ts';

interface HashForm {
  readonly pattern: RegExp;
  /** The texts that transfers may have for the hash, the canonical one first. */
  readonly written: (text: string) => readonly string[];
}

const digits = (text: string): string => text.toLowerCase().replace(/^0x/, '');
const prefixed = (text: string): readonly string[] => [`0x${digits(text)}`];
/** Files may have any of these. */
const spellings = (lower: string): readonly string[] => {
  const upper = lower.toUpperCase();
  return [lower, upper, `0x${lower}`, `0x${upper}`];
};
const plain = (text: string): readonly string[] => spellings(digits(text));
/** Explorers of these chains write upper case. */
const upper = (text: string): readonly string[] => {
  const all = spellings(digits(text));
  return [...all.slice(1, 2), ...all.slice(0, 1), ...all.slice(2)];
};
const substrate = (text: string): readonly string[] => [
  `0x${digits(text)}`,
  digits(text),
  digits(text).toUpperCase(),
];
const asGiven = (text: string): readonly string[] => [text];
const base64Digits = (text: string): readonly string[] => [Buffer.from(text, 'base64').toString('hex')];

/** 32 bytes in hexadecimal digits. */
const HEXADECIMAL = /^(?:0x)?[0-9a-f]{64}$/i;

/** The forms of each family. A family without one is left out of every search: its transfers have no hash that a client could know. */
const FORMS: Readonly<Record<ChainFamily, readonly HashForm[]>> = {
  evm: [{ pattern: HEXADECIMAL, written: prefixed }],
  utxo: [{ pattern: HEXADECIMAL, written: plain }],
  tron: [{ pattern: HEXADECIMAL, written: plain }],
  stellar: [{ pattern: HEXADECIMAL, written: plain }],
  cardano: [{ pattern: HEXADECIMAL, written: plain }],
  xrpl: [{ pattern: HEXADECIMAL, written: upper }],
  cosmos: [{ pattern: HEXADECIMAL, written: upper }],
  polkadot: [
    { pattern: HEXADECIMAL, written: substrate },
    // An extrinsic without a hash: height and index.
    { pattern: /^\d{1,10}-\d{1,6}$/, written: asGiven },
  ],
  ton: [
    { pattern: HEXADECIMAL, written: plain },
    // 32 bytes in base 64; the transfers have hexadecimal digits.
    { pattern: /^[A-Za-z0-9+/_-]{43}=$/, written: base64Digits },
  ],
  // 64 bytes in base 58.
  solana: [{ pattern: /^[1-9A-HJ-NP-Za-km-z]{86,88}$/, written: asGiven }],
  // 32 bytes in base 32.
  algorand: [{ pattern: /^[A-Z2-7]{52}$/, written: asGiven }],
  // A prefix and 32 bytes in base 58 with a checksum.
  tezos: [{ pattern: /^o[1-9A-HJ-NP-Za-km-z]{50}$/, written: asGiven }],
  // The chain hides its transfers.
  monero: [],
};

/** A chain on which a text can be a transaction hash. */
export interface HashReading {
  readonly chain: ChainId;
  /** The texts that stored transfers may have for it. */
  readonly texts: readonly string[];
}

/** Returns the chains on which the text can be a transaction hash, in the order of the registry; empty if it has no such form. */
export function hashReadings(text: string): readonly HashReading[] {
  return CHAINS.flatMap(({ id, family }) => {
    const texts = FORMS[family].flatMap(({ pattern, written }) => (pattern.test(text) ? written(text) : []));
    return texts.length === 0 ? [] : [{ chain: id, texts }];
  });
}
