/** Sizes and words of the picture, the same on the screen and in files. */

import { plainText } from '../../ui/plain-text.ts';
import { type RiskLevel, riskShape } from '../../ui/RiskBadge.tsx';
import { shorten } from '../../ui/shorten.ts';
import { categoryCode } from './codes.ts';
import type { Place } from './layout.ts';
import type { ViewEdge, ViewNode } from './view.ts';

/** Pixels between two columns: room for a name and an arrow. */
export const COLUMN_PX = 230;
/** Pixels between two rows. */
export const ROW_PX = 30;
/** Radius of a node. */
export const RADIUS = 10;

export const xOf = ({ column }: Place): number => column * COLUMN_PX;
export const yOf = ({ row }: Place): number => row * ROW_PX;

/** Characters of a name beside its node. */
const LABEL_CHARS = 24;

/** Halves of a pair, and what no file of XML may contain. */
const UNSAFE = /[\uFFFE\uFFFF]|\p{Cs}/gu;

/** Returns a text that changes nothing around it and hides nothing, cut to a length. */
export function cutText(text: string, max: number): string {
  const plain = plainText(text.slice(0, max + 1)).replace(UNSAFE, '');
  return plain.length > max ? `${plain.slice(0, max)}…` : plain;
}

/** The level whose shape and colour a node has; null for a group. */
export const levelOf = ({ node }: ViewNode): RiskLevel | null =>
  node === null ? null : node.sanctioned ? 'CRITICAL' : riskShape(node.threatLevel ?? 'UNKNOWN');

/** The letters in a node. */
export const codeOf = ({ node }: ViewNode): string => (node === null ? '+' : categoryCode(node.category));

/**
 * The words beside a node.
 *
 * @param more - writes the number of addresses of a group, such as `+412 more`
 */
export function labelOf({ id, node, count }: ViewNode, more: (count: number) => string): string {
  if (node === null) return more(count);
  return node.name === null ? shorten(id) : cutText(node.name, LABEL_CHARS);
}

/** Thickness of an edge in pixels: its order of magnitude, from 1 to 5. No price is the thinnest. */
export const thicknessOf = ({ usd }: ViewEdge): number =>
  Math.min(5, 1 + Math.max(0, Math.log10(Math.max(1, usd)) - 2) * 0.7);
