/**
 * Evaluates a block for the watched wallets: matches their transfers, applies the rules, and writes the result with the chain's
 * checkpoint in one transaction. It makes no network requests: labels and graph are read from local files.
 */

import { type Clock, isoTime } from '../base/clock.ts';
import { twoDecimals } from '../base/figures.ts';
import type { Block } from '../chains/block.ts';
import { nativeUnits } from '../chains/native-units.ts';
import type { Transfer } from '../chains/transfer.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import { type Attribution, attribute, attributionAt } from '../screening/attribution.ts';
import type { Fence } from '../state/live-store.ts';
import { type EvidenceDeps, EvidenceReader, type JudgedTransfer, matchBlock } from './block-evidence.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { MonitoringPolicy } from './policy.ts';
import type { CounterpartyEntity, MonitoredTransaction, MonitoringChain, RuleId } from './records.ts';
import { type Basis, type Evidence, evaluate, type Finding, ruleFor } from './rules.ts';
import type { BlockWriter, MonitoringStore, StoredCounterparty } from './store.ts';
import { addTransfer, dayOf, judgeVelocity, removeTransfer } from './velocity.ts';
import type { WatchTable } from './watch-table.ts';

export interface ProcessorDeps extends EvidenceDeps {
  readonly store: MonitoringStore;
  /** Returns the newest label snapshot; called at most once per block. Null before the first snapshot. */
  readonly labels: () => LabelReader | null;
  readonly clock: Clock;
}

/** All writes carry the `fence` of the lease holder; a write by a previous holder is rejected. */
export interface Processor {
  /**
   * Stores the transfers and alerts of a block. Durable when it resolves. A block that was processed before changes nothing.
   *
   * @param transfers - its transfers with a watched address, if they are known
   */
  block(
    chain: MonitoringChain,
    block: Block,
    table: WatchTable,
    fence?: Fence | null,
    transfers?: readonly Transfer[],
  ): Promise<BlockCounts>;
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

const DAY_MS = 24 * 3_600_000;
/** Counterparties per page. The alerts of a page are one transaction, and the listeners can write between two pages. */
const RECHECK_PAGE = 200;
/** Pages between two stored positions: the most that is repeated after a stop. */
const RECHECK_PAGES_A_PLACE = 50;

const entityOf = ({ entity }: Attribution): CounterpartyEntity | null => entity;

/** Creates the processor. */
export function createProcessor(deps: ProcessorDeps): Processor {
  return new BlockProcessor(deps);
}

class BlockProcessor implements Processor {
  readonly #deps: ProcessorDeps;
  readonly #policy: MonitoringPolicy;
  readonly #evidence: EvidenceReader;

  constructor(deps: ProcessorDeps) {
    this.#deps = deps;
    this.#policy = deps.policy;
    this.#evidence = new EvidenceReader(deps);
  }

  /** Records one transfer; returns the number of raised alerts. Call it inside the transaction of the block. */
  #record(
    chain: MonitoringChain,
    block: Block,
    { match, party, spoof, isDust, imitation }: JudgedTransfer,
    writer: BlockWriter,
  ): number {
    const { watcher, transfer, direction, counterparty } = match;
    const wallet = writer.wallet(watcher.accountId, watcher.walletId);
    if (wallet?.status !== 'ACTIVE') return 0;
    if (writer.isBeforeWatch(wallet, block.height)) return 0;
    const { txHash, position, valueUsd, decimals } = transfer;
    const amountUsd = valueUsd === null ? null : twoDecimals(valueUsd);
    // Anyone can send dust and forge transfers, and dust that was sent is no dealing in the score either.
    const isNoEvidence = spoof !== null || isDust;
    // One row per transfer and wallet record; an address that two accounts watch has one row in each.
    const earlier = writer.transaction(wallet.id, txHash, position);
    if (earlier !== null && !earlier.reorged) return 0;
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
      decimals,
      amountUsd,
      riskScore: entity === null ? null : isNoEvidence ? 0 : attribution.points,
      riskLevel: entity === null ? null : isNoEvidence ? ('LOW' as const) : attribution.riskLevel,
      spoofable: spoof !== null,
    };
    const stored: MonitoredTransaction =
      earlier === null ? writer.addTransaction(facts) : { ...earlier, ...facts, reorged: false };

