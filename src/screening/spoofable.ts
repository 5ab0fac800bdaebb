/**
 * Transfers in the history of an address that anyone could have added: of tokens that are on no curated list, or of no amount.
 * They never score. If a label names the counterparty, or its address is a look-alike, the transfer is shown with the chain's
 * data about its transaction. See docs/decisions/evidence.md.
 */

import { isoTime } from '../base/clock.ts';
import { shownAddress } from '../chains/address/parse.ts';
import type { AssetFacts } from '../chains/assets.ts';
import { nativeUnits } from '../chains/native-units.ts';
import type { ChainId } from '../chains/registry.ts';
import { createNeighbourColumns, type NodeId } from '../graph/graph.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type {
  AddressTotals,
  AddressTransfer,
  Direction,
  MovedValue,
  RecentTransfer,
  TransferReader,
} from '../graph/transfers.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import type { Reason, SpoofableTransfer } from './answers.ts';
import type { Place } from './assess.ts';
import { type Attribution, UNATTRIBUTED } from './attribution.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { realCounterparties, spoofKindOf } from './poisoning.ts';
import { type Subject, shownAsset, shownNode } from './subject.ts';

export interface SpoofingOptions {
  readonly subject: Pick<Subject, 'chain' | 'key'>;
  readonly place: Place | null;
  readonly totals: AddressTotals | null;
}

export interface SpoofingDeps {
  readonly transfers: Pick<TransferReader, 'recent' | 'newest' | 'counterparties'>;
  readonly assets: Pick<AssetFacts, 'isKnown'>;
  readonly policy: RiskPolicy;
}

export interface Spoofing {
  /** Newest first. */
  readonly transfers: readonly SpoofableTransfer[];
  /** All of severity LOW. */
  readonly reasons: readonly Reason[];
}

const NOTHING: Spoofing = { transfers: [], reasons: [] };
/** Maximum number of address pairs that reasons name. */
const PAIRS_NAMED = 3;

/** A transfer as the address sees it. */
interface Seen {
  readonly transfer: RecentTransfer;
  readonly direction: Direction;
  /** The counterparty, as answers write it. */
  readonly shown: string;
  readonly attribution: Attribution;
  readonly kind: SpoofableTransfer['kind'];
}

/** Returns the kind of a transfer that proves nothing, or moved almost nothing; null for all others. */
function kindOf(
  transfer: MovedValue,
  chain: ChainId,
  { assets, policy }: SpoofingDeps,
): SpoofableTransfer['kind'] | null {
  const kind = spoofKindOf(chain, transfer, assets);
  if (kind !== null) return kind;
  return transfer.valueUsd !== null && transfer.valueUsd < policy.dustUsd ? 'DUST' : null;
}

interface RiskyDealing {
  readonly node: NodeId;
  readonly direction: Direction;
  readonly attribution: Attribution;
}

/**
 * Returns risky counterparties with which something without a price moved, in directions with unknown tokens: the riskiest of
 * those that are read.
 */
function riskyDealings(
  { subject, totals, place }: SpoofingOptions & { readonly place: Place },
  { assets }: SpoofingDeps,
): RiskyDealing[] {
  const { graph, node, attributions } = place;
  const directions = (['out', 'in'] as const).filter((direction) =>
    totals?.[direction].byAsset.some(({ asset }) => !assets.isKnown(subject.chain, asset)),
  );
  if (directions.length === 0) return [];
  const columns = createNeighbourColumns(SCREENING_LIMITS.spoofingCounterpartiesRead);
  const found = directions.flatMap((direction) => {
    const count = graph.neighbours(node, direction, SCREENING_LIMITS.spoofingCounterpartiesRead, columns);
    const dealings: RiskyDealing[] = [];
    for (let at = 0; at < count; at++) {
      // All of it was priced and worth something, so it was no unknown token.
      if (columns.unpriced[at] === 0 && (columns.valueUsd[at] as number) > 0) continue;
      const attribution = attributions.of(columns.ids[at] as number);
      if (attribution.isRisky) dealings.push({ node: columns.ids[at] as number, direction, attribution });
    }
    return dealings;
  });
  return found
    .sort((a, b) => b.attribution.points - a.attribution.points)
    .slice(0, SCREENING_LIMITS.screeningListMax);
}

/** Returns the newest transfers, and the newest with the riskiest counterparties, which newer spam may have displaced. */
function seenTransfers(
  options: SpoofingOptions & { readonly place: Place },
  recent: readonly AddressTransfer[],
  deps: SpoofingDeps,
): Seen[] {
  const { subject, place } = options;
  const { transfers } = deps;
  const { chain, key } = subject;
  const { graph, attributions } = place;
  const found = new Map<string, Seen>();
  const add = (seen: Seen): void => {
    found.set(`${seen.direction} ${seen.transfer.txHash} ${seen.transfer.position}`, seen);
  };
  for (const transfer of recent) {
    const { counterparty, direction } = transfer;
    const kind = kindOf(transfer, chain, deps);
    if (kind === null || counterparty === null) continue;
    const { node } = counterparty;
    if (node === place.node) continue;
    add({
      transfer,
      direction,
      shown: shownNode(graph, node),
      attribution: attributions.of(node),
      kind,
    });
  }
  for (const { node, direction, attribution } of riskyDealings(options, deps)) {
    const other = graph.keyOf(node);
    const shown = shownNode(graph, node);
    const [from, to] = direction === 'in' ? [other, key] : [key, other];
    for (const transfer of transfers.newest(chain, from, to, SCREENING_LIMITS.screeningListMax)) {
      const kind = kindOf(transfer, chain, deps);
      if (kind === null) continue;
      add({ transfer, direction, shown, attribution, kind });
    }
  }
  return [...found.values()];
}

