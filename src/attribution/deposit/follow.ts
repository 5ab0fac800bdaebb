/**
 * Keeps the result of the deposit rule up to date with the log of a chain: judges the accounts of new transfers again, and those of blocks
 * that were reverted. An account is judged by its newest 64 transfers and by all addresses that it ever paid; forwardings that were found
 * earlier stay as long as their transfers exist.
 */
import { type Clock, isoTime } from '../../base/clock.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import {
  createNeighbourColumns,
  type NeighbourColumns,
  type NodeId,
  type TransferGraph,
} from '../../graph/graph.ts';
import type { PendingBlock, TransferStore } from '../../graph/store.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import type { AttributionStore, DepositRecord, DepositState, NotedBlock } from '../store.ts';
import type { Anchors } from './anchors.ts';
import { DEPOSIT_RULE_VERSION, type EventColumns, judgeAccount, OUT } from './judge.ts';
import { outFlags, recordOf } from './sweep.ts';

export interface FollowDeps {
  readonly transfers: Pick<
    TransferStore,
    'logColumns' | 'logPosition' | 'loggedAt' | 'newestLogged' | 'pendingBlocks' | 'assetNumber' | 'graph'
  >;
  readonly store: AttributionStore;
  readonly clock: Clock;
}

export interface FollowReport {
  /** New transfers read. */
  readonly transfers: number;
  /** Accounts judged. */
  readonly judged: number;
  /** Blocks whose accounts were judged again because the chain reverted them. */
  readonly reverted: number;
  /** Records written or removed. */
  readonly changed: number;
}

/** Why the whole log has to be swept; null if following is enough. */
export type SweepReason =
  | 'no result yet'
  | 'another transfer store'
  | 'other collecting wallets'
  | 'another version of the rule'
  | 'many new transfers';

/** Returns why the whole log has to be swept; null if following is enough. */
export function sweepReason(
  state: DepositState | null,
  position: { readonly store: string; readonly ordinal: number },
  anchors: Pick<Anchors, 'fingerprint'>,
): SweepReason | null {
  if (state === null) return 'no result yet';
  if (state.store !== position.store) return 'another transfer store';
  if (state.ruleVersion !== DEPOSIT_RULE_VERSION) return 'another version of the rule';
  if (state.anchors !== anchors.fingerprint) return 'other collecting wallets';
  return position.ordinal - state.ordinal > ATTRIBUTION_LIMITS.followTransfersMax
    ? 'many new transfers'
    : null;
}

/** Follows the log of one chain. Create one, and call `follow` after each block. */
export class DepositFollower {
  readonly #chain: ChainId;
  readonly #deps: FollowDeps;
  readonly #anchors: Anchors;
  readonly #columns: NeighbourColumns = createNeighbourColumns(ATTRIBUTION_LIMITS.depositReceiversMax + 1);

  constructor(chain: ChainId, anchors: Anchors, deps: FollowDeps) {
    this.#chain = chain;
    this.#anchors = anchors;
    this.#deps = deps;
  }

