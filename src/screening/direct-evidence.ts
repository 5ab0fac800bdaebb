/** What the dealings of an address with its direct counterparties prove: the evidence of the score at one hop. */

import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import { type ExposureEvidence, isRisky, isUnsolicited, reaches } from '../risk/evidence.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { type Attribution, absorbs, type DerivedReading, UNATTRIBUTED } from './attribution.ts';
import { assetsApart, type Party, type Side, type UnpricedDealing } from './counterparties.ts';
import { assetsNotFollowed, type DirectionBasis, directionBasis } from './weighing.ts';

/** A share below this is a rounding error of sums. */
const REST_MIN = 1e-9;

/**
 * Returns true for dealings within the entity that owns the address. They are neutral, because the address's own label says the
 * same. Derived and weak labels do not count as own, and a less certain own label does not hide a more certain one.
 */
export const isOwnDealing = (attribution: Attribution, own: Attribution): boolean =>
  own !== UNATTRIBUTED &&
  attribution.key === own.key &&
  own.isFirm &&
  own.confidence >= attribution.confidence;

export interface EvidenceContext {
  readonly policy: RiskPolicy;
  /** Attribution of the address itself. */
  readonly own: Attribution;
  /** Returns true if the address has sent more than dust to a node. */
  readonly sentTo: (node: NodeId) => boolean;
  readonly derived: DerivedReading;
}

/** How a direct dealing is measured: in USD, or by share of an asset without a price. */
export type Measure = Pick<ExposureEvidence, 'asset' | 'valueUsd' | 'share' | 'flowPart'>;

/** Returns the measure of a share of a direction. Priced value that rounds to nothing counts as 0 USD. */
export function measureOf({ basis, total, unpriced }: DirectionBasis, share: number): Measure {
  const [asset] = unpriced;
  if (basis === 'ASSET' && asset !== undefined)
    return { asset: asset.asset, valueUsd: null, share, flowPart: asset.flowPart };
  return { asset: null, valueUsd: basis === 'USD' ? total * share : 0, share };
}

/** Returns the keys of the labelled parties to which the address sent more than dust. */
function paidParties(sides: readonly Side[], { dustShare }: RiskPolicy): Set<string> {
  const paid = new Set<string>();
  for (const { direction, basis, attributed, unpriced } of sides) {
    if (direction !== 'out') continue;
    const sums = new Map<string, number>();
    for (const { attribution, value } of attributed)
      sums.set(attribution.key, (sums.get(attribution.key) ?? 0) + value);
    for (const [key, value] of sums) if (value > 0 && reaches(value, basis.dust)) paid.add(key);
    for (const { party, asset, share } of unpriced)
      if (reaches(share * asset.flowPart, dustShare)) paid.add(party.attribution.key);
  }
  return paid;
}

/** Returns a function that returns true if an address sent more than dust to another. */
export function createSentTo(
  graph: TransferGraph,
  node: NodeId,
  weighing: Weighing,
): (other: NodeId) => boolean {
  let basis: DirectionBasis | null = null;
  let rates: ReadonlyMap<string, number> = new Map();
  return (other) => {
    if (basis === null) {
      basis = directionBasis(graph, node, 'out', weighing);
      rates = new Map([...basis.rates].map(([asset, rate]) => [graph.assetName(asset), rate]));
    }
    let weight = 0;
    const apart = new Map(assetsApart(basis).map((asset) => [asset.asset, asset]));
    for (const { asset, amount } of graph.edge(node, other)) {
      const moved = Number(amount);
      weight += (rates.get(asset) ?? 0) * moved;
      const unpriced = apart.get(asset);
      if (unpriced === undefined) continue;
      if (reaches((moved / unpriced.amount) * unpriced.flowPart, weighing.dustShare)) return true;
    }
    return weight > 0 && reaches(weight, basis.dust);
  };
}

/**
 * Decides, from all evidence of an address, if assets without a price that it received are unsolicited (`isUnsolicited`). They
 * are, until the address has spent more of them than it has from parties without risk. No one else can spend in its name.
 *
 * @param exposures - all evidence of the address
 * @param unpriced - of the measure of the received value
 */
