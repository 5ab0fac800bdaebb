/**
 * Evaluates a block for the watched wallets: matches their transfers, applies the rules, and writes the result with the chain's
 * checkpoint in one transaction. It makes no network requests: labels and graph are read from local files.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { maxKeyBytes, writeAddressKeyFromText } from '../chains/address/parse.ts';
import type { AssetFacts } from '../chains/assets.ts';
import type { Block } from '../chains/block.ts';
import type { Transfer } from '../chains/transfer.ts';
import { createNeighbourColumns } from '../graph/graph.ts';
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
import { nativeUnits } from '../screening/trace-graph.ts';
import { weighingOf } from '../screening/weighing.ts';
import type { Fence } from '../state/live-store.ts';
import type { MonitoringPolicy } from './policy.ts';
import type { CounterpartyEntity, MonitoredTransaction, MonitoringChain, RuleId } from './records.ts';
import { type Basis, type Behind, type Evidence, evaluate, type Finding, ruleFor } from './rules.ts';
import type { BlockWriter, MonitoringStore, StoredCounterparty } from './store.ts';
import { addTransfer, dayOf, judgeVelocity, removeTransfer } from './velocity.ts';
import type { Watcher, WatchTable } from './watch-table.ts';

export interface ProcessorDeps {
  readonly store: MonitoringStore;
  readonly policy: MonitoringPolicy;
  readonly riskPolicy: RiskPolicy;
  /** Decides which assets are evidence. */
  readonly assets: Pick<AssetFacts, 'isKnown' | 'decimalsOf'>;
  /** Returns the newest label snapshot; called at most once per block. Null before the first snapshot. */
  readonly labels: () => LabelReader | null;
  /** Transfers that show the parties behind an unattributed counterparty; null if no transfers are kept. */
  readonly transfers: TransferReader | null;
  readonly clock: Clock;
}

/** All writes carry the `fence` of the lease holder; a write by a previous holder is rejected. */
export interface Processor {
  /** Stores the transfers and alerts of a block. Durable when it resolves. A block that was processed before changes nothing. */
  block(chain: MonitoringChain, block: Block, table: WatchTable, fence?: Fence | null): Promise<BlockCounts>;
  /** Reverts all blocks above `height`. */
  revert(chain: MonitoringChain, height: number, fence?: Fence | null): Promise<void>;
  /**
   * Rechecks the recent counterparties of the wallets if the labels have changed since the last recheck. Raises alerts that say
   * that a list has changed, and removes counterparties that were last seen too long ago. An interrupted recheck continues from its
   * stored position.
   *
   * @returns the number of checked counterparties and of raised alerts
   */
  recheck(
    signal: AbortSignal,
    fence?: Fence | null,
  ): Promise<{ readonly counterparties: number; readonly alerts: number }>;
}

export interface BlockCounts {
  /** Number of transfers of watched wallets. */
  readonly matched: number;
  readonly alerts: number;
}

