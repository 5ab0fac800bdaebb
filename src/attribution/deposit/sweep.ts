/**
 * Applies the deposit rule to the whole log of a chain. Two passes over the log: the first finds the accounts that pay a collecting wallet,
 * the second distributes their transfers over files by account; then each file is judged in memory. Progress is kept on disk, so that an
 * interrupted sweep resumes; memory depends on the number of addresses (one bit each), not of transfers.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import type { TransferGraph } from '../../graph/graph.ts';
import { SENDER_IS_FROM, SENDER_IS_OTHER, SENDER_IS_TO } from '../../graph/store/initiation.ts';
import type { TransferStore } from '../../graph/store.ts';
import { readJson, writeJsonAtomically } from '../../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import type { AttributionStore, DepositRecord, NotedBlock } from '../store.ts';
import type { Anchors } from './anchors.ts';
import { EventFiles, readPartition, TWO_32 } from './event-files.ts';
import {
  DEPOSIT_RULE_VERSION,
  type DepositVerdict,
  judgeAccount,
  OUT,
  SIGNED_BY_OTHER,
  SIGNED_BY_SENDER,
} from './judge.ts';

export type SweepStep = 'candidates' | 'events' | 'judge';

export interface SweepOptions {
  readonly chain: ChainId;
  /** Folder for the files of the sweep; removed at its end. */
  readonly folder: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (step: SweepStep, done: number, total: number) => void;
}

export interface SweepDeps {
  readonly transfers: Pick<
    TransferStore,
    'logColumns' | 'logPosition' | 'pendingBlocks' | 'assetNumber' | 'graph'
  >;
  readonly anchors: Anchors;
  readonly store: AttributionStore;
  readonly clock: Clock;
}

/** Progress of a sweep. Another version or other inputs begin a new one. */
interface SweepState {
  readonly format: number;
  readonly store: string;
  readonly anchors: string;
  readonly rule: number;
  readonly end: number;
  readonly nodeCount: number;
  readonly partitions: number;
  step: SweepStep;
  /** Of 'candidates' and 'events' the number of the next transfer; of 'judge' the next partition. */
  next: number;
  /** Bytes of each event file that count. */
  lengths: readonly number[];
}

const FORMAT = 1;
const STATE_FILE = 'state.json';
const BITS_FILE = 'candidates.bits';

const PARTITIONS_MAX = 1_024;

/** Returns the bits of a payment: how its transaction was signed, seen from its sender. */
export const outFlags = (initiation: number): number => {
  const sender = initiation & 3;
  if (sender === SENDER_IS_FROM) return OUT | SIGNED_BY_SENDER;
  return sender === SENDER_IS_OTHER || sender === SENDER_IS_TO ? OUT | SIGNED_BY_OTHER : OUT;
};

/** Returns the record of a verdict. */
export function recordOf(verdict: DepositVerdict): DepositRecord {
  const { forwardings, entity, kind, fundedBy } = verdict;
  const kept = forwardings.slice(-ATTRIBUTION_LIMITS.forwardingsKept);
  return {
    entity,
    kind,
    fundedBy,
    forwardings: kept,
    older: forwardings.length - kept.length,
    firstMs: forwardings[0]?.timestampMs ?? 0,
  };
}

/** Sweeps the whole log. Afterwards the store has the result, and its position is the end of the log at the start of the sweep. */
export async function sweepDeposits(options: SweepOptions, deps: SweepDeps): Promise<void> {
  const { chain } = options;
  const position = deps.transfers.logPosition(chain);
  const graph = deps.transfers.graph(chain);
  if (position === null || graph === null)
    throw new AssayError('NOT_READY', `No transfer of ${chain} is stored. Run \`assay ingest\` first.`);
  await new Sweep(options, deps, graph, position.store).run(position.ordinal);
}

class Sweep {
  readonly #options: SweepOptions;
  readonly #deps: SweepDeps;
  readonly #graph: TransferGraph;
  readonly #storeName: string;

  constructor(options: SweepOptions, deps: SweepDeps, graph: TransferGraph, storeName: string) {
    this.#options = options;
    this.#deps = deps;
    this.#graph = graph;
    this.#storeName = storeName;
  }

  async run(end: number): Promise<void> {
    const { folder } = this.#options;
    mkdirSync(folder, PRIVATE_FOLDER);
    const state = this.#resumed() ?? this.#begin(end);
    const bits = this.#readBits(state);
    if (state.step === 'candidates') await this.#findCandidates(state, bits);
    if (state.step === 'events') await this.#distribute(state, bits);
    await this.#judge(state);
    this.#finish(state);
    await this.#deps.store.flushed();
    rmSync(folder, { recursive: true, force: true });
  }

