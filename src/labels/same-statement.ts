/** Whether two records of a publisher say the same, so that labels need not be made again. */
import type { AttributedAddress } from '../sources/records.ts';

/** Facts of a record that decide its labels. The address decides the chain, and nothing else. */
const DECIDING = [
  ...(['currency', 'actorId', 'actorName', 'confidence', 'jurisdiction', 'url', 'isContract'] as const),
  ...(['verified', 'sourceUrl', 'category', 'threatLevel', 'sanctions'] as const),
] as const;

const sameTexts = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((text, at) => text === others[at]);

/** Returns whether two records give the same labels to addresses of one chain. */
export const statesTheSame = (one: AttributedAddress, other: AttributedAddress): boolean =>
  DECIDING.every((fact) => one[fact] === other[fact]) &&
  sameTexts(one.concepts, other.concepts) &&
  sameTexts(one.tags, other.tags);
