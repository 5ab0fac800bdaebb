/** A chain that reorganises, a node that lags, fails and repeats itself, a program that stops in between: the graph stays right. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { readyGroups } from '../../src/base/ready-groups.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Block } from '../../src/chains/block.ts';
import { type FollowSource, follow } from '../../src/chains/families/follow.ts';
import type { BlockAnswer, ChainEvent, FollowFrom } from '../../src/chains/families/port.ts';
import { CHAIN_LIMITS } from '../../src/chains/limits.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createLiveIngest } from '../../src/graph/ingest/live.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import type { Counterparty } from '../../src/graph/transfers.ts';

const account = (number: number): string =>
  parseAddress('ETH', `0x${number.toString(16).padStart(40, '0')}`).canonical;
const PARTIES = Array.from({ length: 12 }, (_, index) => account(index + 1));

/** A chain that grows and reorganises by a seed, and answers like nodes at their worst. */
class SimulatedChain implements FollowSource {
  readonly blocks: Block[] = [];
  readonly #next: () => number;
  #serial = 0;
  #stall = 0;
  /** The blocks that another, outdated node would still return. */
  #left: Block[] = [];
  honest = false;
  reorgs = 0;

  constructor(seed: number) {
    this.#next = seededUint32(seed);
    this.#grow();
  }

  chance(oneIn: number): boolean {
    return this.#next() % oneIn === 0;
  }

