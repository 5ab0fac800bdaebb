/** The collecting wallets of exchanges on a chain: addresses that labels attribute to one entity with high confidence. */
import { createHash } from 'node:crypto';
import type { AddressKey } from '../../chains/address/address.ts';
import type { ChainId } from '../../chains/registry.ts';
import {
  createNeighbourColumns,
  type NeighbourColumns,
  type NodeId,
  type TransferGraph,
} from '../../graph/graph.ts';
import { isDerived } from '../../labels/evidence-class.ts';
import type { LabelReader } from '../../labels/index/reader.ts';
import type { Label, LabelTemplate } from '../../labels/label.ts';
import type { Category } from '../../labels/taxonomy.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';

/** Services that give each customer an address of their own. */
const DEPOSIT_SERVICES: ReadonlySet<Category> = new Set([
  'EXCHANGE',
  'HIGH_RISK_EXCHANGE',
  'P2P_EXCHANGE',
  'INSTANT_EXCHANGE',
  'CUSTODIAN',
  'PAYMENT_PROCESSOR',
]);

/** An entity with collecting wallets, and the label that the rule repeats for its deposit addresses. */
export type AnchorEntity = Pick<
  LabelTemplate,
  'entity' | 'category' | 'threatLevel' | 'confidence' | 'source'
>;

export interface Anchors {
  /** Number of the entity (from 1) by node; absent for every other address. */
  readonly byNode: ReadonlyMap<number, number>;
  /** By number minus one, ordered by id. */
  readonly entities: readonly AnchorEntity[];
  /** Changes if a wallet or its entity changes: accounts are then judged again. */
  readonly fingerprint: string;
}

const isWanted = (label: LabelTemplate & Partial<Pick<Label, 'class'>>): boolean =>
  DEPOSIT_SERVICES.has(label.category) &&
  label.confidence >= ATTRIBUTION_LIMITS.anchorConfidenceMin &&
  !(label.class !== undefined && isDerived(label.class));

/**
 * Returns the label that names the owner of a wallet; null if it is no collecting wallet. A label that contradicts it, and any sanction,
 * leaves the owner open.
 */
function ownerOf(labels: readonly Label[]): Label | null {
  const [first] = labels;
  if (first === undefined || !isWanted(first) || isDerived(first.class)) return null;
  const others = labels.filter(({ class: evidence }) => !isDerived(evidence));
  const isOne = others.every(({ entity, confidence }) => entity.id === first.entity.id || confidence < 0.5);
  return isOne ? first : null;
}

interface Wallet {
  readonly node: NodeId;
  readonly label: Label;
}

/** Returns how many addresses outside of its entity a wallet paid, as far as `anchorReceiversMin` needs it. */
function outsidersPaid(
  graph: TransferGraph,
  node: NodeId,
  own: ReadonlySet<NodeId>,
  columns: NeighbourColumns,
): number {
  const enough = ATTRIBUTION_LIMITS.anchorReceiversMin;
  const surely = graph.degree(node, 'out') - own.size;
  if (surely >= enough) return surely;
  const count = graph.neighbours(node, 'out', enough + own.size, columns);
  let outsiders = 0;
  for (let at = 0; at < count; at++) if (!own.has(columns.ids[at] as number)) outsiders++;
  return outsiders;
}

/** Returns whether a wallet has enough senders with few receivers that also pay one of `established`. */
function sharesSenders(
  graph: TransferGraph,
  node: NodeId,
  established: ReadonlySet<NodeId>,
  columns: NeighbourColumns,
): boolean {
  const count = graph.neighbours(node, 'in', ATTRIBUTION_LIMITS.anchorSendersRead, columns);
  const senders = columns.ids.slice(0, count);
  let shared = 0;
  for (const sender of senders) {
    if (graph.degree(sender, 'out') > ATTRIBUTION_LIMITS.depositReceiversMax) continue;
    const paid = graph.neighbours(sender, 'out', ATTRIBUTION_LIMITS.depositReceiversMax, columns);
    let pays = false;
    for (let at = 0; at < paid && !pays; at++) pays = established.has(columns.ids[at] as number);
    if (pays && ++shared === ATTRIBUTION_LIMITS.anchorSendersShared) return true;
  }
  return false;
}

/**
 * Returns the wallets of one entity that collect payments of its customers. Publishers also list addresses that customers pay into, under
 * the name of the entity: those only forward to the entity's wallets, and their payers are no customers. A wallet counts if it pays enough
 * addresses outside of the entity, as hot wallets do, or if deposit addresses rotate between it and such a wallet.
 */
function collecting(graph: TransferGraph, wallets: readonly Wallet[]): Wallet[] {
  const own = new Set(wallets.map(({ node }) => node));
  const columns = createNeighbourColumns(
    Math.max(ATTRIBUTION_LIMITS.anchorReceiversMin + own.size, ATTRIBUTION_LIMITS.anchorSendersRead),
  );
  const isEstablished = ({ node }: Wallet): boolean =>
    outsidersPaid(graph, node, own, columns) >= ATTRIBUTION_LIMITS.anchorReceiversMin;
  const established = new Set(wallets.filter(isEstablished).map(({ node }) => node));
  if (established.size === 0) return [];
  return wallets.filter(
    ({ node }) => established.has(node) || sharesSenders(graph, node, established, columns),
  );
}

/**
 * Reads the collecting wallets from a label snapshot. Only those with transfers and enough senders count, and no addresses that a customer
 * pays into (`collecting`).
 */
export function readAnchors(chain: ChainId, graph: TransferGraph, labels: LabelReader): Anchors {
  const wallets = new Map<string, Wallet[]>();
  labels.eachLabelled(chain, isWanted, (key) => {
    const label = ownerOf(labels.lookup(key as AddressKey, chain));
    if (label === null) return;
    const node = graph.idOf(Buffer.from(key) as unknown as AddressKey);
    if (node === null || graph.degree(node, 'in') < ATTRIBUTION_LIMITS.anchorSendersMin) return;
    const { id } = label.entity;
    const known = wallets.get(id);
    if (known === undefined) wallets.set(id, [{ node, label }]);
    else known.push({ node, label });
  });
  const found = [...wallets.values()].flatMap((own) => collecting(graph, own));
  const entities = new Map<string, AnchorEntity>();
  for (const { label } of found) {
    const { entity, category, threatLevel, confidence, source } = label;
    const known = entities.get(entity.id);
    if (
      known === undefined ||
      known.confidence < confidence ||
      (known.confidence === confidence && source < known.source)
    )
      entities.set(entity.id, { entity, category, threatLevel, confidence, source });
  }
  const ids = [...entities.keys()].sort();
  const numberOf = new Map(ids.map((id, at) => [id, at + 1]));
  found.sort((a, b) => a.node - b.node);
  const byNode = new Map(found.map(({ node, label }) => [node, numberOf.get(label.entity.id) as number]));
  const digest = createHash('sha256');
  for (const [node, number] of byNode) digest.update(`${node} ${ids[number - 1]}\n`);
  return {
    byNode,
    entities: ids.map((id) => entities.get(id) as AnchorEntity),
    fingerprint: digest.digest('hex'),
  };
}