  /** Returns the state of an interrupted sweep with the same inputs; null if absent. */
  #resumed(): SweepState | null {
    const path = join(this.#options.folder, STATE_FILE);
    if (!existsSync(path)) return null;
    const { anchors, store } = this.#deps;
    let state: SweepState;
    try {
      state = readJson(path) as SweepState;
    } catch {
      return null;
    }
    const isSame =
      state.format === FORMAT &&
      state.store === this.#storeName &&
      state.anchors === anchors.fingerprint &&
      state.rule === DEPOSIT_RULE_VERSION &&
      store.depositState() === null;
    return isSame ? state : null;
  }

  #begin(end: number): SweepState {
    const { folder, chain } = this.#options;
    const { store, transfers, anchors } = this.#deps;
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, PRIVATE_FOLDER);
    const partitions = Math.min(
      PARTITIONS_MAX,
      Math.max(1, Math.ceil((2 * end) / ATTRIBUTION_LIMITS.partitionEvents)),
    );
    // Blocks that can be reverted are noted now: if one is reverted while the sweep runs, its accounts are judged again afterwards.
    const noted = transfers
      .pendingBlocks(chain)
      .filter(({ firstOrdinal }) => firstOrdinal < end)
      .map(({ height, ...block }): [number, NotedBlock] => [
        height,
        { ...block, nodes: this.#nodesOf(block.firstOrdinal, block.count) },
      ]);
    store.write(() => {
      store.clearDeposits();
      for (const [height, block] of noted) store.setBlock(height, block);
    });
    const state: SweepState = {
      format: FORMAT,
      store: this.#storeName,
      anchors: anchors.fingerprint,
      rule: DEPOSIT_RULE_VERSION,
      end,
      nodeCount: this.#graph.nodeCount,
      partitions,
      step: 'candidates',
      next: 0,
      lengths: Array.from({ length: partitions }, () => 0),
    };
    this.#save(state);
    return state;
  }

  #nodesOf(first: number, count: number): number[] {
    const nodes = new Set<number>();
    for (const columns of this.#deps.transfers.logColumns(this.#options.chain, first, first + count))
      for (let row = 0; row < columns.count; row++) {
        nodes.add(columns.from[row] as number);
        nodes.add(columns.to[row] as number);
      }
    nodes.delete(0);
    return [...nodes];
  }

  #save(state: SweepState): void {
    writeJsonAtomically(join(this.#options.folder, STATE_FILE), state);
  }

  #readBits({ nodeCount, next, step }: SweepState): Uint8Array {
    const path = join(this.#options.folder, BITS_FILE);
    const bytes = (nodeCount >> 3) + 1;
    if (step !== 'judge' && (next > 0 || step === 'events') && existsSync(path)) {
      const stored = readFileSync(path);
      if (stored.length === bytes) return stored;
      throw new AssayError(
        'STORE_CORRUPT',
        `${path} is truncated. Remove its folder, and run the command again.`,
      );
    }
    return new Uint8Array(bytes);
  }

  #saveBits(bits: Uint8Array): void {
    writeFileSync(join(this.#options.folder, BITS_FILE), bits, { mode: 0o600, flush: true });
  }

  /** Calls `visit` for the log from `state.next` on, and `commit` in between. */
  async #eachBatch(
    state: SweepState,
    visit: (
      columns: ReturnType<SweepDeps['transfers']['logColumns']> extends Iterable<infer C> ? C : never,
    ) => void,
    commit: () => void,
  ): Promise<void> {
    const { chain, signal, onProgress } = this.#options;
    let committed = state.next;
    for (const columns of this.#deps.transfers.logColumns(chain, state.next, state.end)) {
      visit(columns);
      const next = (columns.ordinal[columns.count - 1] as number) + 1;
      onProgress?.(state.step, next, state.end);
      const isStopping = signal?.aborted === true;
      if (next - committed >= ATTRIBUTION_LIMITS.sweepCommitTransfers || isStopping) {
        state.next = next;
        commit();
        committed = next;
        if (isStopping) signal.throwIfAborted();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
  }

  async #findCandidates(state: SweepState, bits: Uint8Array): Promise<void> {
    const { byNode } = this.#deps.anchors;
    const isAnchor = new Uint8Array((state.nodeCount >> 3) + 1);
    for (const node of byNode.keys())
      if (node <= state.nodeCount) isAnchor[node >> 3] = (isAnchor[node >> 3] as number) | (1 << (node & 7));
    await this.#eachBatch(
      state,
      ({ count, from, to, amount }) => {
        for (let row = 0; row < count; row++) {
          const receiver = to[row] as number;
          if (((isAnchor[receiver >> 3] as number) & (1 << (receiver & 7))) === 0) continue;
          const sender = from[row] as number;
          if (sender === 0 || amount[row] === 0) continue;
          if (((isAnchor[sender >> 3] as number) & (1 << (sender & 7))) !== 0) continue;
          bits[sender >> 3] = (bits[sender >> 3] as number) | (1 << (sender & 7));
        }
      },
      () => {
        this.#saveBits(bits);
        this.#save(state);
      },
    );
    this.#withoutHubs(bits);
    state.step = 'events';
    state.next = 0;
    this.#saveBits(bits);
    this.#save(state);
  }

  /** Removes accounts that pay more addresses than a deposit address does: their transfers would fill the files. */
  #withoutHubs(bits: Uint8Array): void {
    for (let byte = 0; byte < bits.length; byte++) {
      if (bits[byte] === 0) continue;
      for (let bit = 0; bit < 8; bit++) {
        if (((bits[byte] as number) & (1 << bit)) === 0) continue;
        if (this.#graph.degree(byte * 8 + bit, 'out') > ATTRIBUTION_LIMITS.depositReceiversMax)
          bits[byte] = (bits[byte] as number) & ~(1 << bit);
      }
    }
  }

  async #distribute(state: SweepState, bits: Uint8Array): Promise<void> {
    const files = new EventFiles(this.#options.folder, state.lengths);
    try {
      await this.#eachBatch(
        state,
        ({ count, from, to, asset, amount, timestampMs, ordinal, initiation }) => {
          for (let row = 0; row < count; row++) {
            const sender = from[row] as number;
            const receiver = to[row] as number;
            if (sender === receiver) continue;
            const isOut = ((bits[sender >> 3] as number) & (1 << (sender & 7))) !== 0 && sender !== 0;
            const isIn = ((bits[receiver >> 3] as number) & (1 << (receiver & 7))) !== 0 && receiver !== 0;
            if (!isOut && !isIn) continue;
            const assetWord = (asset[row] as number) * TWO_32;
            const when = timestampMs[row] as number;
            const number = ordinal[row] as number;
            const moved = amount[row] as number;
            if (isOut)
              files.add(
                sender,
                outFlags(initiation[row] as number),
                number,
                when,
                assetWord + receiver,
                moved,
              );
            if (isIn) files.add(receiver, 0, number, when, assetWord + sender, moved);
          }
        },
        () => {
          state.lengths = files.flush();
          this.#save(state);
        },
      );
      state.lengths = files.flush();
    } finally {
      files.close();
    }
    state.step = 'judge';
    state.next = 0;
    this.#save(state);
  }

  async #judge(state: SweepState): Promise<void> {
    const { store, anchors, transfers } = this.#deps;
    const { chain, folder, signal, onProgress } = this.#options;
    const rules = {
      entityOf: (node: number): number => anchors.byNode.get(node) ?? 0,
      native: transfers.assetNumber(chain, chainOf(chain).symbol) ?? -1,
    };
    for (; state.next < state.partitions; state.next++) {
      onProgress?.('judge', state.next, state.partitions);
      if (signal?.aborted) {
        this.#save(state);
        signal.throwIfAborted();
      }
      const accounts = readPartition(folder, state);
      let batch: (readonly [number, DepositRecord])[] = [];
      const put = (disk: 'now' | 'later'): void => {
        store.write(() => {
          for (const [node, record] of batch) store.putDeposit(node, record);
        }, disk);
        batch = [];
      };
      for (const { node, events, start, end } of accounts) {
        const verdict = judgeAccount(events, start, end, rules);
        if (verdict !== null) batch.push([node, recordOf(verdict)]);
        if (batch.length === ATTRIBUTION_LIMITS.storeBatch) put('later');
      }
      // The position of the sweep steps over this part, so its records must be on disk before.
      put('now');
      await new Promise((resolve) => setImmediate(resolve));
    }
    onProgress?.('judge', state.partitions, state.partitions);
  }

  #finish({ end, rule }: SweepState): void {
    const { store, anchors, clock } = this.#deps;
    store.write(() => {
      store.setDepositState({
        store: this.#storeName,
        ordinal: end,
        ruleVersion: rule,
        anchors: anchors.fingerprint,
        entities: anchors.entities,
        at: isoTime(clock.now()),
      });
    });
  }
}
