/** The labels on which exposures rest, as answers show them. Most answers name the same services, so their labels are read once. */
import type { ChainId } from '../chains/registry.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import type { ExposureLabel } from './answers.ts';
import { type Attribution, countedLabelOf } from './attribution.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { shownNode } from './subject.ts';

/** The data that labels are read from. */
export interface LabelsRead {
  readonly graph: TransferGraph;
  readonly reader: LabelReader;
  /** ISO date; null for now. */
  readonly asOf: string | null;
}

/**
 * Returns the label on which the attribution of an address rests; null if no label counts, as for a contract of a known bridge.
 *
 * @returns the same object for the same address while the snapshot stays
 */
export type ShownLabelOf = (read: LabelsRead, node: NodeId, attribution: Attribution) => ExposureLabel | null;

/** Creates the cache of one thread. Labels as of an earlier day, and those before a designation, are read each time. */
export function createShownLabels({ policy }: { readonly policy: RiskPolicy }): ShownLabelOf {
  let heldBy: LabelReader | null = null;
  let size = 0;
  const kept = new Map<
    ChainId,
    { readonly source: string | undefined; readonly labels: Map<NodeId, ExposureLabel | null> }
  >();

  function readLabel(
    { graph, reader, asOf }: LabelsRead,
    node: NodeId,
    attribution: Attribution,
  ): ExposureLabel | null {
    const labels = reader.lookup(graph.keyOf(node), graph.chain);
    const label = countedLabelOf(labels, attribution, { policy, asOf });
    if (label === null) return null;
    const { source, sourceUrl, firstSeen, lastSeen, confidence } = label;
    return { address: shownNode(graph, node), source, sourceUrl, date: lastSeen ?? firstSeen, confidence };
  }

  return (read, node, attribution) => {
    const { graph, reader, asOf } = read;
    if (asOf !== null || attribution.designatedLater !== undefined) return readLabel(read, node, attribution);
    if (heldBy !== reader || size >= SCREENING_LIMITS.shownLabelsKept) {
      kept.clear();
      size = 0;
      heldBy = reader;
    }
    let ofChain = kept.get(graph.chain);
    // The ids of another store are of other addresses.
    if (ofChain === undefined || ofChain.source !== graph.source) {
      size -= ofChain?.labels.size ?? 0;
      ofChain = { source: graph.source, labels: new Map() };
      kept.set(graph.chain, ofChain);
    }
    const { labels } = ofChain;
    const known = labels.get(node);
    if (known !== undefined) return known;
    const found = readLabel(read, node, attribution);
    labels.set(node, found);
    size++;
    return found;
  };
}
