/**
 * Keeps the result of the deposit rule up to date with the log of a chain: judges the accounts of new transfers again, and those of blocks
 * that were reverted. An account is judged by its newest 64 transfers and by all addresses that it ever paid; forwardings that were found
 * earlier stay as long as their transfers exist.
 */
import { type Clock, isoTime } from '../../base/clock.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import type { NodeId, TransferGraph } from '../../graph/graph.ts';
import { GRAPH_LIMITS } from '../../graph/limits.ts';
import type { AccountScan } from '../../graph/store/account-scan.ts';
import type { LogColumns } from '../../graph/store/log-scan.ts';
import type { PendingBlock, TransferStore } from '../../graph/store.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import type { AttributionStore, DepositRecord, DepositState, NotedBlock } from '../store.ts';
import type { Anchors } from './anchors.ts';
import { DEPOSIT_RULE_VERSION, type EventColumns, type Forwarding, judgeAccount, OUT } from './judge.ts';
import { outFlags, recordOf } from './sweep.ts';

export interface FollowDeps {
  readonly transfers: Pick<
    TransferStore,
    | 'logColumns'
    | 'logPosition'
    | 'loggedAt'
    | 'isLogged'
    | 'accounts'
    | 'pendingBlocks'
    | 'assetNumber'
    | 'graph'
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

/** What all accounts of one call are judged with. */
interface World {
  readonly graph: TransferGraph;
  readonly accounts: AccountScan;
  /** Name of the native coin, and its number in the log; -1 if no transfer of it is stored. */
  readonly symbol: string;
  readonly native: number;
  /** Transfers before this number cannot be reverted. */
  readonly oldestPending: number;
}

/** Follows the log of one chain. Create one, and call `follow` after each block. */
export class DepositFollower {
  readonly #chain: ChainId;
  readonly #deps: FollowDeps;
  readonly #anchors: Anchors;

