/** The sections of a screening that list or sum up the dealings with direct counterparties. */

import { isoTime } from '../base/clock.ts';
import { addUsd, percent, twoDecimals } from '../base/figures.ts';
import type { AssetFacts } from '../chains/assets.ts';
import { nativeUnits } from '../chains/native-units.ts';
import type { ChainId } from '../chains/registry.ts';
import type { TransferGraph } from '../graph/graph.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import type { Direction, RecentTransfer, TransferReader } from '../graph/transfers.ts';
import { threatOrder } from '../labels/categories.ts';
import type { FlaggedTransaction, ScreeningAnswer, TopCounterparty } from './answers.ts';
import { type Attribution, attributionAt, isBridge } from './attribution.ts';
import { attributedOf, type Party, type Side, scaleOf } from './counterparties.ts';
import { dealingSums, isDustDealing, NO_DEALINGS } from './dust.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { priceOf } from './price-shown.ts';
import { shownAsset, shownNode } from './subject.ts';

type Weighed = Pick<Party, 'value' | 'transfers' | 'node'>;
const byWeight = (a: Weighed, b: Weighed): number =>
  b.value - a.value || b.transfers - a.transfers || a.node - b.node;

/** Returns the parties of all sides, with comparable values. */
function comparable<P extends Pick<Party, 'value'>>(
  sides: readonly Side[],
  partiesOf: (side: Side) => readonly P[],
): P[] {
  const scale = scaleOf(sides.map(({ basis }) => basis));
  const lists = sides.map((side) => {
    const factor = scale(side.basis);
    const parties = partiesOf(side);
    return factor === 1 ? parties : parties.map((party) => ({ ...party, value: party.value * factor }));
  });
  // Not `flatMap`, which adds item by item.
  return ([] as P[]).concat(...lists);
}

/** Returns the counterparties with the greatest value of all sides, at most `screeningListMax`. */
export function topCounterparties(sides: readonly Side[], graph: TransferGraph): TopCounterparty[] {
  return comparable(sides, (side) => side.top)
    .sort(byWeight)
    .slice(0, SCREENING_LIMITS.screeningListMax)
    .map((party) => ({
      address: shownNode(graph, party.node),
      entity: party.attribution.entity,
      category: party.attribution.category,
      threatLevel: party.attribution.entity?.threatLevel ?? null,
      sanctioned: party.attribution.sanctioned,
      direction: party.direction,
      txCount: party.transfers,
      valueUsd: party.valueUsd,
      percentage: twoDecimals(party.percentage),
      firstSeen: isoTime(party.firstSeenMs),
      lastSeen: isoTime(party.lastSeenMs),
    }));
}

interface FlaggedSubject {
  readonly chain: ChainId;
  readonly key: Uint8Array;
  readonly assets: AssetFacts;
  readonly graph: TransferGraph;
  readonly weighing: Weighing;
}

/** Returns true if the party was risky at the time of a transfer. Before its designation it may not have been. */
const isRiskyAt = (attribution: Attribution, timestampMs: number): boolean =>
  attributionAt(attribution, timestampMs).isRisky;

/** Order of what is listed if there is more than a list has: dust is last, sanctioned parties are first, then those of a higher threat. */
function urgencyOf({ entity, sanctioned }: Attribution, isDust: boolean): number {
  if (isDust) return -1;
  return sanctioned ? threatOrder('CRITICAL') + 1 : threatOrder(entity?.threatLevel ?? 'LOW');
}

const byTime = (a: FlaggedTransaction, b: FlaggedTransaction): number =>
  a.timestamp === b.timestamp ? (a.hash < b.hash ? -1 : 1) : a.timestamp < b.timestamp ? 1 : -1;

/**
 * Returns transfers of value with risky parties, newest first, at most `screeningListMax`: the most urgent ones if there are more, or a
 * payment of a sanctioned party would be missing as soon as as many others are newer. Transfers of unknown tokens are no evidence: see
 * spoofable.ts.
 */
