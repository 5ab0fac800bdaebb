/**
 * What is known of the transfers of a block before its transaction: which wallets they belong to, the labels of the other side and of
 * the parties behind it, and whether a transfer is dust, forged or an imitation. It reads local files only.
 */
import { isoTime } from '../base/clock.ts';
import { maxKeyBytes, writeAddressKeyFromText } from '../chains/address/parse.ts';
import type { AssetFacts } from '../chains/assets.ts';
import type { Block } from '../chains/block.ts';
import type { Transfer } from '../chains/transfer.ts';
import { createNeighbourColumns, type NeighbourColumns } from '../graph/graph.ts';
import { RowReader } from '../graph/kernels/rows.ts';
import type { Direction, TransferReader } from '../graph/transfers.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import type { SanctionsEntry } from '../labels/label.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import {
  type Attribution,
  absorbs,
  attribute,
  attributionAt,
  datedValues,
  UNATTRIBUTED,
} from '../screening/attribution.ts';
import { dealingSums, isDustDealing, NO_DEALINGS } from '../screening/dust.ts';
import {
  type RealCounterparties,
  realCounterparties,
  type SpoofKind,
  spoofKindOf,
} from '../screening/poisoning.ts';
import { isSuspectedOwner, sanctionsEntries } from '../screening/sanctions-detail.ts';
import { weighingOf } from '../screening/weighing.ts';
import type { MonitoringPolicy } from './policy.ts';
import type { MonitoringChain } from './records.ts';
import { type Behind, type Evidence, ruleFor } from './rules.ts';
import type { Watcher, WatchTable } from './watch-table.ts';

export interface EvidenceDeps {
  readonly policy: MonitoringPolicy;
  readonly riskPolicy: RiskPolicy;
  /** Decides which assets are evidence. */
  readonly assets: Pick<AssetFacts, 'isKnown' | 'decimalsOf'>;
  /** Transfers that show the parties behind an unattributed counterparty; null if no transfers are kept. */
  readonly transfers: TransferReader | null;
}

/** A transfer from the viewpoint of one wallet. */
export interface Match {
  readonly watcher: Watcher;
  readonly transfer: Transfer;
  readonly direction: Direction;
  readonly counterparty: string | null;
}

/** Label data of an address and of the other addresses of its cluster. */
interface Party {
  readonly attribution: Attribution;
  readonly clusterSanctioned: boolean;
  readonly suspectedOwner: SanctionsEntry | null;
  readonly behind: readonly Behind[];
}

/** A transfer of a watched wallet with everything that is evaluated before the transaction of its block. */
export interface JudgedTransfer {
  readonly match: Match;
  readonly party: Party;
  readonly spoof: SpoofKind | null;
  readonly isDust: boolean;
  readonly imitation: Evidence['imitation'];
}

const UNKNOWN_PARTY: Party = {
  attribution: UNATTRIBUTED,
  clusterSanctioned: false,
  suspectedOwner: null,
  behind: [],
};

/**
 * Returns the transfers of watched wallets, in the order of the block. A transfer between two watched wallets is a match of each.
 *
 * @param transfers - those with a watched address, if they are known
 */
export function matchBlock(
  chain: MonitoringChain,
  block: Block,
  table: WatchTable,
  transfers: readonly Transfer[] = table.found(block),
): Match[] {
  const matches: Match[] = [];
  for (const transfer of transfers) {
    const { from, to } = transfer;
    if (from !== null)
      for (const watcher of table.watchers(chain, from))
        matches.push({ watcher, transfer, direction: 'out', counterparty: to });
    // A transfer from an address to itself is one movement, recorded as sent.
    if (to !== null && to !== from)
      for (const watcher of table.watchers(chain, to))
        matches.push({ watcher, transfer, direction: 'in', counterparty: from });
  }
  return matches;
}

/** Reads the evidence of the transfers of one block. It reuses its buffers, so it serves one block at a time. */
export class EvidenceReader {
  readonly #deps: EvidenceDeps;
  readonly #key = Buffer.alloc(maxKeyBytes);
  readonly #columns: NeighbourColumns;

  constructor(deps: EvidenceDeps) {
    this.#deps = deps;
    this.#columns = createNeighbourColumns(deps.policy.indirectRead);
  }