/** A transfer from the viewpoint of one wallet. */
interface Match {
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
interface Judged {
  readonly match: Match;
  readonly party: Party;
  readonly spoof: SpoofKind | null;
  readonly isDust: boolean;
  readonly imitation: Evidence['imitation'];
}

const NOBODY: Party = {
  attribution: UNATTRIBUTED,
  clusterSanctioned: false,
  suspectedOwner: null,
  behind: [],
};
const DAY_MS = 24 * 3_600_000;
/** Counterparties per page. The alerts of a page are one transaction, and the listeners can write between two pages. */
const RECHECK_PAGE = 200;
/** Pages between two stored positions: the most that is repeated after a stop. */
const RECHECK_PAGES_A_PLACE = 50;

/** Rounds USD to two decimals, as in responses. */
const twoDecimals = (value: number): number => Math.round(value * 100) / 100;

const entityOf = ({ entity }: Attribution): CounterpartyEntity | null => entity;

/**
 * Returns the transfers of watched wallets, in the order of the block. A transfer between two watched wallets is a match of each.
 */
export function matchBlock(chain: MonitoringChain, block: Block, table: WatchTable): Match[] {
  const matches: Match[] = [];
  for (const transfer of block.transfers) {
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

/** Creates the processor. */
export function createProcessor(deps: ProcessorDeps): Processor {
  const { store, policy, riskPolicy, assets, transfers, clock } = deps;
  const key = Buffer.alloc(maxKeyBytes);
  const columns = createNeighbourColumns(policy.indirectRead);

  function keyOf(chain: MonitoringChain, address: string): Uint8Array | null {
    const length = writeAddressKeyFromText(chain, address, key, 0);
    return length > 0 ? Uint8Array.prototype.slice.call(key, 0, length) : null;
  }

  /**
   * Returns the parties behind an unattributed counterparty: for received value, the senders to it; for sent value, the receivers
   * of what it sent on.
   */
  function behindOf(
    chain: MonitoringChain,
    own: Uint8Array,
    direction: Direction,
    reader: LabelReader,
  ): Behind[] {
    const graph = transfers?.graph(chain) ?? null;
    const node = graph?.idOf(own) ?? null;
    if (graph === null || node === null) return [];
    const rows = new RowReader(graph, weighingOf(chain, { assets, policy: riskPolicy }));
    const basis = rows.basisOf(node, direction);
    if (!(basis.total > 0)) return [];
    const { count } = rows.read(node, direction, basis, policy.indirectRead, columns);
    const shares = new Map<string, { attribution: Attribution; share: number }>();
    for (let i = 0; i < count; i++) {
      const other = columns.ids[i] as number;
      const now = attribute(reader.lookup(graph.keyOf(other), chain), riskPolicy, null);
      const since = (fromMs: number): number => rows.since(node, other, direction, basis, fromMs).weight;
      for (const { value, atMs } of datedValues(now, columns, i, since)) {
        const attribution = attributionAt(now, atMs);
        if (ruleFor(attribution, policy) === null) continue;
        const share = (shares.get(attribution.key)?.share ?? 0) + value / basis.total;
        shares.set(attribution.key, { attribution, share });
      }
    }
    return [...shares.values()];
  }

  function partyOf(
    chain: MonitoringChain,
    address: string | null,
    direction: Direction,
    reader: LabelReader | null,
    timestampMs: number,
    spoof: SpoofKind | null,
  ): Party {
    const own = address === null || reader === null ? null : keyOf(chain, address);
    if (own === null || reader === null) return NOBODY;
    const labels = reader.lookup(own, chain);
    const attribution = attributionAt(attribute(labels, riskPolicy, null), timestampMs);
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
        absorbs(attribution, 'LEFT_OUT') || spoof !== null ? [] : behindOf(chain, own, direction, reader),
    };
  }

  /** Returns true if the transfer is dust, together with all that moved between the same parties in its direction. */
  function isDustMatch(
    chain: MonitoringChain,
    { transfer, direction, counterparty }: Match,
    attribution: Attribution,
  ): boolean {
    const weighing = weighingOf(chain, { assets, policy: riskPolicy });
    if ((transfer.valueUsd ?? 0) >= weighing.dustUsd) return false;
    const graph = transfers?.graph(chain) ?? null;
    const idOf = (address: string | null): number | null => {
      const own = address === null ? null : keyOf(chain, address);
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
  function imitationIn(
    chain: MonitoringChain,
    { transfer, direction, counterparty }: Match,
    spoof: SpoofKind | null,
    dealings: Map<string, RealCounterparties | null>,
  ): Evidence['imitation'] {
    const { valueUsd } = transfer;
    const isWorthless = spoof !== null || (valueUsd !== null && valueUsd < riskPolicy.dustUsd);
    if (!isWorthless || counterparty === null || transfers === null) return null;
    const wallet = direction === 'out' ? transfer.from : transfer.to;
    if (wallet === null) return null;
    let real = dealings.get(wallet);
    if (real === undefined) {
      const own = keyOf(chain, wallet);
      const { dustUsd } = riskPolicy;
      real = own === null ? null : realCounterparties({ chain, key: own }, { transfers, assets, dustUsd });
      dealings.set(wallet, real);
    }
    const imitates = real?.imitatedBy(counterparty) ?? null;
    return imitates === null ? null : { address: counterparty, imitates };
  }

  /** Records one transfer; returns the number of raised alerts. Call it inside the transaction of the block. */
  function record(
    chain: MonitoringChain,
    block: Block,
    { match, party, spoof, isDust, imitation }: Judged,
    writer: BlockWriter,
  ): number {
    const { watcher, transfer, direction, counterparty } = match;
    const wallet = writer.wallet(watcher.accountId, watcher.walletId);
    if (wallet?.status !== 'ACTIVE') return 0;
    if (wallet.watchFromHeight !== null && block.height <= wallet.watchFromHeight) return 0;
    const { txHash, position, valueUsd, decimals } = transfer;
    const amountUsd = valueUsd === null ? null : twoDecimals(valueUsd);
    // Anyone can send dust and forge transfers, and dust that was sent is no dealing in the score either.
    const isNoEvidence = spoof !== null || isDust;
    // One row per transfer and wallet record; an address that two accounts watch has one row in each.
    const known = writer.transaction(wallet.id, txHash, position);
    if (known !== null && !known.reorged) return 0;
    const { attribution } = party;
    const entity = entityOf(attribution);
    const facts = {
      accountId: wallet.accountId,
      walletId: wallet.id,
      hash: txHash,
      position,
      blockNumber: block.height,
      blockHash: block.hash,
      timestampMs: block.timestampMs,
      direction,
      counterparty: { address: counterparty, entity },
      asset: transfer.asset,
      amount: nativeUnits(transfer.amount, decimals),
      amountUsd,
      riskScore: entity === null ? null : isNoEvidence ? 0 : attribution.points,
      riskLevel: entity === null ? null : isNoEvidence ? ('LOW' as const) : attribution.riskLevel,
      spoofable: spoof !== null,
    };
    const stored: MonitoredTransaction =
      known === null ? writer.addTransaction(facts) : { ...known, ...facts, reorged: false };

    const before = writer.baseline(wallet.id) ?? { sinceDay: dayOf(wallet.createdAtMs), days: [] };
    // Counting forgeable transfers would allow anyone to make a wallet look busy.
    const past =
      spoof === null
        ? addTransfer(before, { timestampMs: block.timestampMs, usd: amountUsd }, policy.velocity)
        : before;
    writer.setBaseline(wallet.id, past);
    const evidence: Evidence = {
      direction,
      amountUsd: valueUsd,
      counterparty: attribution,
      behind: party.behind,
      clusterSanctioned: party.clusterSanctioned,
      suspectedOwner: party.suspectedOwner,
      velocity: spoof === null ? judgeVelocity(past, block.timestampMs, policy.velocity) : null,
      isDust,
      spoof,
      imitation,
    };
    const finalAtHeight = block.height + policy.confirmations[chain] - 1;
    const alertIds = new Set(stored.alertIds);
    let raised = 0;
    const day = dayOf(block.timestampMs);
    // Anyone can create any number of the last three kinds, so each raises one alert a day.
    const causes: Readonly<Record<Basis, string>> = {
      TRANSFER: `${txHash} ${counterparty ?? ''}`,
      BEHAVIOUR: `day ${day}`,
      SPOOFED: `spoofed ${direction} ${counterparty ?? ''} day ${day}`,
      DUST: `dust ${direction} ${counterparty ?? ''} day ${day}`,
      POISONING: `poisoning ${imitation?.imitates ?? ''} day ${day}`,
    };
    for (const { ruleId, finding, basis } of evaluate(evidence, wallet.enabledRules, policy)) {
      const cause = `${ruleId} ${causes[basis]}`;
      const alert = writer.raise(
        wallet,
        {
          ...finding,
          ruleId,
          ruleName: policy.ruleNames[ruleId],
          transaction: {
            hash: txHash,
            blockNumber: block.height,
            direction,
            counterparty: facts.counterparty,
            asset: facts.asset,
            amount: facts.amount,
            amountUsd,
            timestampMs: block.timestampMs,
          },
          final: policy.confirmations[chain] <= 1,
        },
        cause,
        finalAtHeight,
      );
      if (alert === null) continue;
      alertIds.add(alert.id);
      raised++;
    }
    writer.changeTransaction({ ...stored, alertIds: [...alertIds] });
    // Otherwise a later list change would treat a forged transfer or dust as a dealing.
    if (counterparty !== null && !isNoEvidence)
      writer.noteCounterparty({
        accountId: wallet.accountId,
        walletId: wallet.id,
        address: counterparty,
        direction,
        lastSeenMs: block.timestampMs,
        ruleId: ruleFor(attribution, policy),
      });
    return raised;
  }

  /**
   * Evaluates a counterparty again; null if its rule is the same as at the last check. If `finding` is null, the counterparty is
   * not listed any more: this raises no alert, but is stored, so that a later listing raises one.
   */
  function reassess(
    of: StoredCounterparty,
    chain: MonitoringChain | undefined,
    reader: LabelReader,
  ): { readonly ruleId: RuleId | null; readonly finding: Finding | null } | null {
    const own = chain === undefined ? null : keyOf(chain, of.address);
    if (chain === undefined || own === null) return null;
    const attribution = attributionAt(attribute(reader.lookup(own, chain), riskPolicy, null), of.lastSeenMs);
    const ruleId = ruleFor(attribution, policy);
    if (ruleId === of.ruleId) return null;
    if (ruleId === null) return { ruleId, finding: null };
    const evidence: Evidence = {
      direction: of.direction,
      amountUsd: null,
      counterparty: attribution,
      behind: [],
      clusterSanctioned: false,
      suspectedOwner: null,
      velocity: null,
      isDust: false,
      spoof: null,
      imitation: null,
    };
    const finding = evaluate(evidence, [ruleId], policy)[0]?.finding;
    if (finding === undefined) return { ruleId, finding: null };
    const who = attribution.entity?.name ?? of.address;
    const until = isoTime(of.lastSeenMs).slice(0, 10);
    return {
      ruleId,
      finding: {
        ...finding,
        title: `A list changed: ${who}`,
        message:
          `A list or a label has changed, not the wallet: ${who}, whom it dealt with until ${until}, was not known before. ` +
          finding.message,
        riskType: 'LIST_CHANGE',
      },
    };
  }

  return {
    async block(chain, block, table, fence = null) {
      const matches = matchBlock(chain, block, table);
      const reader = matches.length === 0 ? null : deps.labels();
      const parties = new Map<string, Party>();
      // Read before the transaction: reading the graph must not block the writer.
      const dealings = new Map<string, RealCounterparties | null>();
      const judged = matches.map((match): Judged => {
        const { transfer, direction, counterparty } = match;
        const spoof = spoofKindOf(chain, transfer, assets);
        const name = `${direction} ${spoof !== null} ${counterparty ?? ''}`;
        const party =
          parties.get(name) ?? partyOf(chain, counterparty, direction, reader, block.timestampMs, spoof);
        parties.set(name, party);
        const isDust = isDustMatch(chain, match, party.attribution);
        return { match, party, spoof, isDust, imitation: imitationIn(chain, match, spoof, dealings) };
      });
      let alerts = 0;
      const place = { height: block.height, hash: block.hash };
      await store.applyBlock(
        chain,
        place,
        (writer) => {
          // The transaction may run more than once before it is committed.
          alerts = 0;
          for (const one of judged) alerts += record(chain, block, one, writer);
        },
        fence,
      );
      return { matched: matches.length, alerts };
    },
    revert: (chain, height, fence = null) =>
      store.revert(
        chain,
        height,
        (transaction, writer) => {
          const past = writer.baseline(transaction.walletId);
          if (past === null) return;
          const { timestampMs, amountUsd, spoofable } = transaction;
          if (spoofable === true) return;
          writer.setBaseline(transaction.walletId, removeTransfer(past, { timestampMs, usd: amountUsd }));
        },
        fence,
      ),
    async recheck(signal, fence = null) {
      const reader = deps.labels();
      const counts = { counterparties: 0, alerts: 0 };
      if (reader === null) return counts;
      const { dataVersion } = reader.meta;
      const before = store.recheckState();
      const isSame = before?.dataVersion === dataVersion;
      if (isSame && before.isDone) return counts;
      const sinceMs = clock.now() - policy.recheckDays * DAY_MS;
      let after = isSame ? before.after : null;
      for (let pages = 1; ; pages++) {
        signal.throwIfAborted();
        const page = store.counterparties({ after, limit: RECHECK_PAGE });
        const chains = new Map<string, MonitoringChain | undefined>();
        const chainOfWallet = ({ accountId, walletId }: StoredCounterparty): MonitoringChain | undefined => {
          if (!chains.has(walletId)) chains.set(walletId, store.wallet(accountId, walletId)?.chain);
          return chains.get(walletId);
        };
        const recent = page.counterparties.filter(({ lastSeenMs }) => lastSeenMs >= sinceMs);
        const old = page.counterparties.filter(({ lastSeenMs }) => lastSeenMs < sinceMs);
        const changed = recent.flatMap((of) => {
          const found = reassess(of, chainOfWallet(of), reader);
          return found === null ? [] : [{ of, ...found }];
        });
        counts.counterparties += recent.length;
        const state = { dataVersion, isDone: page.next === null, after: page.next };
        if (changed.length + old.length > 0 || state.isDone || pages % RECHECK_PAGES_A_PLACE === 0) {
          let raised = 0;
          await store.write((writer) => {
            raised = 0;
            for (const one of old) writer.removeCounterparty(one);
            for (const { of, ruleId, finding } of changed) {
              writer.noteCounterparty({ ...of, ruleId });
              const wallet = writer.wallet(of.accountId, of.walletId);
              if (ruleId === null || finding === null || wallet?.status !== 'ACTIVE') continue;
              if (!wallet.enabledRules.includes(ruleId)) continue;
              const ruleName = policy.ruleNames[ruleId];
              const cause = `list ${ruleId} ${of.direction} ${of.address} ${dataVersion}`;
              const draft = { ...finding, ruleId, ruleName, transaction: null, final: true };
              if (writer.raise(wallet, draft, cause, null) !== null) raised++;
            }
            writer.setRecheckState(state);
          }, fence);
          counts.alerts += raised;
        }
        if (page.next === null) return counts;
        after = page.next;
        // A page is processed synchronously; other work runs between two pages.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