  #grow(): void {
    const height = this.blocks.length;
    const serial = this.#serial++;
    const timestampMs = Date.UTC(2026, 0, 1) + serial * 12_000;
    const transfers = Array.from({ length: this.#next() % 5 }, (_, index): Transfer => {
      // In some blocks, a transaction of the reverted branch is included again in the new one.
      const again = this.#left.at(-1)?.transfers[index];
      const isRepeated = again !== undefined && this.chance(2);
      return {
        chain: 'ETH',
        txHash: isRepeated ? again.txHash : `0x${(serial * 100 + index + 1).toString(16).padStart(64, '0')}`,
        position: 'value',
        blockNumber: height,
        timestampMs,
        from: PARTIES[this.#next() % PARTIES.length]!,
        to: PARTIES[this.#next() % PARTIES.length]!,
        asset: 'ETH',
        amount: BigInt(this.#next() % 1_000),
        decimals: 18,
        valueUsd: null,
      };
    });
    this.#left.pop();
    const hash = `0x${(serial + 1).toString(16).padStart(64, 'a')}`;
    this.blocks.push({
      chain: 'ETH',
      height,
      hash,
      parentHash: this.blocks.at(-1)?.hash ?? null,
      timestampMs,
      transfers: [...new Map(transfers.map((row) => [row.txHash, row])).values()],
    });
  }

  /** Advances time: new blocks, or others that replace the newest. */
  turn(): void {
    if (this.chance(6) && this.blocks.length > 3) {
      const depth = 1 + (this.#next() % Math.min(12, this.blocks.length - 1));
      this.#left = this.blocks.splice(-depth);
      this.reorgs++;
      // The new branch may also be shorter than the one it replaces, as a node shows while it switches.
      const blocks = this.chance(3) ? Math.max(1, depth - 1) : depth + 1;
      for (let made = 0; made < blocks; made++) this.#grow();
    } else this.#grow();
  }

  #trouble(): void {
    if (this.honest) return;
    if (this.#stall > 0) {
      this.#stall--;
      throw new AssayError('CHAIN_TIMEOUT', 'stalled');
    }
    if (this.chance(40)) this.#stall = 1 + (this.#next() % 3);
    if (this.chance(12)) throw new AssayError('CHAIN_UNREACHABLE', 'dropped');
    if (this.chance(25)) throw new AssayError('CHAIN_BAD_ANSWER', 'cut off');
  }

  async head() {
    await Promise.resolve();
    this.#trouble();
    if (!this.honest && this.chance(3)) this.turn();
    // A node that lags: its head is an older block of the same chain.
    const lag = !this.honest && this.chance(5) ? this.#next() % Math.min(4, this.blocks.length) : 0;
    const { height, hash } = this.blocks.at(-1 - lag)!;
    return { height, hash };
  }

  async block(height: number): Promise<BlockAnswer> {
    await Promise.resolve();
    this.#trouble();
    if (!this.honest && this.chance(4)) this.turn();
    const stale =
      !this.honest && this.chance(8) ? this.#left.find((block) => block.height === height) : undefined;
    const block = stale ?? this.blocks[height] ?? null;
    const missing = !this.honest && this.chance(10);
    return { block: missing ? null : block, source: 'sim x', height, completeness: 'COMPLETE', note: null };
  }

  async hashAt(height: number) {
    await Promise.resolve();
    this.#trouble();
    return this.blocks[height]?.hash ?? null;
  }
}

const followed = (chain: FollowSource, from: FollowFrom, signal: AbortSignal) =>
  follow(
    chain,
    { chain: 'ETH', pollMs: 1, closed: new AbortController().signal, retryMs: 1 },
    from,
    { signal, budgetMs: 1_000 },
    { clock: systemClock, log: silentLogger, jitter: () => 0.5 },
  );

const byAddress = (rows: readonly Counterparty[]) =>
  rows.toSorted((a, b) => (a.address < b.address ? -1 : 1));

/** Reads everything about the parties that depends only on the set of transfers. */
const stateOf = (store: TransferStore) =>
  PARTIES.map((address) => {
    const { key } = parseAddress('ETH', address);
    return {
      totals: store.totals('ETH', key),
      // Counterparties with equal values are in the order of arrival, so sort them.
      out: byAddress(store.counterparties('ETH', key, { direction: 'out', limit: 100 })),
      in: byAddress(store.counterparties('ETH', key, { direction: 'in', limit: 100 })),
      // Ids of addresses are in the order of their arrival.
      recent: store
        .recent('ETH', key, 1_000)
        .toSorted((a, b) => (a.txHash < b.txHash ? -1 : 1))
        .map(({ counterparty, ...one }) => [one, counterparty?.address]),
    };
  });

describe('following blocks into the graph', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-live-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const outputs = (): never => {
    throw new Error('this test has no UTXO chain');
  };

  it.each([1, 2, 3])(
    'stores the final chain exactly once over 200 blocks with reorgs, drops, repetitions, stalls and restarts, seed %i',
    async (seed) => {
      const chain = new SimulatedChain(seed);
      const path = join(folder, 'live');
      let store = openTransferStore({ path, readOnly: false });
      let ingest = createLiveIngest({ transfers: store, outputs });
      let restarts = 0;
      let reorgsTold = 0;
      const settled = (): boolean => {
        const [newest] = store.blocks('ETH');
        return chain.honest && newest?.hash === chain.blocks.at(-1)?.hash;
      };
      while (!settled()) {
        const ending = new AbortController();
        const events = followed(chain, ingest.from('ETH', 0), ending.signal);
        // One by one with the first seed, otherwise in groups.
        for await (const group of readyGroups(events, () => (seed === 1 ? 1 : 16))) {
          await ingest.applyAll('ETH', group);
          reorgsTold += group.filter(({ type }) => type === 'reorg').length;
          // The node sends a block twice: nothing changes.
          const newest = group.at(-1);
          if (newest?.type === 'block' && chain.chance(5)) expect(await ingest.append(newest.block)).toBe(0);
          if (chain.blocks.length >= 200) chain.honest = true;
          if (settled()) break;
          if (!chain.honest && chain.chance(50)) break;
        }
        ending.abort();
        if (settled()) break;
        restarts++;
        await store.close();
        // While the program was stopped, the chain went on and may have reverted stored blocks.
        for (let turns = 0; turns < 3; turns++) chain.turn();
        store = openTransferStore({ path, readOnly: false });
        ingest = createLiveIngest({ transfers: store, outputs });
      }
      expect(chain.reorgs).toBeGreaterThan(5);
      expect(reorgsTold).toBeGreaterThan(3);
      expect(restarts).toBeGreaterThan(0);
      const fresh = openTransferStore({ path: join(folder, 'final'), readOnly: false });
      for (const block of chain.blocks) await fresh.appendBlock(block);
      expect(stateOf(store)).toEqual(stateOf(fresh));
      const all = chain.blocks.flatMap((block) => block.transfers);
      expect(store.coverage('ETH').transfers).toBe(new Set(all.map((row) => row.txHash)).size);
      await store.close();
      await fresh.close();
    },
  );

  it('ends with a typed error on a reorg deeper than the limit', async () => {
    const length = CHAIN_LIMITS.reorgBlocksMax + 20;
    const make = (branch: string, height: number): Block => ({
      chain: 'ETH',
      height,
      hash: `${branch}${height}`,
      parentHash: height === 0 ? null : `${height - 1 < 5 ? 'a' : branch}${height - 1}`,
      timestampMs: Date.UTC(2026, 0, 1),
      transfers: [],
    });
    let branch = 'a';
    const at = (height: number): Block => make(height < 5 ? 'a' : branch, height);
    const source: FollowSource = {
      head: async () => ({ height: length, hash: at(length).hash }),
      block: async (height) => ({
        block: height > length ? null : at(height),
        source: 'sim x',
        height,
        completeness: 'COMPLETE',
        note: null,
      }),
      hashAt: async (height) => at(height).hash,
    };
    const run = async (): Promise<void> => {
      for await (const event of followed(source, { fromHeight: 0, known: [] }, new AbortController().signal))
        if (event.type === 'block' && event.block.height === length) branch = 'b';
    };
    await expect(run()).rejects.toMatchObject({ code: 'CHAIN_REORG_TOO_DEEP' });
  });

  it('reverts as much as possible on a reorg deeper than the store can undo, and reports the rest', async () => {
    const store = openTransferStore({ path: join(folder, 'deep'), readOnly: false });
    const ingest = createLiveIngest({ transfers: store, outputs });
    const refs: { height: number; hash: string }[] = [];
    const last = GRAPH_LIMITS.reorgBlocksKept + 7;
    for (let height = 0; height <= last; height++) {
      const hash = `a${height}`;
      refs.unshift({ height, hash });
      await ingest.apply('ETH', {
        type: 'block',
        completeness: 'COMPLETE',
        block: {
          chain: 'ETH',
          height,
          hash,
          parentHash: height === 0 ? null : `a${height - 1}`,
          timestampMs: Date.UTC(2026, 0, 1),
          transfers: [],
        },
      });
    }
    expect(store.finalHeight('ETH')).toBe(7);
    const dropped = refs.slice(0, -5);
    await expect(
      ingest.apply('ETH', { type: 'reorg', ancestor: refs.at(-5) ?? null, dropped }),
    ).rejects.toMatchObject({
      code: 'CHAIN_REORG_TOO_DEEP',
      message: expect.stringContaining('of which 5 to 7 are final'),
    });
    expect(store.blocks('ETH')).toEqual([]);
    await store.close();
  });

  it('does not treat a lagging node as a reorg', async () => {
    const chain = new SimulatedChain(9);
    chain.honest = true;
    while (chain.blocks.length < 10) chain.turn();
    const ending = new AbortController();
    let looks = 0;
    const lagging: FollowSource = {
      block: (height) => chain.block(height),
      hashAt: (height) => chain.hashAt(height),
      async head() {
        looks++;
        if (looks > 20) ending.abort();
        const { height, hash } = chain.blocks[looks % 2 === 0 ? 3 : 9]!;
        return { height, hash };
      },
    };
    const events: ChainEvent[] = [];
    for await (const event of followed(lagging, { fromHeight: 0, known: [] }, ending.signal))
      events.push(event);
    expect(events.map((event) => event.type === 'block' && event.block.height)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ]);
  });
});
