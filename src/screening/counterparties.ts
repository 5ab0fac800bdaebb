/** Whom an address traded with, and who they are: the direct exposure, from stored transfers and the label snapshot. */
import { isoTime } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import type { ChainId } from '../chains/registry.ts';
import type { AddressTotals, Counterparty, Direction, Flow, TransferReader } from '../graph/transfers.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import type { Label } from '../labels/label.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { type ExposureEvidence, effectiveUsd } from '../risk/score.ts';
import type {
  EntitySummary,
  Exposure,
  ExposureCategory,
  FlaggedTransaction,
  ScreeningAnswer,
  TopCounterparty,
} from './answers.ts';
import { isDirectHit, isHistory } from './sanctions-detail.ts';
import { type Subject, shownAddress, shownAsset } from './subject.ts';

/** A counterparty with what its labels make of it. */
export interface Party {
  readonly counterparty: Counterparty;
  readonly label: Label | null;
  readonly category: ExposureCategory;
  readonly confidence: number;
  readonly sanctioned: boolean;
  /** Effective USD: unpriced transfers count as the policy says. */
  readonly value: number;
  /** Of all value that moved in its direction, 0 to 100. */
  readonly percentage: number;
}

/** One direction of an address's trade. */
export interface Side {
  readonly direction: Direction;
  readonly flow: Flow;
  readonly parties: readonly Party[];
  /** Effective USD of the whole direction, and of what stands on no listed counterparty. */
  readonly value: number;
  readonly unattributed: Pick<Flow, 'transfers' | 'unpricedTransfers' | 'valueUsd'>;
}

export const twoDecimals = (value: number): number => Math.round(value * 100) / 100;
const percent = (part: number, whole: number): number => (whole > 0 ? (100 * part) / whole : 0);
/** Sum of two figures of which either may be unknown; unknown only where both are. */
export const addUsd = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : twoDecimals((a ?? 0) + (b ?? 0));

export const summaryOf = (label: Label | null): EntitySummary | null =>
  label && { name: label.entity.name, category: label.category, threatLevel: label.threatLevel };

function classify(
  labels: readonly Label[],
  asOf: string | null,
): Omit<Party, 'counterparty' | 'value' | 'percentage'> {
  const label = labels.find((candidate) => !isHistory(candidate, asOf)) ?? null;
  const listed = labels.find((candidate) => candidate.sanctions.some((entry) => isDirectHit(entry, asOf)));
  if (listed) return { label: listed, category: 'SANCTIONED_ENTITY', confidence: 1, sanctioned: true };
  return {
    label,
    category: label?.category ?? 'UNKNOWN',
    confidence: label?.confidence ?? 1,
    sanctioned: false,
  };
}

interface SideOptions {
  readonly chain: ChainId;
  readonly subject: Subject;
  readonly direction: Direction;
  readonly flow: Flow;
  readonly asOf: string | null;
}

interface SideDeps {
  readonly transfers: TransferReader;
  readonly reader: LabelReader;
  readonly policy: RiskPolicy;
}

/** Reads one direction: at most `counterpartiesMax` parties by value; what the rest moved is unattributed. */
export function readSide(options: SideOptions, deps: SideDeps): Side {
  const { chain, subject, direction, flow, asOf } = options;
  const { transfers, reader, policy } = deps;
  const found = transfers.counterparties(chain, subject.key, { direction, limit: LIMITS.counterpartiesMax });
  const value = effectiveUsd(flow, policy);
  const parties = found.map((counterparty): Party => {
    const own = effectiveUsd(counterparty, policy);
    return {
      counterparty,
      ...classify(reader.lookup(counterparty.key, chain), asOf),
      value: own,
      percentage: percent(own, value),
    };
  });
  const sum = (of: (counterparty: Counterparty) => number): number =>
    found.reduce((total, counterparty) => total + of(counterparty), 0);
  const known = flow.valueUsd;
  return {
    direction,
    flow,
    parties,
    value,
    unattributed: {
      transfers: flow.transfers - sum((one) => one.transfers),
      unpricedTransfers: flow.unpricedTransfers - sum((one) => one.unpricedTransfers),
      valueUsd: known === null ? null : Math.max(0, twoDecimals(known - sum((one) => one.valueUsd ?? 0))),
    },
  };
}

const NOTHING: Flow = { transfers: 0, unpricedTransfers: 0, valueUsd: null, byAsset: [] };
export const flowIn = (totals: AddressTotals | null, direction: Direction): Flow =>
  totals?.[direction] ?? NOTHING;

/** What the score is made of: every party, and the unattributed rest as UNKNOWN. */
export function exposureEvidence(sides: readonly Side[]): ExposureEvidence[] {
  return sides.flatMap(({ direction, parties, unattributed }) => [
    ...parties.map(({ counterparty, category, confidence, label }) => ({
      category,
      direction,
      hops: 1,
      valueUsd: counterparty.valueUsd,
      unpricedTransfers: counterparty.unpricedTransfers,
      confidence,
      entity: label?.entity.name ?? null,
    })),
    {
      category: 'UNKNOWN' as const,
      direction,
      hops: 1,
      valueUsd: unattributed.valueUsd,
      unpricedTransfers: unattributed.unpricedTransfers,
      confidence: 1,
      entity: null,
    },
  ]);
}

