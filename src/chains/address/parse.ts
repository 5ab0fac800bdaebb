/**
 * Addresses of the 36 chains: text to canonical text, kind and binary key, and back. Only the key writer decides validity;
 * `parseAddress` adds the canonical text and the error message.
 */
import type { ChainRow } from '../chain.ts';
import type { Family } from '../families/descriptor.ts';
import { FAMILIES } from '../families/index.ts';
import { CHAIN_LIMITS } from '../limits.ts';
import { type ChainId, isEvm } from '../registry.ts';
import { AddressError, type AddressFault, type ParsedAddress } from './address.ts';
import type { BatchForm } from './batch-form.ts';
import { type CanonicalForm, canonicalFormOf, isOfForm } from './canonical.ts';
import type { AddressCodec } from './codec.ts';
import { addressFaultOf, CHARACTERS, fault, LENGTH, note, type WriteKey } from './fault.ts';

export { addressFaultOf };

/** A codec with the chain that it reads. */
export interface ChainCodec extends Required<Pick<AddressCodec, 'write' | 'format' | 'hasChecksum'>> {
  readonly chain: ChainRow;
  readonly canonicalForm: CanonicalForm;
  /** The texts that `KeyBatch` reads by its kernel; null if it reads none. */
  readonly batch: BatchForm | null;
}

export type ChainCodecs = Readonly<Record<ChainId, ChainCodec>>;

/** Returns the codec of each chain of the families, by chain id and in the order of the list. */
export function codecsOf(families: readonly Family[] = FAMILIES): ChainCodecs {
  return Object.fromEntries(
    families.flatMap(({ chains, codecs }) =>
      chains.map((chain): [string, ChainCodec] => {
        const codec = codecs[chain.id] as AddressCodec;
        const { write, format, hasChecksum = () => true, batch = null } = codec;
        const canonicalForm = canonicalFormOf(codec);
        return [chain.id, { chain, write, format, hasChecksum, canonicalForm, batch }];
      }),
    ),
  ) as Record<ChainId, ChainCodec>;
}

const CODECS = codecsOf();
const ALL_CODECS = Object.values(CODECS);

/** Returns the texts of a chain that `KeyBatch` reads by its kernel; null if it reads none. */
export const batchFormOf = (chain: ChainId): BatchForm | null => CODECS[chain].batch;

/**
 * Returns the function that `writeAddressKey` calls for a chain, for loops over many addresses. The caller checks the length of each text:
 * 1 to `CHAIN_LIMITS.addressTextMax` bytes.
 */
export const keyWriterOf = (chain: ChainId): WriteKey => CODECS[chain].write;

/** Chain byte, kind byte, and the most bytes that the longest bech32 text can hold; ZEC unified addresses come closest. */
export const maxKeyBytes = 2 + Math.ceil((CHAIN_LIMITS.addressTextMax * 5) / 8);

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
  if (end - start > CHAIN_LIMITS.addressTextMax) return fault(LENGTH, 'is too long');
  if (end <= start) return fault(LENGTH, 'is empty');
  return CODECS[chain].write(bytes, start, end, out, outOffset);
}

/** Zeros after the text let codecs look ahead without bounds checks. */
const scratch = new Uint8Array(CHAIN_LIMITS.addressTextMax + 8);

/** Like `writeAddressKey`, for a string. */
export function writeAddressKeyFromText(
  chain: ChainId,
  text: string,
  out: Uint8Array,
  outOffset: number,
): number {
  return writeKeyOfText(CODECS[chain], text, out, outOffset);
}

function writeKeyOfText(codec: ChainCodec, text: string, out: Uint8Array, outOffset: number): number {
  const length = text.length;
  if (length > CHAIN_LIMITS.addressTextMax) return fault(LENGTH, 'is too long');
  if (length === 0) return fault(LENGTH, 'is empty');
  let seen = 0;
  for (let i = 0; i < length; i++) {
    const unit = text.charCodeAt(i);
    seen |= unit;
    scratch[i] = unit;
  }
  if (seen > 127) return fault(CHARACTERS, 'contains a character that is not ASCII');
  return codec.write(scratch, 0, length, out, outOffset);
}

