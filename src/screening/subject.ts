/** The address that an answer is about: parsed from the request, and formatted as answers write addresses. */
import type { ParsedAddress } from '../chains/address/address.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { type ChainFamily, type ChainId, chainOf, isEvm, parseChainId } from '../chains/registry.ts';
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
  return { ...parsed, shown: shownAddress(parsed) };
}

/** Returns an address as answers write it (decisions, "Everywhere"). */
export const shownAddress = ({ chain, canonical }: Pick<ParsedAddress, 'chain' | 'canonical'>): string =>
  isEvm(chain) ? canonical.toLowerCase() : canonical;

/** Returns an asset as answers write it: a token of an EVM chain is an address, any other asset its own name. */
export const shownAsset = (chain: ChainId, asset: string): string =>
  isEvm(chain) && asset.startsWith('0x') ? asset.toLowerCase() : asset;

/** Families with addresses that have no checksum, or have one only in some forms. In all other families they always have one. */
const CHECKSUM: Readonly<Partial<Record<ChainFamily, (text: string) => boolean>>> = {
  solana: () => false,
  evm: (text) => /[a-f]/.test(text.slice(2)) && /[A-F]/.test(text.slice(2)),
  // The raw form is workchain and hash in hex; the friendly forms end in a CRC-16.
  ton: (text) => !text.includes(':'),
  // Raw account ids in hex are accepted beside SS58.
  polkadot: (text) => !text.startsWith('0x'),
};

/** Returns true if the given text has a checksum, which has then been verified. */
export const hasChecksum = (subject: Subject, text: string): boolean =>
  CHECKSUM[chainOf(subject.chain).family]?.(text.trim()) ?? true;

/**
 * Returns the address of a node as answers write it. The canonical text of an EVM address costs a hash, which the lower case
 * would discard.
 */
export function shownNode(graph: TransferGraph, node: NodeId): string {
  if (!isEvm(graph.chain)) return graph.addressOf(node);
  const key = graph.keyOf(node);
  return `0x${Buffer.from(key.buffer, key.byteOffset, key.length).toString('hex', EVM_PAYLOAD_AT)}`;
}