export function withSpent(
  exposures: readonly ExposureEvidence[],
  { unpriced }: Pick<DirectionBasis, 'unpriced'>,
  policy: RiskPolicy,
): ExposureEvidence[] {
  const isAtRisk = (item: ExposureEvidence): boolean =>
    item.direction === 'in' && item.asset !== null && item.isOwn !== true && isRisky(item.category, policy);
  const risks = new Map<string | null, number>();
  for (const item of exposures)
    if (isAtRisk(item)) risks.set(item.asset, (risks.get(item.asset) ?? 0) + item.share);
  if (risks.size === 0) return [...exposures];
  const spent = new Set<string | null>();
  for (const { asset, flowPart, spentPart } of unpriced)
    if (spentPart > 1 - (risks.get(asset) ?? 0) + policy.dustShare / flowPart) spent.add(asset);
  return exposures.map((item) => {
    if (!isAtRisk(item)) return item;
    const sentBack = item.hops === 1 && item.unsolicited !== true;
    return {
      ...item,
      unsolicited: isUnsolicited({ ...item, sentBack, isSpent: spent.has(item.asset) }, policy),
    };
  });
}

/** Returns the labelled counterparties as evidence, one item for each attribution; unsolicited money is a separate item. */
export function directEvidence(
  sides: readonly Side[],
  { policy, own, sentTo, derived }: EvidenceContext,
): ExposureEvidence[] {
  const paid = paidParties(sides, policy);
  const groups = new Map<string, ExposureEvidence>();
  const add = ({ attribution, direction, node }: Party, measure: Measure): void => {
    const { key, category, confidence, entity, isRisky } = attribution;
    const { asset } = measure;
    const sentBack = paid.has(key) || (isRisky && sentTo(node));
    const isOwn = isOwnDealing(attribution, own);
    // `withSpent` decides later, from all evidence together, if an asset without a price was spent.
    const unsolicited =
      isRisky && isUnsolicited({ direction, hops: 1, ...measure, sentBack, isSpent: false }, policy);
    const name = `${direction} ${unsolicited} ${confidence} ${attribution.class} ${asset} ${key}`;
    const known = groups.get(name);
    groups.set(name, {
      category,
      direction,
      hops: 1,
      asset,
      valueUsd: measure.valueUsd === null ? null : (known?.valueUsd ?? 0) + measure.valueUsd,
      share: (known?.share ?? 0) + measure.share,
      flowPart: measure.flowPart,
      confidence,
      class: attribution.class,
      entity: entity?.name ?? null,
      unsolicited,
      isOwn,
    });
  };
  const rests: ExposureEvidence[] = [];
  for (const side of sides) {
    const { basis, attributed } = side;
    for (const party of attributed) {
      // Money of the other parties is followed further (exposures.ts), so that no value is part of two items.
      if (party.value > 0 && absorbs(party.attribution, derived))
        add(party, measureOf(basis, party.value / basis.total));
    }
    const unpriced = side.unpriced.filter(({ party }) => absorbs(party.attribution, derived));
    for (const { party, asset, share } of unpriced)
      add(party, { asset: asset.asset, valueUsd: null, share, flowPart: asset.flowPart });
    rests.push(...unlabelledRest(side, unpriced));
  }
  return [...groups.values(), ...rests];
}

/** Returns the part of each asset without a price that is not followed and moved without a labelled counterparty. */
function unlabelledRest(
  { direction, basis }: Side,
  unpriced: readonly UnpricedDealing[],
): ExposureEvidence[] {
  return assetsNotFollowed(basis).flatMap(({ asset, flowPart }): ExposureEvidence[] => {
    const labelled = unpriced.filter((dealing) => dealing.asset.asset === asset);
    const share = 1 - labelled.reduce((sum, dealing) => sum + dealing.share, 0);
    if (share <= REST_MIN) return [];
    const unknown = { category: 'UNKNOWN', confidence: 1, class: 'published', entity: null } as const;
    return [{ ...unknown, direction, hops: 1, asset, valueUsd: null, share, flowPart }];
  });
}
