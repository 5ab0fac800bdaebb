/**
 * Writes answers as bytes without building objects; shared by the hot paths. A write that does not fit returns -1 and may have
 * written a part.
 */

import { copyInto, fragment, jsonTextInto } from '../base/byte-text.ts';
import { isCanonicalAsGiven, maxKeyBytes, writeAddressKeyFromText } from '../chains/address/parse.ts';
import { CHAINS, type ChainId, isEvm, parseChainId } from '../chains/registry.ts';
import { type LabelHandle, type LabelReader, NOT_LABELLED } from '../labels/index/reader.ts';
import { parseSubject } from './subject.ts';

/**
 * Writes the JSON text of `data` for an address into `out` at `offset`.
 *
 * @returns the offset behind the text; -1 if it does not fit.
 * @throws UNKNOWN_CHAIN or INVALID_ADDRESS, before anything is written.
 */
export type AnswerWriter = (chainText: string, addressText: string, out: Buffer, offset: number) => number;

/** Returns the fields of an object as JSON without the braces, to be inserted between other fields. */
export const fieldsJson = (fields: object): string => JSON.stringify(fields).slice(1, -1);

/** Upper bound of an answer head: an address of at most a few hundred characters, and the chain. */
const HEAD_BYTES_MAX = 640;

const HEX = Buffer.from('0123456789abcdef', 'latin1');
/** Two hex digits of every byte. */
const HEX_PAIRS = Uint8Array.from(
  { length: 512 },
  (_, at) => HEX[at % 2 === 0 ? at >> 5 : (at >> 1) & 15] as number,
);

/** Start and end of the payload of an EVM address in its key, behind chain and kind. */
const EVM_PAYLOAD_AT = 2;
const EVM_PAYLOAD_END = 22;

const OPEN = fragment('{"address":"');
const OPEN_EVM = fragment('{"address":"0x');
/** The text `","chain":"…",` for every chain. */
const CHAIN_PARTS: ReadonlyMap<ChainId, Buffer> = new Map(
  CHAINS.map(({ id }) => [id, fragment(`","chain":"${id}",`)]),
);
const chainPart = (chain: ChainId): Buffer => CHAIN_PARTS.get(chain) as Buffer;

/** Writes `{"address":"0x…","chain":"…",` for an EVM address, from the bytes of its key. */
export function evmHeadInto(key: Uint8Array, chain: ChainId, out: Buffer, offset: number): number {
  if (offset < 0 || offset + HEAD_BYTES_MAX > out.length) return -1;
  let at = copyInto(OPEN_EVM, out, offset);
  for (let index = EVM_PAYLOAD_AT; index < EVM_PAYLOAD_END; index++) {
    const pair = (key[index] as number) << 1;
    out[at++] = HEX_PAIRS[pair] as number;
    out[at++] = HEX_PAIRS[pair + 1] as number;
  }
  return copyInto(chainPart(chain), out, at);
}

/** Writes the same head for any other address. Canonical addresses contain no character that JSON escapes. */
export function headInto(shown: string, chain: ChainId, out: Buffer, offset: number): number {
  if (offset < 0 || offset + HEAD_BYTES_MAX > out.length) return -1;
  out.set(OPEN, offset);
  const at = jsonTextInto(shown, out, offset + OPEN.length);
  return at < 0 ? -1 : copyInto(chainPart(chain), out, at);
}

/** The result of a head writer; one object, which the next call overwrites. */
export interface AddressLookup {
  chain: ChainId;
  handle: LabelHandle;
  /** The key of the address is `key[0, keyLength)`. */
  key: Uint8Array;
  keyLength: number;
}

/** Returns an empty result for a head writer. */
export const newLookup = (): AddressLookup => ({
  chain: 'ETH',
  handle: NOT_LABELLED,
  key: new Uint8Array(0),
  keyLength: 0,
});

/**
 * Returns a function that parses chain and address, looks the address up in `reader` and writes the head of the answer. It
 * returns the offset behind the head, and stores chain, handle and key in `lookup`. EVM addresses, and addresses that are
 * canonical as given, take a path without allocation.
 */
export function createHeadWriter(
  lookup: AddressLookup,
): (reader: LabelReader, chainText: string, addressText: string, out: Buffer, offset: number) => number {
  const key = new Uint8Array(maxKeyBytes);
  return (reader, chainText, addressText, out, offset) => {
    const chain = parseChainId(chainText);
    lookup.chain = chain;
    if (isEvm(chain)) {
      const length = writeAddressKeyFromText(chain, addressText, key, 0);
      // Parses the address again only to throw the error that says what is wrong with it.
      if (length < 0) parseSubject(chain, addressText);
      lookup.handle = reader.find(key, 0, length);
      lookup.key = key;
      lookup.keyLength = length;
      return evmHeadInto(key, chain, out, offset);
    }
    const length = writeAddressKeyFromText(chain, addressText, key, 0);
    if (length > 0 && isCanonicalAsGiven(chain, addressText.charCodeAt(0), addressText.charCodeAt(1))) {
      lookup.handle = reader.find(key, 0, length);
      lookup.key = key;
      lookup.keyLength = length;
      return headInto(addressText, chain, out, offset);
    }
    const subject = parseSubject(chain, addressText);
    lookup.handle = reader.find(subject.key, 0, subject.key.length);
    lookup.key = subject.key;
    lookup.keyLength = subject.key.length;
    return headInto(subject.shown, chain, out, offset);
  };
}
