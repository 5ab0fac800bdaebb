/** The address an answer is about: read from the caller's text, and written the way answers write addresses. */
import type { ParsedAddress } from '../chains/address/address.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { type ChainFamily, type ChainId, chainOf, isEvm, parseChainId } from '../chains/registry.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';

/** Where the payload of an EVM address begins in its key, behind chain and kind. */
const EVM_PAYLOAD_AT = 2;

export interface Subject extends ParsedAddress {
  /** EVM in lower case, all others canonical. */
  readonly shown: string;
}

/** Reads chain and address; `field` is what errors name. Throws UNKNOWN_CHAIN or INVALID_ADDRESS. */
export function parseSubject(chainText: string, addressText: string, field = 'address'): Subject {
  const parsed = parseAddress(parseChainId(chainText), addressText, field);
  return { ...parsed, shown: shownAddress(parsed) };
}

/** How answers write an address (decisions, "Everywhere"). */
export const shownAddress = ({ chain, canonical }: Pick<ParsedAddress, 'chain' | 'canonical'>): string =>
  isEvm(chain) ? canonical.toLowerCase() : canonical;

/** How answers write an asset: a token of an EVM chain is an address, anything else its own name. */
export const shownAsset = (chain: ChainId, asset: string): string =>
  isEvm(chain) && asset.startsWith('0x') ? asset.toLowerCase() : asset;

/** Families whose texts carry no checksum at all, and those where it depends on the form. All others always carry one. */
const CHECKSUM: Readonly<Partial<Record<ChainFamily, (text: string) => boolean>>> = {
  solana: () => false,
  evm: (text) => /[a-f]/.test(text.slice(2)) && /[A-F]/.test(text.slice(2)),
  // The raw form is workchain and hash in hex; the friendly ones end in a CRC-16.
  ton: (text) => !text.includes(':'),
  // Raw account ids in hex are read beside SS58.
  polkadot: (text) => !text.startsWith('0x'),
};

/** Whether the text that was given carries a checksum, which has then been verified. */
export const hasChecksum = (subject: Subject, text: string): boolean =>
  CHECKSUM[chainOf(subject.chain).family]?.(text.trim()) ?? true;

/** The same of a node. The canonical text of an EVM address costs a hash, which its lower case would throw away. */
export function shownNode(graph: TransferGraph, node: NodeId): string {
  if (!isEvm(graph.chain)) return graph.addressOf(node);
  const key = graph.keyOf(node);
  return `0x${Buffer.from(key.buffer, key.byteOffset, key.length).toString('hex', EVM_PAYLOAD_AT)}`;
}
