/** Wallets that are added shortly before a reorg: blocks of the new branch count for them, also below the block at which they were added. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Block } from '../../src/chains/block.ts';
import { follow } from '../../src/chains/families/follow.ts';
import type { BlockRef, ChainAdapter } from '../../src/chains/families/port.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { Monitoring } from '../../src/monitoring/open.ts';
import type { MonitoringService } from '../../src/monitoring/service.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { openedMonitoring } from './opened.ts';

const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;

/** A chain whose blocks the test replaces. */
class Branches {
  #blocks: Block[] = [];
  #made = 0;
  #isStopped = false;
  readonly refOf = (height: number): BlockRef => {
    const { hash } = this.#blocks[height] as Block;
    return { height, hash };
  };
  /** Number of blocks that were read. */
  reads = 0;

  constructor() {
    this.grow(100);
  }

  get height(): number {
    return this.#blocks.length - 1;
  }

  /** Adds blocks without transfers. */
  grow(count: number): void {
    for (let n = 0; n < count; n++) this.add();
  }

  /** Adds a block with one transfer to each address. */
  add(...to: readonly string[]): void {
    const height = this.#blocks.length;
    const hash = `0x${(++this.#made).toString(16).padStart(64, '0')}`;
    const timestampMs = Date.now() - 1_000;
    const transfers = to.map(
      (receiver, n): Transfer => ({
        chain: 'ETH',
        txHash: `${hash} ${n}`,
        position: 'value',
        blockNumber: height,
        timestampMs,
        from: address(999),
        to: receiver,
        asset: 'ETH',
        amount: 10n ** 18n,
        decimals: 18,
        valueUsd: 2_000,
      }),
    );
    const parentHash = this.#blocks.at(-1)?.hash ?? null;
    this.#blocks.push({ chain: 'ETH', height, hash, parentHash, timestampMs, transfers });
  }

  /** Removes the blocks above a height. */
  cut(height: number): void {
    this.#blocks.length = height + 1;
  }

  /** While it is stopped, followers are told of no head. */
  stop(isStopped: boolean): void {
    this.#isStopped = isStopped;
  }

  adapter(): ChainAdapter {
    const head = async () => ({
      ...this.refOf(this.height),
      timestampMs: null,
      source: null,
      completeness: 'COMPLETE' as const,
      note: null,
    });
    const source = {
      head: async () => {
        while (this.#isStopped) await new Promise((resolve) => setTimeout(resolve, 2));
        return head();
      },
      block: async (height: number) => {
        this.reads++;
        const block = this.#blocks[height] ?? null;
        return { block, source: null, height, completeness: 'COMPLETE' as const, note: null };
      },
      hashAt: async (height: number) => this.#blocks[height]?.hash ?? null,
    };
    return {
      chain: 'ETH',
      head,
      subscribe: (from, call) =>
        follow(source, { chain: 'ETH', pollMs: 2, closed: new AbortController().signal }, from, call, {
          clock: systemClock,
          log: silentLogger,
          jitter: () => 0,
        }),
      health: () => ({ chain: 'ETH', reachable: true, endpoints: [] }),
      close: async () => {},
    } as Partial<ChainAdapter> as ChainAdapter;
  }
}

describe('a wallet that was added shortly before a reorg', () => {
  let folder: TempFolder;
  let chain: Branches;
  let monitoring: Monitoring;
  let service: MonitoringService;

  beforeEach(async () => {
    folder = memoryFolder();
    chain = new Branches();
    monitoring = openedMonitoring(folder.path, { adapter: async () => chain.adapter() });
    monitoring.start();
    service = monitoring.service;
  });
  afterEach(async () => {
    chain.stop(false);
    await monitoring.close();
    folder.remove();
  });

  const add = (n: number) => service.register('a', { chain: 'ETH', walletAddress: address(n) });
  const isFollowed = () =>
    expect.poll(() => service.store.blocks('ETH').at(-1)).toEqual(chain.refOf(chain.height));
  const blocksOf = (id: string) =>
    service.store
      .transactions('a', id, { limit: 10, offset: 0 })
      .transactions.filter(({ reorged }) => !reorged)
      .map(({ blockNumber }) => blockNumber);

  it('sees the transfers of the new branch up to that block, and not those of its own branch', async () => {
    const first = await add(1);
    chain.add(address(2));
    chain.grow(9);
    await isFollowed();
    const second = await add(2);
    const height = chain.height;
    chain.cut(height - 6);
    chain.grow(3);
    chain.add(address(1), address(2));
    chain.grow(1);
    const third = height - 2;
    await isFollowed();
    const late = await add(3);
    chain.grow(3);
    await isFollowed();
    expect([blocksOf(first.id), blocksOf(second.id)]).toEqual([[third], [third]]);
    // Added after the reorg, below the blocks of the old branch.
    chain.cut(chain.height - 1);
    chain.add(address(3));
    chain.grow(1);
    await isFollowed();
    expect(blocksOf(late.id)).toEqual([chain.height - 1]);
  });

  it('is not shown transfers of blocks that a reorg before it reached', async () => {
    const first = await add(1);
    chain.grow(5);
    await isFollowed();
    chain.cut(chain.height - 3);
    chain.grow(4);
    await isFollowed();
    const second = await add(2);
    // A reorg of the newest block only: those below were there when the wallet was added.
    const height = chain.height;
    chain.cut(height - 1);
    chain.add(address(2));
    chain.grow(1);
    await isFollowed();
    expect([blocksOf(first.id), blocksOf(second.id)]).toEqual([[], [height]]);
  });

  it.each([1, 5])('is the first of its chain: a reorg of %i blocks is noticed as well', async (depth) => {
    chain.stop(true);
    const wallet = await add(1);
    const head = chain.height;
    await expect.poll(() => service.store.blocks('ETH')).toHaveLength(17);
    chain.cut(head - depth);
    for (let n = 0; n <= depth; n++) chain.add(address(1));
    chain.stop(false);
    await isFollowed();
    expect(blocksOf(wallet.id)).toEqual(Array.from({ length: depth + 1 }, (_, n) => head + 1 - n));
  });

  it('is resumed: the same holds', async () => {
    await add(1);
    const wallet = await add(2);
    await service.change('a', wallet.id, { status: 'PAUSED' });
    chain.add(address(2));
    chain.grow(9);
    await isFollowed();
    await service.change('a', wallet.id, { status: 'ACTIVE' });
    const height = chain.height;
    chain.cut(height - 4);
    chain.grow(1);
    chain.add(address(2));
    chain.grow(5);
    await isFollowed();
    expect(blocksOf(wallet.id)).toEqual([height - 2]);
  });
});
