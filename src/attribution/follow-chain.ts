/**
 * Keeps the evidence of one chain current after each block, whichever process writes the chain's transfers. Labels follow later: a run of
 * the rules (`attributeChain`) imports them.
 */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { endReading } from '../base/reading.ts';
import type { ChainId } from '../chains/registry.ts';
import type { TransferStore } from '../graph/store.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import { withLock } from '../state/writer-lock.ts';
import { hasAccounts } from './chains.ts';
import { type Anchors, readAnchors } from './deposit/anchors.ts';
import { DepositFollower, type FollowReport, type SweepReason, sweepReason } from './deposit/follow.ts';
import type { AttributionStore } from './store.ts';

/** Returns the lock of the work on deposit addresses: one process sweeps or follows a chain at a time. */
export const depositLockOf = (folder: string, chain: ChainId): string =>
  join(folder, `${chain.toLowerCase()}-deposits-lock`);

/** Returns the lock of the work on logs. */
export const logLockOf = (folder: string, chain: ChainId): string =>
  join(folder, `${chain.toLowerCase()}-logs-lock`);

export type ChainFollowed =
  /** Nothing is new since the last call. */
  | { readonly outcome: 'CURRENT' }
  /** Another process sweeps or follows the chain. The next call tries again. */
  | { readonly outcome: 'BUSY' }
  /** The whole log has to be read, which a run of the rules does. */
  | { readonly outcome: 'SWEEP_WANTED'; readonly reason: SweepReason }
  | { readonly outcome: 'FOLLOWED'; readonly report: FollowReport };

export interface ChainFollowerDeps {
  readonly transfers: TransferStore;
  /** The present labels. */
  readonly labels: () => LabelReader;
  readonly store: AttributionStore;
  /** Folder of attributions. */
  readonly folder: string;
  readonly clock: Clock;
}

/** Follows one chain. It has one caller at a time. */
export class ChainFollower {
  readonly #chain: ChainId;
  readonly #deps: ChainFollowerDeps;
  /** The collecting wallets, and the labels and stored result for which they were read. */
  #anchors: { readonly of: Anchors; readonly dataVersion: string; readonly stored: string } | null = null;
  /** Position of the log at the last call. */
  #seen = '';

  constructor(chain: ChainId, deps: ChainFollowerDeps) {
    this.#chain = chain;
    this.#deps = deps;
  }

  /** Identifies the log and the blocks that can be reverted. */
  #position(): string {
    const { transfers } = this.#deps;
    const pending = transfers.pendingBlocks(this.#chain);
    const newest = pending.at(-1);
    const { store = '', ordinal = 0 } = transfers.logPosition(this.#chain) ?? {};
    return `${store} ${ordinal} ${pending.length} ${newest?.height ?? ''} ${newest?.hash ?? ''}`;
  }

  /**
   * Returns the collecting wallets. They are read again if the labels changed, or if a run elsewhere found others: a wallet also becomes one
   * by its transfers, and reading all labels after each block would take seconds.
   */
  #currentAnchors(stored: string): Anchors | null {
    const { transfers } = this.#deps;
    const labels = this.#deps.labels();
    const { dataVersion } = labels.meta;
    const known = this.#anchors;
    if (known?.dataVersion === dataVersion && (known.of.fingerprint === stored || known.stored === stored))
      return known.of;
    const graph = transfers.graph(this.#chain);
    if (graph === null) return null;
    this.#anchors = { of: readAnchors(this.#chain, graph, labels), dataVersion, stored };
    return this.#anchors.of;
  }

  /**
   * Reads the new transfers and reverted blocks since the last call of any process. A call that is interrupted changes nothing, and the next
   * one reads the same again.
   *
   * @throws the errors of the stores
   */
  async follow(): Promise<ChainFollowed> {
    const { transfers, store, clock, folder } = this.#deps;
    const chain = this.#chain;
    if (!hasAccounts(chain)) return { outcome: 'CURRENT' };
    const position = this.#position();
    const log = transfers.logPosition(chain);
    if (log === null || log.transfers === 0) return { outcome: 'CURRENT' };
    const state = store.depositState();
    const anchors = this.#currentAnchors(state?.anchors ?? '');
    if (anchors === null) return { outcome: 'CURRENT' };
    const reason = sweepReason(state, log, anchors);
    if (reason !== null) return { outcome: 'SWEEP_WANTED', reason };
    if (position === this.#seen) return { outcome: 'CURRENT' };
    try {
      const report = await withLock(depositLockOf(folder, chain), { waitMs: 0 }, async () => {
        // Values read before the lock may be older than those that the last holder wrote.
        endReading();
        return sweepReason(store.depositState(), log, anchors) === null
          ? new DepositFollower(chain, anchors, { transfers, store, clock }).follow()
          : null;
      });
      if (report === null) return { outcome: 'BUSY' };
      this.#seen = position;
      return { outcome: 'FOLLOWED', report };
    } catch (error) {
      if (error instanceof AssayError && error.code === 'STORE_BUSY') return { outcome: 'BUSY' };
      throw error;
    }
  }
}
