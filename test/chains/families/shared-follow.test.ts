/** Followers of one chain share their requests, and each keeps its own position, pace and faults. */
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { AssayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import type { Block } from '../../../src/chains/block.ts';
import type { BlockAnswer, BlockRef, Call, ChainEvent } from '../../../src/chains/families/port.ts';
import { createFollowing } from '../../../src/chains/families/shared-follow.ts';
import { CHAIN_LIMITS } from '../../../src/chains/limits.ts';
import { sleep } from '../../support/wait.ts';

const hashOf = (height: number, branch: string): string => `${branch}${height}`;

/** A chain in memory that records its requests. `forkAt` is the first height of the newest branch. */
function chainOf(height: number, pollMs = 20) {
  const state = {
    ...{ height, branch: 'a', forkAt: 0, former: 'a', heads: 0, isDown: false },
    blocks: [] as number[],
    aborted: [] as number[],
    /** Delays the answers for blocks until it resolves. */
    gate: Promise.resolve(),
  };
  const hashAt = (at: number): string => hashOf(at, at < state.forkAt ? state.former : state.branch);
  const source = {
    async head(): Promise<BlockRef> {
      state.heads++;
      if (state.isDown) throw new AssayError('CHAIN_UNREACHABLE', 'down');
      return { height: state.height, hash: hashAt(state.height) };
    },
    async block(at: number, { signal }: Call): Promise<BlockAnswer> {
      state.blocks.push(at);
      signal.addEventListener('abort', () => state.aborted.push(at));
      await state.gate;
      const provenance = { source: 's', height: at, completeness: 'COMPLETE' as const, note: null };
      if (at > state.height) return { ...provenance, block: null };
      const block: Block = {
        ...{ chain: 'ETH', height: at, hash: hashAt(at), timestampMs: at, transfers: [] },
        parentHash: at === 0 ? null : hashAt(at - 1),
      };
      return { ...provenance, block };
    },
    hashAt: async (at: number) => (at > state.height ? null : hashAt(at)),
  };
  const end = new AbortController();
  const subscribe = createFollowing(
    source,
    { chain: 'ETH', pollMs, retryMs: 1, closed: end.signal },
    { clock: systemClock, log: silentLogger, jitter: () => 0.5 },
  );
  /** Starts a follower that collects its events, waits after each of them, and throws where it is told to. */
  function start(fromHeight: number, each: (event: ChainEvent) => Promise<void> | void = () => {}) {
    const stop = new AbortController();
    const events: ChainEvent[] = [];
    const known = fromHeight === 0 ? [] : [{ height: fromHeight - 1, hash: hashAt(fromHeight - 1) }];
    const ended = (async () => {
      for await (const event of subscribe({ fromHeight, known }, { signal: stop.signal, budgetMs: 1_000 })) {
        events.push(event);
        await each(event);
      }
    })().then(
      () => null,
      (error: unknown) => error,
    );
    const blocks = (): Block[] => events.flatMap((event) => (event.type === 'block' ? [event.block] : []));
    const reaches = (hash: string) => expect.poll(() => blocks().at(-1)?.hash, { timeout: 5_000 }).toBe(hash);
    return { stop, events, ended, blocks, reaches };
  }
  return { state, start, end };
}

const opened: ReturnType<typeof chainOf>[] = [];
const open = (...args: Parameters<typeof chainOf>): ReturnType<typeof chainOf> => {
  const chain = chainOf(...args);
  opened.push(chain);
  return chain;
};
afterEach(() => {
  for (const { end } of opened.splice(0)) end.abort();
});

describe('followers of one chain', () => {
  it('request each block once, and get the same object', async () => {
    const { state, start } = open(5);
    const [first, second] = [start(3), start(3)];
    for (state.height = 6; state.height < 12; state.height++) await sleep(25);
    await first.reaches('a12');
    await second.reaches('a12');
    expect(state.blocks).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(first.blocks().map(({ height }) => height)).toEqual(state.blocks);
    for (const [at, block] of first.blocks().entries()) expect(second.blocks()[at]).toBe(block);
  });

  it('ask for the head as often as one of them would', async () => {
    const { state, start } = open(5, 50);
    const first = start(5);
    await first.reaches('a5');
    await sleep(1_000);
    const ofOne = state.heads;
    start(5);
    await sleep(1_000);
    expect(state.heads - ofOne).toBeLessThan(ofOne * 1.5);
  });

  it('catch up by their own requests if they lag, and then join', async () => {
    const { state, start } = open(100);
    const ahead = start(100);
    await ahead.reaches('a100');
    const lagging = start(10);
    await lagging.reaches('a100');
    expect(state.blocks.filter((at) => at < 100).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 90 }, (_, at) => at + 10),
    );
    state.blocks.length = 0;
    for (state.height = 101; state.height < 105; state.height++) await sleep(50);
    await Promise.all([ahead.reaches('a105'), lagging.reaches('a105')]);
    expect(state.blocks).toEqual([101, 102, 103, 104, 105]);
  });

  it('both see a reorg, also if one of them has not read the reverted blocks', async () => {
    const { state, start } = open(10);
    let isHeld = false;
    const fast = start(8);
    const slow = start(8, async ({ type }) => {
      while (isHeld && type === 'block') await sleep(5);
    });
    await Promise.all([fast.reaches('a10'), slow.reaches('a10')]);
    isHeld = true;
    state.height = 12;
    await fast.reaches('a12');
    await slow.reaches('a11');
    Object.assign(state, { branch: 'b', forkAt: 10, height: 13 });
    await fast.reaches('b13');
    isHeld = false;
    await slow.reaches('b13');
    for (const { events } of [fast, slow]) {
      const reorgs = events.filter(({ type }) => type === 'reorg');
      expect(reorgs).toMatchObject([{ ancestor: { height: 9, hash: 'a9' } }]);
      // Whatever each has seen of the old branch, it ends with the new one.
      const kept: string[] = [];
      for (const event of events)
        if (event.type === 'block') kept.push(event.block.hash);
        else kept.splice(kept.length - event.dropped.length);
      expect(kept).toEqual(['a8', 'a9', 'b10', 'b11', 'b12', 'b13']);
    }
  });

  it('request the blocks of a new branch once', async () => {
    const { state, start } = open(10);
    const [first, second] = [start(8), start(8)];
    await Promise.all([first.reaches('a10'), second.reaches('a10')]);
    state.blocks.length = 0;
    Object.assign(state, { branch: 'b', forkAt: 10, height: 11 });
    await Promise.all([first.reaches('b11'), second.reaches('b11')]);
    // Both see at block 11 that its parent is another one.
    expect(state.blocks.filter((at) => at === 10)).toEqual([10]);
    expect(state.blocks.length).toBeLessThanOrEqual(4);
  });

  it('go on if one of them throws or is stopped', async () => {
    const { state, start } = open(5);
    const broken = start(5, ({ type }) => {
      if (type === 'block') throw new Error('full');
    });
    const stopped = start(5);
    const rest = start(5);
    expect(await broken.ended).toMatchObject({ message: 'full' });
    await Promise.all([rest.reaches('a5'), stopped.reaches('a5')]);
    stopped.stop.abort();
    expect(await stopped.ended).toBeNull();
    state.height = 7;
    await rest.reaches('a7');
    expect(state.blocks).toEqual([5, 6, 7]);
  });

  it('abort a request only if nobody waits for it any more', async () => {
    const { state, start } = open(5);
    let release = (): void => {};
    state.gate = new Promise((resolve) => {
      release = resolve;
    });
    const [first, second] = [start(5), start(5)];
    await expect.poll(() => state.blocks).toEqual([5]);
    first.stop.abort();
    expect(await first.ended).toBeNull();
    expect(state.aborted).toEqual([]);
    release();
    await second.reaches('a5');
    expect(state.blocks).toEqual([5]);

    state.gate = new Promise(() => {});
    state.height = 6;
    await expect.poll(() => state.blocks).toEqual([5, 6]);
    second.stop.abort();
    expect(await second.ended).toBeNull();
    expect(state.aborted).toContain(6);
  });

  it('recover from an outage each by itself', async () => {
    const { state, start } = open(5);
    const [first, second] = [start(5), start(5)];
    await Promise.all([first.reaches('a5'), second.reaches('a5')]);
    state.isDown = true;
    await sleep(100);
    Object.assign(state, { isDown: false, height: 8 });
    await Promise.all([first.reaches('a8'), second.reaches('a8')]);
    expect(state.blocks).toEqual([5, 6, 7, 8]);
  });

  it('keep few blocks for a follower that is held up', async () => {
    const { state, start } = open(5);
    let isHeld = true;
    const slow = start(5, async () => {
      while (isHeld) await sleep(5);
    });
    const fast = start(5);
    await fast.reaches('a5');
    await slow.reaches('a5');
    state.height = 60;
    await fast.reaches('a60');
    isHeld = false;
    await slow.reaches('a60');
    expect(slow.blocks().map(({ height }) => height)).toEqual(fast.blocks().map(({ height }) => height));
    const shared = slow.blocks().filter((block, at) => block === fast.blocks()[at]).length;
    expect(shared).toBeLessThanOrEqual(CHAIN_LIMITS.sharedBlocksMax + 1);
  });
});
