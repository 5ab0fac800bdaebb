/** The numbers of the picture of exposure: categories on the left flow into the address, and out of it to categories on the right. */
import { sankey, sankeyJustify, sankeyLinkHorizontal } from 'd3-sankey';
import type { Screening } from './ask.ts';

export interface FlowNode {
  readonly id: string;
  readonly side: 'in' | 'centre' | 'out';
  /** Category; the empty text for the address. */
  readonly category: string;
  /** Percent of the direction. */
  readonly percentage: number;
  readonly box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
}

export interface FlowLink {
  readonly id: string;
  readonly category: string;
  readonly path: string;
  readonly width: number;
}

export interface Flow {
  readonly nodes: readonly FlowNode[];
  readonly links: readonly FlowLink[];
  readonly height: number;
}

interface Node {
  readonly id: string;
  readonly side: FlowNode['side'];
  readonly category: string;
  readonly percentage: number;
}

/** Width of the picture in its own units; it scales with the page. */
export const WIDTH = 900;
/** Room for the words on both sides. */
const MARGIN = 250;
/** Room for the address above its node. */
const TOP = 22;
const NODE_WIDTH = 14;
const NODE_GAP = 12;
/** Height of a category, so that two lines of text fit. */
const ROW = 44;
const HEIGHT_MIN = 140;
/** Smaller shares would be hairlines that nobody sees; the table has them. */
const SHARE_MIN = 0.5;

const sharesOf = (
  record: Readonly<Record<string, number>> | undefined,
): readonly (readonly [string, number])[] =>
  Object.entries(record ?? {})
    .filter(([, share]) => share > 0)
    .toSorted((a, b) => b[1] - a[1]);

/**
 * Lays the picture out. Both sides are drawn by value if the value of both is known, else each side by its shares. The same data gives the
 * same picture.
 *
 * @returns null if nothing moved
 */
export function exposureFlow(data: Screening): Flow | null {
  const received = sharesOf(data.exposureReceiving);
  const sent = sharesOf(data.exposureSending);
  if (received.length + sent.length === 0) return null;
  const inUsd = data.transactionFlow?.inflow.valueUsd ?? null;
  const outUsd = data.transactionFlow?.outflow.valueUsd ?? null;
  const [inScale, outScale] = inUsd && outUsd ? [inUsd / 100, outUsd / 100] : [1, 1];
  const nodes: Node[] = [{ id: 'centre', side: 'centre', category: '', percentage: 100 }];
  const links: { source: string; target: string; value: number; category: string }[] = [];
  const add = (side: 'in' | 'out', shares: typeof received, scale: number): void => {
    for (const [category, share] of shares) {
      const id = `${side} ${category}`;
      nodes.push({ id, side, category, percentage: share });
      const value = Math.max(share, SHARE_MIN) * scale;
      const [source, target] = side === 'in' ? [id, 'centre'] : ['centre', id];
      links.push({ source, target, value, category });
    }
  };
  add('in', received, inScale);
  add('out', sent, outScale);
  const height = Math.max(HEIGHT_MIN, Math.max(received.length, sent.length) * ROW);
  const layout = sankey<Node, { category: string }>()
    .nodeId(({ id }) => id)
    .nodeAlign(sankeyJustify)
    .nodeWidth(NODE_WIDTH)
    .nodePadding(NODE_GAP)
    // The order of the shares: the greatest is at the top.
    .nodeSort(null)
    .extent([
      [MARGIN, TOP],
      [WIDTH - MARGIN, height - 8],
    ]);
  const graph = layout({ nodes: nodes.map((node) => ({ ...node })), links });
  const pathOf = sankeyLinkHorizontal();
  return {
    height,
    nodes: graph.nodes.map(({ id, side, category, percentage, x0 = 0, x1 = 0, y0 = 0, y1 = 0 }) => ({
      id,
      side,
      category,
      percentage,
      box: { x: x0, y: y0, width: x1 - x0, height: Math.max(1, y1 - y0) },
    })),
    links: graph.links.map((link, index) => ({
      id: String(index),
      category: link.category,
      path: pathOf(link as never) ?? '',
      width: Math.max(1, link.width ?? 1),
    })),
  };
}
