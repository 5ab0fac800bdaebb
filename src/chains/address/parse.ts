/**
 * Addresses of the 36 chains: text to canonical text, kind and binary key, and back. Only the key writer decides validity;
 * `parseAddress` adds the canonical text and the error message.
 */
import { LIMITS } from '../../base/limits.ts';
import { CHAINS, type ChainId, chainOf } from '../registry.ts';
import {
  formatAlgo,
  formatAtom,
  formatDot,
  formatSol,
  formatTon,
  formatTron,
  formatXlm,
  formatXrp,
  formatXtz,
  writeAlgoKey,
  writeAtomKey,
  writeDotKey,
  writeSolKey,
  writeTonKey,
  writeTronKey,
  writeXlmKey,
  writeXrpKey,
  writeXtzKey,
} from './accounts.ts';
import { AddressError, type AddressFault, type ParsedAddress } from './address.ts';
import { formatAda, writeAdaKey } from './cardano.ts';
import { formatEvm, writeEvmKey } from './evm.ts';
import { addressFaultOf, CHARACTERS, fault, LENGTH, note, type WriteKey } from './fault.ts';
import { formatXmr, writeXmrKey } from './monero.ts';
import {
  formatBch,
  formatBsv,
  formatBtc,
  formatDash,
  formatDoge,
  formatLtc,
  formatZec,
  writeBchKey,
  writeBsvKey,
  writeBtcKey,
  writeDashKey,
  writeDogeKey,
  writeLtcKey,
  writeZecKey,
} from './utxo.ts';

export { addressFaultOf };

interface Codec {
  readonly write: WriteKey;
  /** Canonical text of a payload; null for a kind byte that the chain does not have. */
  readonly format: (kindByte: number, payload: Uint8Array) => string | null;
}

const EVM_CODEC: Codec = {
  write: writeEvmKey,
  format: (kindByte, payload) => (kindByte === 1 && payload.length === 20 ? formatEvm(payload) : null),
};

/** The chains outside the EVM family, by id. */
const OWN_CODECS: { readonly [id: string]: Codec } = {
  BTC: { write: writeBtcKey, format: formatBtc },
  LTC: { write: writeLtcKey, format: formatLtc },
  DOGE: { write: writeDogeKey, format: formatDoge },
  DASH: { write: writeDashKey, format: formatDash },
  ZEC: { write: writeZecKey, format: formatZec },
  BCH: { write: writeBchKey, format: formatBch },
  BSV: { write: writeBsvKey, format: formatBsv },
  SOL: { write: writeSolKey, format: formatSol },
  TRON: { write: writeTronKey, format: formatTron },
  XRP: { write: writeXrpKey, format: formatXrp },
  XLM: { write: writeXlmKey, format: formatXlm },
  ADA: { write: writeAdaKey, format: formatAda },
  DOT: { write: writeDotKey, format: formatDot },
  TON: { write: writeTonKey, format: formatTon },
  XMR: { write: writeXmrKey, format: formatXmr },
  ATOM: { write: writeAtomKey, format: formatAtom },
  ALGO: { write: writeAlgoKey, format: formatAlgo },
  XTZ: { write: writeXtzKey, format: formatXtz },
};

const CODECS = Object.fromEntries(
  CHAINS.map((chain) => [chain.id, OWN_CODECS[chain.id] ?? EVM_CODEC]),
) as Record<ChainId, Codec>;

/** Chain byte, kind byte, and the most bytes that the longest bech32 text can hold; ZEC unified addresses come closest. */
export const maxKeyBytes = 2 + Math.ceil((LIMITS.addressTextMax * 5) / 8);

/**
 * Parses the address at `bytes[start, end)` (ASCII) and writes its key to `out[outOffset]`, which must have `maxKeyBytes` free. Accepts
 * exactly the texts that `parseAddress` accepts. On a fault, some bytes after `outOffset` may have been written. Allocates only for
 * texts with a memo, and for the hashes of DOT, ALGO and ZEC unified addresses.
 *
 * @returns the length of the key, or a negative number for `addressFaultOf`
 */
export function writeAddressKey(
  chain: ChainId,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  outOffset: number,
): number {
  if (end - start > LIMITS.addressTextMax) return fault(LENGTH, 'is too long');
  if (end <= start) return fault(LENGTH, 'is empty');
  return CODECS[chain].write(bytes, start, end, out, outOffset);
}

/** Zeros after the text let codecs look ahead without bounds checks. */
const scratch = new Uint8Array(LIMITS.addressTextMax + 8);

/** Like `writeAddressKey`, for a string. */
export function writeAddressKeyFromText(
  chain: ChainId,
  text: string,
  out: Uint8Array,
  outOffset: number,
): number {
  const length = text.length;
  if (length > LIMITS.addressTextMax) return fault(LENGTH, 'is too long');
  if (length === 0) return fault(LENGTH, 'is empty');
  let seen = 0;
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    seen |= unit;
    scratch[i] = unit;
  }
  if (seen > 127) return fault(CHARACTERS, 'holds a character that is not ASCII');
  return CODECS[chain].write(scratch, 0, length, out, outOffset);
}

const keyScratch = new Uint8Array(maxKeyBytes);

/**
 * Parses a text as an address of `chain`.
 *
 * @param field - the name in the error message
 * @throws AddressError; its fault is `chain` if the text is a valid address of another chain
 */
export function parseAddress(chain: ChainId, text: string, field = 'address'): ParsedAddress {
  const length = writeAddressKeyFromText(chain, text, keyScratch, 0);
  if (length < 0) throw addressError(chain, text, addressFaultOf(length), note.detail, field);
  const { kind, memo } = note;
  const key = keyScratch.slice(0, length);
  return { chain, canonical: formatAddressKey(key, chain), kind, key, memo };
}

function addressError(
  chain: ChainId,
  text: string,
  found: AddressFault,
  detail: string,
  field: string,
): AddressError {
  if (text.trim() !== text) {
    return new AddressError('characters', `${field}: begins or ends with white space.`, field);
  }
  const { name } = chainOf(chain);
  const others = detectChains(text);
  if (others.length > 0) {
    const [first, second, third] = others;
    const shown =
      others.length > 4 ? `${first}, ${second}, ${third} or another EVM chain` : others.join(' or ');
    return new AddressError('chain', `${field}: is no ${name} address, but of ${shown}.`, field);
  }
  return new AddressError(found, `${field}: is no ${name} address: it ${detail}.`, field);
}

/** Returns every chain on which the text is a valid address, in registry order; may be empty. Never throws. */
export function detectChains(text: string): ChainId[] {
  const isEvm = writeAddressKeyFromText('ETH', text, keyScratch, 0) > 0;
  const chains: ChainId[] = [];
  for (const { id, family } of CHAINS) {
    const fits = family === 'evm' ? isEvm : !isEvm && writeAddressKeyFromText(id, text, keyScratch, 0) > 0;
    if (fits) chains.push(id);
  }
  return chains;
}

/**
 * Returns the canonical text of a key, for every chain and kind: a key contains the whole payload. Data that a text has in addition to
 * the account (tag, muxed id, payment id, bounce flag) is not part of the key.
 *
 * @throws AddressError if the bytes are not a key of `chain`
 */
export function formatAddressKey(key: Uint8Array, chain: ChainId): string {
  const text =
    key[0] === chainOf(chain).keyByte ? CODECS[chain].format(key[1] as number, key.subarray(2)) : null;
  if (text === null) throw new AddressError('form', `key: is not an address key of ${chain}.`, 'key');
  return text;
}
