/** The address that an answer is about: parsed from the request, and formatted as answers write addresses. */
import type { AddressKey, ParsedAddress } from '../chains/address/address.ts';
import { formatAddressKey, hasAddressChecksum, parseAddress, shownAddress } from '../chains/address/parse.ts';
import { type ChainId, isEvm, parseChainId } from '../chains/registry.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';

/** Offset of the payload of an EVM address in its key, behind chain and kind. */
const EVM_PAYLOAD_AT = 2;

export interface Subject extends ParsedAddress {
  /** EVM in lower case, all others canonical. */
  readonly shown: string;
}

/**
 * Parses chain and address.
 *
 * @param field - the field that errors name
 * @throws UNKNOWN_CHAIN or INVALID_ADDRESS
 */
export function parseSubject(chainText: string, addressText: string, field = 'address'): Subject {
  const parsed = parseAddress(parseChainId(chainText), addressText, field);
  const { chain, canonical, kind, key, memo } = parsed;
  return { chain, canonical, kind, key, memo, shown: shownAddress(parsed) };
}

/** Returns an asset as answers write it: a token of an EVM chain is an address, any other asset its own name. */
export const shownAsset = (chain: ChainId, asset: string): string =>
  isEvm(chain) && asset.startsWith('0x') ? asset.toLowerCase() : asset;

/** Returns true if the given text has a checksum, which has then been verified. */
export const hasChecksum = (subject: Subject, text: string): boolean =>
  hasAddressChecksum(subject.chain, text.trim());

/**
 * Returns the address of a key as answers write it. The canonical text of an EVM address costs a hash, which the lower case would
 * discard.
 */
export const shownKey = (chain: ChainId, key: AddressKey): string =>
  isEvm(chain)
    ? `0x${(Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.length)).toString('hex', EVM_PAYLOAD_AT)}`
    : formatAddressKey(key, chain);

/** Returns the address of a node as answers write it. Answers show the same services and hubs, so their texts are cached. */
export function shownNode(graph: TransferGraph, node: NodeId): string {
  const known = graph.texts?.get(node);
  if (known !== undefined) return known;
  const text = isEvm(graph.chain)
    ? shownKey(graph.chain, graph.peekKey?.(node) ?? graph.keyOf(node))
    : graph.addressOf(node);
  graph.texts?.set(node, text);
  return text;
}