    const before = writer.baseline(wallet.id) ?? { sinceDay: dayOf(wallet.createdAtMs), days: [] };
    // Counting forgeable transfers would allow anyone to make a wallet look busy.
    const baseline =
      spoof === null
        ? addTransfer(before, { timestampMs: block.timestampMs, usd: amountUsd }, this.#policy.velocity)
        : before;
    writer.setBaseline(wallet.id, baseline);
    const evidence: Evidence = {
      direction,
      amountUsd: valueUsd,
      counterparty: attribution,
      behind: party.behind,
      clusterSanctioned: party.clusterSanctioned,
      suspectedOwner: party.suspectedOwner,
      velocity: spoof === null ? judgeVelocity(baseline, block.timestampMs, this.#policy.velocity) : null,
      isDust,
      spoof,
      imitation,
    };
    const finalAtHeight = block.height + this.#policy.confirmations[chain] - 1;
    const alertIds = new Set(stored.alertIds);
    let raised = 0;
    const day = dayOf(block.timestampMs);
    // Anyone can create any number of the last three kinds, so each raises one alert a day.
    const dedupKeys: Readonly<Record<Basis, string>> = {
      TRANSFER: `${txHash} ${counterparty ?? ''}`,
      BEHAVIOUR: `day ${day}`,
      SPOOFED: `spoofed ${direction} ${counterparty ?? ''} day ${day}`,
      DUST: `dust ${direction} ${counterparty ?? ''} day ${day}`,
      POISONING: `poisoning ${imitation?.imitates ?? ''} day ${day}`,
    };
    for (const { ruleId, finding, basis } of evaluate(evidence, wallet.enabledRules, this.#policy)) {
      const cause = `${ruleId} ${dedupKeys[basis]}`;
      const alert = writer.raise(
        wallet,
        {
          ...finding,
          ruleId,
          ruleName: this.#policy.ruleNames[ruleId],
          transaction: {
            hash: txHash,
            blockNumber: block.height,
            direction,
            counterparty: facts.counterparty,
            asset: facts.asset,
            amount: facts.amount,
            decimals,
            amountUsd,
            timestampMs: block.timestampMs,
          },
          final: this.#policy.confirmations[chain] <= 1,
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
        ruleId: ruleFor(attribution, this.#policy),
      });
    return raised;
  }

  /**
   * Evaluates a counterparty again; null if its rule is the same as at the last check. If `finding` is null, the counterparty is
   * not listed any more: this raises no alert, but is stored, so that a later listing raises one.
   */
  #reassess(
    of: StoredCounterparty,
    chain: MonitoringChain | undefined,
    reader: LabelReader,
  ): { readonly ruleId: RuleId | null; readonly finding: Finding | null } | null {
    const own = chain === undefined ? null : this.#evidence.keyOf(chain, of.address);
    if (chain === undefined || own === null) return null;
    const attribution = attributionAt(
      attribute(reader.lookup(own, chain), this.#deps.riskPolicy, null),
      of.lastSeenMs,
    );
    const ruleId = ruleFor(attribution, this.#policy);
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
    const finding = evaluate(evidence, [ruleId], this.#policy)[0]?.finding;
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

  async block(
    chain: MonitoringChain,
    block: Block,
    table: WatchTable,
    fence: Fence | null = null,
    transfers: readonly Transfer[] = table.found(block),
  ): Promise<BlockCounts> {
    const matches = matchBlock(chain, block, table, transfers);
    const reader = matches.length === 0 ? null : this.#deps.labels();
    // Read before the transaction: reading the graph must not block the writer.
    const judged = this.#evidence.judge(chain, block, matches, reader);
    let alerts = 0;
    const place = { height: block.height, hash: block.hash };
    await this.#deps.store.applyBlock(
      chain,
      place,
      (writer) => {
        // The transaction may run more than once before it is committed.
        alerts = 0;
        for (const one of judged) alerts += this.#record(chain, block, one, writer);
      },
      fence,
    );
    return { matched: matches.length, alerts };
  }

  revert(chain: MonitoringChain, height: number, fence: Fence | null = null): Promise<void> {
    let looked = 0;
    return this.#deps.store.revert(
      chain,
      height,
      (transaction, writer) => {
        const { timestampMs, amountUsd, spoofable } = transaction;
        if (spoofable === true) return;
        // Otherwise a later list change would treat a transfer that never took place as a dealing.
        looked += writer.revertCounterparty(transaction, MONITORING_LIMITS.revertedDealingsLook - looked);
        const baseline = writer.baseline(transaction.walletId);
        if (baseline === null) return;
        writer.setBaseline(transaction.walletId, removeTransfer(baseline, { timestampMs, usd: amountUsd }));
      },
      fence,
    );
  }

  async recheck(
    signal: AbortSignal,
    fence: Fence | null = null,
  ): Promise<{ readonly counterparties: number; readonly alerts: number }> {
    const reader = this.#deps.labels();
    const counts = { counterparties: 0, alerts: 0 };
    if (reader === null) return counts;
    const { dataVersion } = reader.meta;
    const before = this.#deps.store.recheckState();
    const isSame = before?.dataVersion === dataVersion;
    if (isSame && before.isDone) return counts;
    const sinceMs = this.#deps.clock.now() - this.#policy.recheckDays * DAY_MS;
    let after = isSame ? before.after : null;
    for (let pages = 1; ; pages++) {
      signal.throwIfAborted();
      const page = this.#deps.store.counterparties({ after, limit: RECHECK_PAGE });
      const chains = new Map<string, MonitoringChain | undefined>();
      const chainOfWallet = ({ accountId, walletId }: StoredCounterparty): MonitoringChain | undefined => {
        if (!chains.has(walletId)) chains.set(walletId, this.#deps.store.wallet(accountId, walletId)?.chain);
        return chains.get(walletId);
      };
      const recent = page.counterparties.filter(({ lastSeenMs }) => lastSeenMs >= sinceMs);
      const old = page.counterparties.filter(({ lastSeenMs }) => lastSeenMs < sinceMs);
      const changed = recent.flatMap((of) => {
        const found = this.#reassess(of, chainOfWallet(of), reader);
        return found === null ? [] : [{ of, ...found }];
      });
      counts.counterparties += recent.length;
      const state = { dataVersion, isDone: page.next === null, after: page.next };
      if (changed.length + old.length > 0 || state.isDone || pages % RECHECK_PAGES_A_PLACE === 0) {
        let raised = 0;
        await this.#deps.store.write((writer) => {
          raised = 0;
          for (const one of old) writer.removeCounterparty(one);
          for (const { of, ruleId, finding } of changed) {
            writer.noteCounterparty({ ...of, ruleId });
            const wallet = writer.wallet(of.accountId, of.walletId);
            if (ruleId === null || finding === null || wallet?.status !== 'ACTIVE') continue;
            if (!wallet.enabledRules.includes(ruleId)) continue;
            const ruleName = this.#policy.ruleNames[ruleId];
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
  }
}