/** Rounds percentages to two decimals so that they still add up to 100 (largest remainder). Empty where no value moved. */
export function roundedShares<K extends string>(values: ReadonlyMap<K, number>): Partial<Record<K, number>> {
  const total = [...values.values()].reduce((sum, value) => sum + value, 0);
  if (!(total > 0)) return {};
  const rows = [...values]
    .filter(([, value]) => value > 0)
    .map(([name, value]) => {
      const exact = (10_000 * value) / total;
      return { name, whole: Math.floor(exact), rest: exact - Math.floor(exact) };
    })
    .sort((a, b) => b.rest - a.rest || (a.name < b.name ? -1 : 1));
  let left = 10_000 - rows.reduce((sum, row) => sum + row.whole, 0);
  const shares: Partial<Record<K, number>> = {};
  for (const row of rows) shares[row.name] = (row.whole + (left-- > 0 ? 1 : 0)) / 100;
  return shares;
}

/** Category → percentage of the value that moved, the rest under UNKNOWN. */
export function categoryShares({ parties, value }: Side): Partial<Record<ExposureCategory, number>> {
  const byCategory = new Map<ExposureCategory, number>();
  const add = (category: ExposureCategory, more: number): void => {
    byCategory.set(category, (byCategory.get(category) ?? 0) + more);
  };
  for (const party of parties) add(party.category, party.value);
  const rest = value - parties.reduce((sum, party) => sum + party.value, 0);
  // Below a hundredth of a cent it is the rounding of floats.
  if (rest > 1e-4) add('UNKNOWN', rest);
  return roundedShares(byCategory);
}

/** Exposures by category and entity, greatest first. */
export function exposuresOf(side: Side): Exposure[] {
  const groups = new Map<string, Exposure & { value: number }>();
  const add = (party: Pick<Party, 'category' | 'label' | 'value'>, flow: Side['unattributed']): void => {
    const name = `${party.category} ${party.label?.entity.id ?? ''}`;
    const known = groups.get(name);
    const value = (known?.value ?? 0) + party.value;
    groups.set(name, {
      category: party.category,
      entity: known?.entity ?? summaryOf(party.label),
      direction: side.direction,
      type: 'DIRECT',
      percentage: twoDecimals(percent(value, side.value)),
      valueUsd: addUsd(known?.valueUsd ?? null, flow.valueUsd),
      hops: 1,
      txCount: (known?.txCount ?? 0) + flow.transfers,
      unpricedTxCount: (known?.unpricedTxCount ?? 0) + flow.unpricedTransfers,
      value,
    });
  };
  for (const party of side.parties) add(party, party.counterparty);
  if (side.unattributed.transfers > 0) {
    const value = side.value - side.parties.reduce((sum, party) => sum + party.value, 0);
    add({ category: 'UNKNOWN', label: null, value: Math.max(0, value) }, side.unattributed);
  }
  return [...groups.values()]
    .sort((a, b) => b.value - a.value || b.txCount - a.txCount)
    .map(({ value: _, ...exposure }) => exposure);
}

const byWeight = (a: Party, b: Party): number =>
  b.value - a.value || b.counterparty.transfers - a.counterparty.transfers;

const partiesOf = (sides: readonly Side[]): Party[] => sides.flatMap((side) => [...side.parties]);

export function topCounterparties(sides: readonly Side[], chain: ChainId): TopCounterparty[] {
  return partiesOf(sides)
    .sort(byWeight)
    .slice(0, LIMITS.screeningListMax)
    .map(({ counterparty, label, category, sanctioned, percentage }) => ({
      address: shownAddress({ chain, canonical: counterparty.address }),
      entity: summaryOf(label),
      category,
      threatLevel: label?.threatLevel ?? null,
      sanctioned,
      direction: counterparty.direction,
      txCount: counterparty.transfers,
      valueUsd: counterparty.valueUsd,
      percentage: twoDecimals(percentage),
      firstSeen: isoTime(counterparty.firstSeenMs),
      lastSeen: isoTime(counterparty.lastSeenMs),
    }));
}