export function flaggedTransactions(
  sides: readonly Side[],
  { chain, key, assets, graph, weighing }: FlaggedSubject,
  transfers: Pick<TransferReader, 'newest'>,
): FlaggedTransaction[] {
  const risky = comparable(sides, (side) => side.attributed)
    .filter((party) => party.attribution.isRisky)
    .sort((a, b) => urgencyOf(b.attribution, b.isDust) - urgencyOf(a.attribution, a.isDust) || byWeight(a, b))
    .slice(0, SCREENING_LIMITS.screeningListMax);
  const flagged = risky.flatMap((party) => {
    const { direction, node, attribution } = party;
    const { entity, category, sanctioned } = attribution;
    const other = graph.keyOf(node);
    const [from, to] = direction === 'in' ? [other, key] : [key, other];
    const threat = entity?.threatLevel ?? 'LOW';
    const who = entity === null ? '' : ` (${entity.name})`;
    const counterparty = shownNode(graph, node);
    const newest = transfers
      .newest(chain, from, to, SCREENING_LIMITS.screeningListMax)
      .filter(
        (transfer) =>
          transfer.amount > 0n &&
          weighing.isEvidence(transfer.asset) &&
          isRiskyAt(attribution, transfer.timestampMs),
      );
    const subject = graph.idOf(key);
    const sinceMs = attribution.until?.fromMs ?? 0;
    const sums =
      subject === null
        ? NO_DEALINGS
        : dealingSums(graph, { node: subject, other: node, direction, sinceMs }, weighing);
    const isDust = (transfer: RecentTransfer): boolean => isDustDealing(weighing, transfer, sums);
    const dustText = direction === 'in' ? ': dust, which anybody can send to anybody' : ': dust';
    const rowOf = (transfer: RecentTransfer): FlaggedTransaction => ({
      hash: transfer.txHash,
      timestamp: isoTime(transfer.timestampMs),
      direction,
      counterparty,
      entity,
      category,
      severity: isDust(transfer) || threat === 'SAFE' ? 'LOW' : sanctioned ? 'CRITICAL' : threat,
      asset: shownAsset(chain, transfer.asset),
      amount: nativeUnits(transfer.amount, transfer.decimals),
      decimals: transfer.decimals,
      valueUsd: transfer.valueUsd === null ? null : twoDecimals(transfer.valueUsd),
      ...priceOf(
        { ...transfer, unpricedTransfers: transfer.valueUsd === null ? 1 : 0 },
        { chain, assets, atMs: transfer.timestampMs },
      ),
      reason: `${direction === 'in' ? 'Received from' : 'Sent to'} ${category}${who}${isDust(transfer) ? dustText : ''}.`,
    });
    return newest.map((transfer) => ({
      row: rowOf(transfer),
      urgency: urgencyOf(attribution, isDust(transfer)),
    }));
  });
  return flagged
    .sort((a, b) => b.urgency - a.urgency || byTime(a.row, b.row))
    .slice(0, SCREENING_LIMITS.screeningListMax)
    .map(({ row }) => row)
    .sort(byTime);
}

/** Groups labelled parties by a text. Parties without one are left out. */
function groupParties(
  parties: readonly Party[],
  nameOf: (party: Party) => string | null,
): Map<string, Party[]> {
  const groups = new Map<string, Party[]>();
  for (const party of parties) {
    const name = nameOf(party);
    if (name === null) continue;
    const group = groups.get(name);
    if (group) group.push(party);
    else groups.set(name, [party]);
  }
  return groups;
}

/** Returns the USD sum of parties, in one direction or in both; null if none has a USD value. */
export const usdOf = (parties: readonly Party[], direction?: Direction): number | null =>
  parties
    .filter((party) => direction === undefined || party.direction === direction)
    .reduce<number | null>((sum, { valueUsd }) => addUsd(sum, valueUsd), null);

const valueSum = (parties: readonly { readonly value: number }[]): number =>
  parties.reduce((sum, { value }) => sum + value, 0);

const countOf = (parties: readonly Party[]): number =>
  parties.reduce((sum, { transfers }) => sum + transfers, 0);

/** Returns the countries of the labelled counterparties, greatest value first. Percentages are of all value that moved. */
export function fundFlowJurisdictions(sides: readonly Side[]): ScreeningAnswer['fundFlowJurisdictions'] {
  const scale = scaleOf(sides.map(({ basis }) => basis));
  const total = sides.reduce((sum, { basis }) => sum + basis.total * scale(basis), 0);
  const nameOf = ({ attribution }: Party): string | null => attribution.jurisdiction;
  return [
    ...groupParties(
      comparable(sides, (side) => side.attributed),
      nameOf,
    ),
  ]
    .sort(([nameA, a], [nameB, b]) => valueSum(b) - valueSum(a) || (nameA < nameB ? -1 : 1))
    .map(([jurisdiction, parties]) => ({
      jurisdiction,
      inUsd: usdOf(parties, 'in'),
      outUsd: usdOf(parties, 'out'),
      percentage: twoDecimals(percent(valueSum(parties), total)),
    }));
}

/** Returns the services among the direct counterparties, most recent first. */
export function historicalServices(sides: readonly Side[]): ScreeningAnswer['historicalServices'] {
  const serviceOf = ({ attribution }: Party): string | null =>
    attribution.isService ? attribution.key : null;
  return [...groupParties(attributedOf(sides), serviceOf).values()]
    .flatMap((parties) => {
      const entity = parties[0]?.attribution.entity;
      if (!entity) return [];
      const firstSeenMs = Math.min(...parties.map((party) => party.firstSeenMs));
      const lastSeenMs = Math.max(...parties.map((party) => party.lastSeenMs));
      return [
        {
          name: entity.name,
          category: entity.category,
          firstSeen: isoTime(firstSeenMs),
          lastSeen: isoTime(lastSeenMs),
          txCount: countOf(parties),
          valueUsd: usdOf(parties),
        },
      ];
    })
    .sort((a, b) =>
      a.lastSeen === b.lastSeen ? (a.name < b.name ? -1 : 1) : a.lastSeen < b.lastSeen ? 1 : -1,
    )
    .slice(0, SCREENING_LIMITS.screeningListMax);
}

/** Returns the direct dealings with bridges. */
export function bridgeActivity(sides: readonly Side[]): ScreeningAnswer['bridgeActivity'] {
  const bridges = attributedOf(sides).filter(({ attribution }) => isBridge(attribution));
  return {
    bridges: [...new Set(bridges.flatMap(({ attribution }) => attribution.entity?.name ?? []))].sort(),
    inUsd: usdOf(bridges, 'in'),
    outUsd: usdOf(bridges, 'out'),
    txCount: countOf(bridges),
  };
}