/** Returns true if the address itself signed the transaction; null if its source does not say. */
const holderSent = ({ transfer, direction }: Seen): boolean | null =>
  transfer.initiation && transfer.initiation.sender === (direction === 'out' ? 'FROM' : 'TO');

const newestFirst = (a: SpoofableTransfer, b: SpoofableTransfer): number =>
  a.timestamp === b.timestamp ? (a.hash < b.hash ? -1 : 1) : a.timestamp < b.timestamp ? 1 : -1;

function reasonsOf(rows: readonly SpoofableTransfer[], risky: readonly Seen[]): Reason[] {
  const reasons: Reason[] = [];
  const base = { severity: 'LOW', source: null, verified: true } as const;
  const [worst] = [...risky].sort((a, b) => b.attribution.points - a.attribution.points);
  if (worst !== undefined) {
    const { category, entity } = worst.attribution;
    const name = entity === null ? category : `${entity.name} (${category})`;
    reasons.push({
      ...base,
      code: 'SPOOFABLE_TRANSFER',
      category,
      message:
        `${risky.length} ${risky.length === 1 ? 'transfer' : 'transfers'} with ${name}` +
        `${new Set(risky.map(({ shown }) => shown)).size > 1 ? ' and others' : ''}: of tokens on no curated list, ` +
        'or of no amount. Anybody can forge them, so they count for nothing: 0 points.',
    });
  }
  const pairs = new Map<string, SpoofableTransfer & { readonly imitates: string }>();
  for (const row of rows)
    if (row.imitates !== null) pairs.set(row.counterparty, { ...row, imitates: row.imitates });
  for (const { counterparty, imitates } of [...pairs.values()].slice(0, PAIRS_NAMED))
    reasons.push({
      ...base,
      code: 'ADDRESS_POISONING',
      category: 'PHISHING',
      message:
        `${counterparty} looks like ${imitates}, a real counterparty, and moved nothing of worth: the first and last characters ` +
        'agree, the address is another. Compare whole addresses before paying.',
    });
  return reasons;
}

/**
 * Returns the transfers of an address that prove nothing but need attention, and the reasons that name them. Reads at most
 * `recentTransfersPerAddress` transfers, `spoofingCounterpartiesRead` counterparties of each direction, and the newest transfers
 * of `screeningListMax` of them.
 */
export function spoofingOf(options: SpoofingOptions, deps: SpoofingDeps): Spoofing {
  const { subject, place } = options;
  if (place === null) return NOTHING;
  const { chain, key } = subject;
  const { policy, transfers } = deps;
  // Few transfers prove nothing: the counterparties of the others are not read.
  const recent = transfers.recent(
    chain,
    key,
    GRAPH_LIMITS.recentTransfersPerAddress,
    (moved) => kindOf(moved, chain, deps) !== null,
  );
  const seen = seenTransfers({ ...options, place }, recent, deps);
  if (seen.length === 0) return NOTHING;
  const real = realCounterparties(
    subject,
    { ...deps, dustUsd: policy.dustUsd },
    seen.map(({ shown }) => shown),
  );
  const risky: Seen[] = [];
  const rows = seen.flatMap((one): SpoofableTransfer[] => {
    const { transfer, direction, shown, attribution, kind } = one;
    const imitates = real.imitatedBy(shown);
    const isForgeable = kind !== 'DUST';
    if (imitates === null && !(isForgeable && attribution !== UNATTRIBUTED)) return [];
    if (isForgeable && attribution.isRisky) risky.push(one);
    return [
      {
        hash: transfer.txHash,
        timestamp: isoTime(transfer.timestampMs),
        direction,
        counterparty: shown,
        entity: attribution.entity,
        category: attribution.category,
        asset: shownAsset(chain, transfer.asset),
        amount: nativeUnits(transfer.amount, transfer.decimals),
        decimals: transfer.decimals,
        kind,
        imitates: imitates && shownAddress({ chain, canonical: imitates }),
        holderSent: holderSent(one),
        callsAsset: transfer.initiation?.callsAsset ?? null,
        decodes: transfer.initiation?.decodes ?? null,
      },
    ];
  });
  // Spam in the name of an exchange must not displace a forged dealing with a sanctioned party from the list.
  const isUrgent = ({ counterparty, imitates }: SpoofableTransfer): boolean =>
    imitates !== null || risky.some(({ shown }) => shown === counterparty);
  const newest = rows.sort(newestFirst);
  const urgent = newest.filter(isUrgent);
  const listed = [...urgent, ...newest.filter((row) => !isUrgent(row))].slice(
    0,
    SCREENING_LIMITS.screeningListMax,
  );
  return { transfers: listed.sort(newestFirst), reasons: reasonsOf(newest, risky) };
}