/** The newest transfers of value with risky parties, newest first. */
export function flaggedTransactions(
  sides: readonly Side[],
  subject: Subject,
  deps: Pick<SideDeps, 'transfers' | 'policy'>,
): FlaggedTransaction[] {
  const { transfers, policy } = deps;
  const { chain, key } = subject;
  const isRisky = (party: Party): boolean =>
    party.sanctioned || (party.category !== 'UNKNOWN' && policy.weights[party.category] >= policy.riskyFrom);
  const risky = partiesOf(sides).filter(isRisky).sort(byWeight).slice(0, LIMITS.screeningListMax);
  const flagged = risky.flatMap((party): FlaggedTransaction[] => {
    const { counterparty, label, category, sanctioned } = party;
    const { direction } = counterparty;
    const [from, to] = direction === 'in' ? [counterparty.key, key] : [key, counterparty.key];
    const threat = label?.threatLevel ?? 'LOW';
    const who = label === null ? '' : ` (${label.entity.name})`;
    return transfers
      .newest(chain, from, to, LIMITS.screeningListMax)
      .filter((transfer) => transfer.amount > 0n)
      .map((transfer) => ({
        hash: transfer.txHash,
        timestamp: isoTime(transfer.timestampMs),
        direction,
        counterparty: shownAddress({ chain, canonical: counterparty.address }),
        entity: summaryOf(label),
        category,
        severity: sanctioned ? 'CRITICAL' : threat === 'SAFE' ? 'LOW' : threat,
        asset: shownAsset(chain, transfer.asset),
        amount: transfer.amount.toString(),
        valueUsd: transfer.valueUsd,
        reason: `${direction === 'in' ? 'Received from' : 'Sent to'} ${category}${who}.`,
      }));
  });
  return flagged
    .sort((a, b) =>
      a.timestamp === b.timestamp ? (a.hash < b.hash ? -1 : 1) : a.timestamp < b.timestamp ? 1 : -1,
    )
    .slice(0, LIMITS.screeningListMax);
}

/** Parties grouped by a text; those without one are left out. */
function groupParties(sides: readonly Side[], nameOf: (party: Party) => string | null): Map<string, Party[]> {
  const groups = new Map<string, Party[]>();
  for (const party of partiesOf(sides)) {
    const name = nameOf(party);
    if (name === null) continue;
    const group = groups.get(name);
    if (group) group.push(party);
    else groups.set(name, [party]);
  }
  return groups;
}

const usdOf = (parties: readonly Party[], direction?: Direction): number | null =>
  parties
    .filter(({ counterparty }) => direction === undefined || counterparty.direction === direction)
    .reduce<number | null>((sum, { counterparty }) => addUsd(sum, counterparty.valueUsd), null);

const valueSum = (parties: readonly { readonly value: number }[]): number =>
  parties.reduce((sum, { value }) => sum + value, 0);

const countOf = (parties: readonly Party[]): number =>
  parties.reduce((sum, { counterparty }) => sum + counterparty.transfers, 0);

/** Countries of the labelled counterparties, greatest value first; percentages are of all value that moved. */
export function fundFlowJurisdictions(sides: readonly Side[]): ScreeningAnswer['fundFlowJurisdictions'] {
  const total = valueSum(sides);
  return [...groupParties(sides, ({ label }) => label?.entity.jurisdiction ?? null)]
    .sort(([nameA, a], [nameB, b]) => valueSum(b) - valueSum(a) || (nameA < nameB ? -1 : 1))
    .map(([jurisdiction, parties]) => ({
      jurisdiction,
      inUsd: usdOf(parties, 'in'),
      outUsd: usdOf(parties, 'out'),
      percentage: twoDecimals(percent(valueSum(parties), total)),
    }));
}

/** Services among the direct counterparties, most recent first. */
export function historicalServices(
  sides: readonly Side[],
  policy: RiskPolicy,
): ScreeningAnswer['historicalServices'] {
  const serviceOf = ({ label }: Party): string | null =>
    label && policy.services.has(label.category) ? `${label.category} ${label.entity.name}` : null;
  return [...groupParties(sides, serviceOf).values()]
    .flatMap((parties) => {
      const label = parties[0]?.label;
      if (!label) return [];
      const firstSeenMs = Math.min(...parties.map(({ counterparty }) => counterparty.firstSeenMs));
      const lastSeenMs = Math.max(...parties.map(({ counterparty }) => counterparty.lastSeenMs));
      return [
        {
          name: label.entity.name,
          category: label.category,
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
    .slice(0, LIMITS.screeningListMax);
}

export function bridgeActivity(sides: readonly Side[]): ScreeningAnswer['bridgeActivity'] {
  const groups = groupParties(sides, ({ category, label }) =>
    category === 'BRIDGE' ? (label?.entity.name ?? null) : null,
  );
  const parties = [...groups.values()].flat();
  return {
    bridges: [...groups.keys()].sort(),
    inUsd: usdOf(parties, 'in'),
    outUsd: usdOf(parties, 'out'),
    txCount: countOf(parties),
  };
}

/** Direct dealings with darknet markets. What stands behind further hops is not read here: null. */
export function darknetExposure(sides: readonly Side[]): ScreeningAnswer['darknetExposure'] {
  const groups = groupParties(sides, ({ category, label }) =>
    category === 'DARKNET_MARKET' ? (label?.entity.name ?? null) : null,
  );
  const parties = [...groups.values()].flat();
  const total = valueSum(sides);
  return {
    direct: total > 0 && parties.length === 0 ? 0 : usdOf(parties),
    indirect: null,
    percentage: total > 0 ? twoDecimals(percent(valueSum(parties), total)) : null,
    markets: [...groups.keys()].sort(),
  };
}