  /**
   * Reads what is new since the last call. All changes are one transaction; a call without new transfers changes nothing.
   *
   * @throws Error if there is no result to follow: sweep first (`sweepReason`)
   */
  follow(): FollowReport {
    const { store, transfers } = this.#deps;
    const chain = this.#chain;
    const state = store.depositState();
    const position = transfers.logPosition(chain);
    const graph = transfers.graph(chain);
    if (
      state === null ||
      position === null ||
      graph === null ||
      sweepReason(state, position, this.#anchors) !== null
    )
      throw new Error(`The deposit addresses of ${chain} cannot be followed: the log has to be swept.`);
    const pending = transfers.pendingBlocks(chain);
    const isPending = new Map(pending.map((block) => [block.height, block]));
    const touched = new Set<NodeId>();
    const gone: number[] = [];
    let reverted = 0;
    const noted = store.blocks();
    for (const [height, block] of noted) {
      const now = isPending.get(height);
      if (now?.hash === block.hash && now.firstOrdinal === block.firstOrdinal) continue;
      gone.push(height);
      if (block.count === 0 || transfers.loggedAt(chain, block.firstOrdinal) !== null) continue;
      reverted++;
      for (const node of block.nodes) touched.add(node);
    }
    const read = this.#readNew(state.ordinal, position.ordinal, touched);
    const isUnchanged = gone.length === 0 && position.ordinal === state.ordinal;
    if (isUnchanged) return { transfers: 0, judged: 0, reverted: 0, changed: 0 };
    // Transfers of blocks that were reverted since are no longer in the log.
    const oldestPending = Math.min(
      position.ordinal,
      ...[...pending, ...noted.values()].map(({ firstOrdinal }) => firstOrdinal),
    );
    const results = [...touched].map((node): [NodeId, DepositRecord | null, DepositRecord | null] => {
      const known = store.deposit(node);
      return [node, known, this.#judge(graph, node, known, oldestPending)];
    });
    let changed = 0;
    store.write(() => {
      for (const [node, known, record] of results) {
        if (JSON.stringify(known) === JSON.stringify(record)) continue;
        changed++;
        if (record === null) store.removeDeposit(node);
        else store.putDeposit(node, record);
      }
      for (const height of gone) store.removeBlock(height);
      this.#noteBlocks(pending, state.ordinal, touched);
      store.setDepositState({
        ...state,
        ordinal: position.ordinal,
        at: isoTime(this.#deps.clock.now()),
      });
    });
    return { transfers: read, judged: touched.size, reverted, changed };
  }

  /** Adds the accounts that new transfers may change: those with a record, and those that pay a collecting wallet. */
  #readNew(first: number, end: number, touched: Set<NodeId>): number {
    const { byNode } = this.#anchors;
    const { store, transfers } = this.#deps;
    let read = 0;
    for (const { count, from, to, amount } of transfers.logColumns(this.#chain, first, end)) {
      read += count;
      for (let row = 0; row < count; row++) {
        const sender = from[row] as number;
        const receiver = to[row] as number;
        if (sender === receiver) continue;
        const paysAnchor = (amount[row] as number) > 0 && byNode.has(receiver);
        if (sender !== 0 && !byNode.has(sender) && (paysAnchor || store.deposit(sender) !== null))
          touched.add(sender);
        if (receiver !== 0 && !byNode.has(receiver) && store.deposit(receiver) !== null)
          touched.add(receiver);
      }
    }
    return read;
  }

  /** Notes new blocks that can be reverted, with the accounts among `touched` that their transfers name. */
  #noteBlocks(pending: readonly PendingBlock[], from: number, touched: ReadonlySet<NodeId>): void {
    const { store, transfers } = this.#deps;
    for (const { height, hash, firstOrdinal, count } of pending) {
      if (firstOrdinal + count <= from && count > 0) continue;
      if (firstOrdinal < from) continue;
      const nodes = new Set<NodeId>();
      for (const columns of transfers.logColumns(this.#chain, firstOrdinal, firstOrdinal + count))
        for (let row = 0; row < columns.count; row++)
          for (const node of [columns.from[row] as number, columns.to[row] as number])
            if (touched.has(node)) nodes.add(node);
      store.setBlock(height, { hash, firstOrdinal, count, nodes: [...nodes] } satisfies NotedBlock);
    }
  }

  /** Returns whether the account ever paid `assets` to an address that is no collecting wallet of the entity. */
  #paysOthers(graph: TransferGraph, node: NodeId, entity: number, assets: ReadonlySet<string>): boolean {
    const count = graph.neighbours(node, 'out', this.#columns.ids.length, this.#columns);
    const receivers = this.#columns.ids.slice(0, count);
    for (const receiver of receivers) {
      if (this.#anchors.byNode.get(receiver) === entity) continue;
      if (graph.edge(node, receiver).some(({ asset, amount }) => amount > 0n && assets.has(asset)))
        return true;
    }
    return false;
  }

  #judge(
    graph: TransferGraph,
    node: NodeId,
    known: DepositRecord | null,
    oldestPending: number,
  ): DepositRecord | null {
    const { transfers } = this.#deps;
    const chain = this.#chain;
    const degree = graph.degree(node, 'out');
    if (degree === 0 || degree > ATTRIBUTION_LIMITS.depositReceiversMax) return null;
    const { events, count } = this.#eventsOf(node);
    const { symbol } = chainOf(chain);
    const native = transfers.assetNumber(chain, symbol) ?? -1;
    const entityOf = (party: number): number => this.#anchors.byNode.get(party) ?? 0;
    const verdict = judgeAccount(events, 0, count, { entityOf, native });
    const exists = (ordinal: number): boolean =>
      ordinal < oldestPending || transfers.loggedAt(chain, ordinal) !== null;
    const kept = known?.forwardings.filter((one) => exists(one.out) && exists(one.in)) ?? [];
    const hasPaid = events.flags.some(
      (flags, at) => (flags & OUT) !== 0 && (events.amount[at] as number) > 0,
    );
    if (verdict === null && hasPaid) return null;
    const entity = verdict?.entity ?? known?.entity ?? 0;
    const earlier = known?.entity === entity ? kept : [];
    const found = verdict?.forwardings ?? [];
    const all = new Map([...earlier, ...found].map((one) => [one.out, one]));
    if (all.size === 0) return null;
    const forwardings = [...all.values()].sort((a, b) => a.timestampMs - b.timestampMs || a.out - b.out);
    const assets = new Set([symbol]);
    for (const { out } of forwardings) {
      const logged = transfers.loggedAt(chain, out);
      if (logged !== null) assets.add(graph.assetName(logged.asset));
    }
    if (this.#paysOthers(graph, node, entity, assets)) return null;
    const funded =
      known?.entity === entity && known.fundedBy !== null && exists(known.fundedBy) ? known.fundedBy : null;
    const record = recordOf({
      entity,
      kind: verdict === null || verdict.kind === 'unknown' ? (known?.kind ?? 'unknown') : verdict.kind,
      fundedBy: funded ?? verdict?.fundedBy ?? null,
      forwardings,
    });
    const isSameEntity = known?.entity === entity;
    return {
      ...record,
      older: record.older + (isSameEntity ? known.older : 0),
      firstMs: isSameEntity && known.older > 0 ? known.firstMs : record.firstMs,
    };
  }

  #eventsOf(node: NodeId): {
    readonly events: { readonly [K in keyof EventColumns]: number[] };
    readonly count: number;
  } {
    const logged = [...this.#deps.transfers.newestLogged(this.#chain, node)]
      .filter(({ from, to }) => from !== to)
      .sort((a, b) => a.timestampMs - b.timestampMs || a.ordinal - b.ordinal);
    const isOut = logged.map(({ from }) => from === node);
    return {
      count: logged.length,
      events: {
        ordinal: logged.map(({ ordinal }) => ordinal),
        timestampMs: logged.map(({ timestampMs }) => timestampMs),
        asset: logged.map(({ asset }) => asset),
        party: logged.map(({ from, to }, at) => (isOut[at] ? to : from)),
        amount: logged.map(({ amount }) => Number(amount)),
        flags: logged.map(({ initiation }, at) => (isOut[at] ? outFlags(initiation) : 0)),
      },
    };
  }
}