  /**
   * Judges the transfers of watched wallets.
   *
   * @param reader - the labels of the block; null before the first snapshot
   */
  judge(
    chain: MonitoringChain,
    block: Block,
    matches: readonly Match[],
    reader: LabelReader | null,
  ): JudgedTransfer[] {
    const { assets } = this.#deps;
    const parties = new Map<string, Party>();
    const dealings = new Map<string, RealCounterparties | null>();
    return matches.map((match): JudgedTransfer => {
      const { transfer, direction, counterparty } = match;
      const spoof = spoofKindOf(chain, transfer, assets);
      const name = `${direction} ${spoof !== null} ${counterparty ?? ''}`;
      const party =
        parties.get(name) ?? this.#partyOf(chain, counterparty, direction, reader, block.timestampMs, spoof);
      parties.set(name, party);
      const isDust = this.#isDustMatch(chain, match, party.attribution);
      return { match, party, spoof, isDust, imitation: this.#imitationIn(chain, match, spoof, dealings) };
    });
  }

  /** Returns the key of an address; null if the text is not an address of the chain. */
  keyOf(chain: MonitoringChain, address: string): Uint8Array | null {
    const length = writeAddressKeyFromText(chain, address, this.#key, 0);
    return length > 0 ? Uint8Array.prototype.slice.call(this.#key, 0, length) : null;
  }

  /**
   * Returns the parties behind an unattributed counterparty: for received value, the senders to it; for sent value, the receivers
   * of what it sent on.
   */
  #behindOf(chain: MonitoringChain, own: Uint8Array, direction: Direction, reader: LabelReader): Behind[] {
    const graph = this.#deps.transfers?.graph(chain) ?? null;
    const node = graph?.idOf(own) ?? null;
    if (graph === null || node === null) return [];
    const rows = new RowReader(
      graph,
      weighingOf(chain, { assets: this.#deps.assets, policy: this.#deps.riskPolicy }),
    );
    const basis = rows.basisOf(node, direction);
    if (!(basis.total > 0)) return [];
    const { count } = rows.read(node, direction, basis, this.#deps.policy.indirectRead, this.#columns);
    const shares = new Map<string, { attribution: Attribution; share: number }>();
    for (let i = 0; i < count; i++) {
      const other = this.#columns.ids[i] as number;
      const now = attribute(reader.lookup(graph.keyOf(other), chain), this.#deps.riskPolicy, null);
      const since = (fromMs: number): number => rows.since(node, other, direction, basis, fromMs).weight;
      for (const { value, atMs } of datedValues(now, this.#columns, i, since)) {
        const attribution = attributionAt(now, atMs);
        if (ruleFor(attribution, this.#deps.policy) === null) continue;
        const share = (shares.get(attribution.key)?.share ?? 0) + value / basis.total;
        shares.set(attribution.key, { attribution, share });
      }
    }
    return [...shares.values()];
  }

  /** Returns the label data of the other side of a transfer, as of the time of the transfer. */
  #partyOf(
    chain: MonitoringChain,
    address: string | null,
    direction: Direction,
    reader: LabelReader | null,
    timestampMs: number,
    spoof: SpoofKind | null,
  ): Party {
    const own = address === null || reader === null ? null : this.keyOf(chain, address);
    if (own === null || reader === null) return UNKNOWN_PARTY;
    const labels = reader.lookup(own, chain);
    const attribution = attributionAt(attribute(labels, this.#deps.riskPolicy, null), timestampMs);
    const dayOfTransfer = isoTime(timestampMs).slice(0, 10);
    return {
      attribution,
      clusterSanctioned:
        !attribution.sanctioned &&
        labels.some(({ sanctions }) =>
          sanctions.some(({ matchType, delistedAt }) => matchType === 'CLUSTER' && delistedAt === null),
        ),
      suspectedOwner:
        attribution.sanctioned || attribution.designatedLater !== undefined
          ? null
          : (sanctionsEntries(labels).find((entry) => isSuspectedOwner(entry, dayOfTransfer)) ?? null),
      behind:
        absorbs(attribution, 'LEFT_OUT') || spoof !== null
          ? []
          : this.#behindOf(chain, own, direction, reader),
    };
  }

  /** Returns true if the transfer is dust, together with all that moved between the same parties in its direction. */
  #isDustMatch(
    chain: MonitoringChain,
    { transfer, direction, counterparty }: Match,
    attribution: Attribution,
  ): boolean {
    const weighing = weighingOf(chain, { assets: this.#deps.assets, policy: this.#deps.riskPolicy });
    if ((transfer.valueUsd ?? 0) >= weighing.dustUsd) return false;
    const graph = this.#deps.transfers?.graph(chain) ?? null;
    const idOf = (address: string | null): number | null => {
      const own = address === null ? null : this.keyOf(chain, address);
      return own === null ? null : (graph?.idOf(own) ?? null);
    };
    const node = idOf(direction === 'out' ? transfer.from : transfer.to);
    const other = idOf(counterparty);
    const sinceMs = attribution.until?.fromMs ?? 0;
    const sums =
      graph === null || node === null || other === null
        ? NO_DEALINGS
        : dealingSums(graph, { node, other, direction, sinceMs }, weighing);
    return isDustDealing(weighing, transfer, sums);
  }

  /**
   * Finds the real counterparty that the other side of a worthless transfer imitates by its address.
   *
   * @param dealings - cache of the real counterparties of the block's wallets
   */
  #imitationIn(
    chain: MonitoringChain,
    { transfer, direction, counterparty }: Match,
    spoof: SpoofKind | null,
    dealings: Map<string, RealCounterparties | null>,
  ): Evidence['imitation'] {
    const { valueUsd } = transfer;
    const isWorthless = spoof !== null || (valueUsd !== null && valueUsd < this.#deps.riskPolicy.dustUsd);
    if (!isWorthless || counterparty === null || this.#deps.transfers === null) return null;
    const wallet = direction === 'out' ? transfer.from : transfer.to;
    if (wallet === null) return null;
    let real = dealings.get(wallet);
    if (real === undefined) {
      const own = this.keyOf(chain, wallet);
      const { dustUsd } = this.#deps.riskPolicy;
      real =
        own === null
          ? null
          : realCounterparties(
              { chain, key: own },
              { transfers: this.#deps.transfers, assets: this.#deps.assets, dustUsd },
            );
      dealings.set(wallet, real);
    }
    const imitates = real?.imitatedBy(counterparty) ?? null;
    return imitates === null ? null : { address: counterparty, imitates };
  }
}