const keyScratch = new Uint8Array(maxKeyBytes);

/**
 * Parses a text as an address of `chain`.
 *
 * @param field - the name in the error message
 * @throws AddressError; its fault is `chain` if the text is a valid address of another chain
 */
export function parseAddress(
  chain: ChainId,
  text: string,
  field = 'address',
  codecs: ChainCodecs = CODECS,
): ParsedAddress {
  const codec = codecs[chain];
  const length = writeKeyOfText(codec, text, keyScratch, 0);
  if (length < 0) throw addressError(codecs, chain, text, addressFaultOf(length), note.detail, field);
  const { kind, memo } = note;
  const key = keyScratch.slice(0, length);
  const isCanonical = isOfForm(codec.canonicalForm, text.charCodeAt(0), text.charCodeAt(1));
  return { chain, canonical: isCanonical ? text : formatAddressKey(key, chain, codecs), kind, key, memo };
}

function addressError(
  codecs: ChainCodecs,
  chain: ChainId,
  text: string,
  reason: AddressFault,
  detail: string,
  field: string,
): AddressError {
  if (text.trim() !== text) {
    return new AddressError('characters', `${field}: begins or ends with white space.`, field);
  }
  const { name } = codecs[chain].chain;
  const others = chainsOfText(Object.values(codecs), text);
  if (others.length > 0) {
    const [first, second, third] = others;
    const shown =
      others.length > 4 ? `${first}, ${second}, ${third} or another EVM chain` : others.join(' or ');
    return new AddressError(
      'chain',
      `${field}: not a valid ${name} address, but an address of ${shown}.`,
      field,
    );
  }
  return new AddressError(reason, `${field}: not a valid ${name} address: it ${detail}.`, field);
}

/** Returns every chain on which the text is a valid address, in registry order; may be empty. Never throws. */
export const detectChains = (text: string): ChainId[] => chainsOfText(ALL_CODECS, text);

function chainsOfText(codecs: readonly ChainCodec[], text: string): ChainId[] {
  // All EVM chains have the same addresses, and no other chain has one of them.
  const isEvmText = writeKeyOfText(CODECS.ETH, text, keyScratch, 0) > 0;
  const chains: ChainId[] = [];
  for (const codec of codecs) {
    const { id, family } = codec.chain;
    const fits = family === 'evm' ? isEvmText : !isEvmText && writeKeyOfText(codec, text, keyScratch, 0) > 0;
    if (fits) chains.push(id as ChainId);
  }
  return chains;
}

/**
 * Returns the canonical text of a key, for every chain and kind: a key contains the whole payload. Data that a text has in addition to
 * the account (tag, muxed id, payment id, bounce flag) is not part of the key.
 *
 * @throws AddressError if the bytes are not a key of `chain`
 */
export function formatAddressKey(key: Uint8Array, chain: ChainId, codecs: ChainCodecs = CODECS): string {
  const codec = codecs[chain];
  const text = key[0] === codec.chain.keyByte ? codec.format(key[1] as number, key.subarray(2)) : null;
  if (text === null) throw new AddressError('form', `key: is not an address key of ${chain}.`, 'key');
  return text;
}

/**
 * Returns whether a valid address text of the chain is already canonical.
 *
 * @param firstCode - ASCII code of the first character
 * @param secondCode - that of the second one
 */
export const isCanonicalAsGiven = (chain: ChainId, firstCode: number, secondCode: number): boolean =>
  isOfForm(CODECS[chain].canonicalForm, firstCode, secondCode);

/** Returns an address as answers write it: lower case on EVM chains, canonical on all others. */
export const shownAddress = ({ chain, canonical }: Pick<ParsedAddress, 'chain' | 'canonical'>): string =>
  isEvm(chain) ? canonical.toLowerCase() : canonical;

/**
 * Returns whether a valid address text contains a checksum.
 *
 * @param text - a text that `parseAddress` accepts for the chain
 */
export const hasAddressChecksum = (chain: ChainId, text: string): boolean => CODECS[chain].hasChecksum(text);