  /** Columns of the account that is judged. */
  readonly #events = {
    party: new Uint32Array(GRAPH_LIMITS.recentTransfersPerAddress),
    flags: new Uint8Array(GRAPH_LIMITS.recentTransfersPerAddress),
  };
  readonly #entityOf = (party: number): number => this.#anchors.byNode.get(party) ?? 0;

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
    const accounts = transfers.accounts(chain);
    if (
      state === null ||
      position === null ||
      graph === null ||
      accounts === null ||
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
      if (block.count === 0 || transfers.isLogged(chain, block.firstOrdinal)) continue;
      reverted++;
      for (const node of store.nodesOfBlock(height)) touched.add(node);
    }
    const read = this.#readNew(state.ordinal, position.ordinal, touched);
    const isUnchanged = gone.length === 0 && position.ordinal === state.ordinal;
    if (isUnchanged) return { transfers: 0, judged: 0, reverted: 0, changed: 0 };
    // Transfers of blocks that were reverted since are no longer in the log.
    let oldestPending = position.ordinal;
    for (const { firstOrdinal } of pending) oldestPending = Math.min(oldestPending, firstOrdinal);
    for (const { firstOrdinal } of noted.values()) oldestPending = Math.min(oldestPending, firstOrdinal);
    const world: World = {
      graph,
      accounts,
      symbol: chainOf(chain).symbol,
      native: transfers.assetNumber(chain, chainOf(chain).symbol) ?? -1,
      oldestPending,
    };
    let changed = 0;
    store.write(() => {
      for (const node of touched) {
        const known = store.deposit(node);
        const record = this.#judge(world, node, known);
        if (record !== null) {
          if (store.putDeposit(node, record)) changed++;
        } else if (known !== null) {
          changed++;
          store.removeDeposit(node);
        }
      }
      for (const height of gone) store.removeBlock(height);
      this.#noteBlocks(pending, state.ordinal, touched);
      store.setDepositState({
        ...state,
        ordinal: position.ordinal,
        at: isoTime(this.#deps.clock.now()),
      });
    }, 'later');
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
        const isSenderAnchor = byNode.has(sender);
        const isReceiverAnchor = byNode.has(receiver);
        if (sender !== 0 && !isSenderAnchor && !touched.has(sender)) {
          const paysAnchor = isReceiverAnchor && (amount[row] as number) > 0;
          if (paysAnchor || store.hasDeposit(sender)) touched.add(sender);
        }
        if (receiver !== 0 && !isReceiverAnchor && !touched.has(receiver) && store.hasDeposit(receiver))
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

  /**
   * Returns whether the account ever paid the native coin or an asset of its forwardings to an address that is no collecting wallet of the
   * entity.
   */
  #paysOthers(
    { graph, symbol }: World,
    node: NodeId,
    receivers: readonly NodeId[],
    { entity, forwardings }: Pick<DepositRecord, 'entity' | 'forwardings'>,
  ): boolean {
    const others = receivers.filter((receiver) => this.#anchors.byNode.get(receiver) !== entity);
    if (others.length === 0) return false;
    const assets = new Set([symbol]);
    for (const { out } of forwardings) {
      const logged = this.#deps.transfers.loggedAt(this.#chain, out);
      if (logged !== null) assets.add(graph.assetName(logged.asset));
    }
    return others.some((receiver) =>
      graph.edge(node, receiver).some(({ asset, amount }) => amount > 0n && assets.has(asset)),
    );
  }

  #judge(world: World, node: NodeId, known: DepositRecord | null): DepositRecord | null {
    const { native, oldestPending, accounts } = world;
    const receivers = accounts.receivers(node, ATTRIBUTION_LIMITS.depositReceiversMax);
    if (receivers === null || receivers.length === 0) return null;
    const events = this.#eventsOf(node, accounts.newest(node));
    const { count } = events;
    const verdict = judgeAccount(events, 0, count, { entityOf: this.#entityOf, native });
    const exists = (ordinal: number): boolean =>
      ordinal < oldestPending || this.#deps.transfers.isLogged(this.#chain, ordinal);
    if (verdict === null && hasPaid(events)) return null;
    const kept = known?.forwardings.filter((one) => exists(one.out) && exists(one.in)) ?? [];
    const entity = verdict?.entity ?? known?.entity ?? 0;
    const earlier = known?.entity === entity ? kept : [];
    const forwardings = joined(earlier, verdict?.forwardings ?? []);
    if (forwardings.length === 0) return null;
    if (this.#paysOthers(world, node, receivers, { entity, forwardings })) return null;
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

  /** Converts the newest transfers of an account to what the rule judges. The columns are shared with the next account. */
  #eventsOf(
    node: NodeId,
    { count, ordinal, timestampMs, asset, from, to, amount, initiation }: LogColumns,
  ): Events {
    const { party, flags } = this.#events;
    for (let at = 0; at < count; at++) {
      const isOut = from[at] === node;
      party[at] = (isOut ? to[at] : from[at]) as number;
      flags[at] = isOut ? outFlags(initiation[at] as number) : 0;
    }
    return { count, ordinal, timestampMs, asset, party, amount, flags };
  }
}

interface Events extends EventColumns {
  readonly count: number;
}

/** Returns whether the account paid anything. */
function hasPaid({ count, flags, amount }: Events): boolean {
  for (let at = 0; at < count; at++)
    if (((flags[at] as number) & OUT) !== 0 && (amount[at] as number) > 0) return true;
  return false;
}

/** Joins the forwardings that were found earlier with those found now, oldest first; of the same payment the one found now counts. */
function joined(earlier: readonly Forwarding[], found: readonly Forwarding[]): readonly Forwarding[] {
  if (earlier.length === 0) return found;
  const all = new Map([...earlier, ...found].map((one) => [one.out, one]));
  return [...all.values()].sort((a, b) => a.timestampMs - b.timestampMs || a.out - b.out);
}
