/** Faults of a followed chain are reported once, and so is its recovery, although following continues by itself. */
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { AssayError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { follow } from '../../../src/chains/families/follow.ts';

describe('following a chain', () => {
  it('reports the first read, each outage once, and each recovery', async () => {
    const end = new AbortController();
    const faults = [false, true, true, false, true, false];
    const reports: (string | null)[] = [];
    const heads: number[] = [];
    const head = async () => {
      const isDown = faults.shift();
      if (isDown === undefined) end.abort();
      if (isDown) throw new AssayError('CHAIN_UNREACHABLE', 'down');
      return { height: 5, hash: '0x5' };
    };
    const source = {
      head,
      block: () => Promise.reject(new Error('no block is wanted')),
      hashAt: async () => '0x5',
    };
    const events = follow(
      source,
      { chain: 'ETH', pollMs: 1, retryMs: 1, closed: new AbortController().signal },
      {
        fromHeight: 6,
        known: [{ height: 5, hash: '0x5' }],
        onFault: (fault) => reports.push(fault?.code ?? null),
        onHead: (height) => heads.push(height),
      },
      { signal: end.signal, budgetMs: 1_000 },
      { clock: systemClock, log: silentLogger, jitter: () => 0 },
    );
    for await (const event of events) expect(event).toBeUndefined();
    // Three reads that succeeded, and that which ends the test.
    expect(heads).toEqual([5, 5, 5, 5]);
    expect(reports).toEqual([null, 'CHAIN_UNREACHABLE', null, 'CHAIN_UNREACHABLE', null]);
  });
});

describe('a reorg behind a load balancer', () => {
  it('reverts only what left the chain, although a node that lags answers in between', async () => {
    const end = new AbortController();
    const refOf = (height: number) => ({ height, hash: height >= 8 ? `new ${height}` : `${height}` });
    const asked: number[] = [];
    let lags = 4;
    const source = {
      head: async () => refOf(9),
      block: async (height: number) => ({
        block: {
          chain: 'ETH' as const,
          ...refOf(height),
          parentHash: refOf(height - 1).hash,
          timestampMs: 0,
          transfers: [],
        },
        source: null,
        height,
        completeness: 'COMPLETE' as const,
        note: null,
      }),
      // The other node has no block above 5 yet.
      hashAt: async (height: number) => {
        asked.push(height);
        return lags-- > 0 && height > 5 ? null : refOf(height).hash;
      },
    };
    const events = follow(
      source,
      { chain: 'ETH', pollMs: 1, retryMs: 1, closed: new AbortController().signal },
      { fromHeight: 9, known: [4, 5, 6, 7, 8].map((height) => ({ height, hash: `${height}` })) },
      { signal: end.signal, budgetMs: 1_000 },
      { clock: systemClock, log: silentLogger, jitter: () => 0 },
    );
    const seen: unknown[] = [];
    for await (const event of events) {
      seen.push(event.type === 'reorg' ? event : event.block.height);
      if (seen.length === 3) end.abort();
    }
    expect(seen).toEqual([
      { type: 'reorg', ancestor: { height: 7, hash: '7' }, dropped: [{ height: 8, hash: '8' }] },
      8,
      9,
    ]);
    expect(asked).toEqual([8, 8, 8, 8, 8, 7]);
  });
});

describe('a chain whose newest block is the only known one', () => {
  const refOf = (height: number) => ({ height, hash: `${height}` });
  /** Follows to block 31, and returns the blocks before 30 that were reported. */
  async function earlierOf(hashAt: (height: number) => Promise<string | null>): Promise<number[] | null> {
    const end = new AbortController();
    let reported: number[] | null = null;
    const block = { chain: 'ETH' as const, ...refOf(31), parentHash: '30', timestampMs: 0, transfers: [] };
    const answer = { block, source: null, height: 31, completeness: 'COMPLETE' as const, note: null };
    const events = follow(
      { head: async () => refOf(31), block: async () => answer, hashAt },
      { chain: 'ETH', pollMs: 1, retryMs: 1, closed: new AbortController().signal },
      {
        fromHeight: 31,
        known: [refOf(30)],
        onEarlier: async (blocks) => {
          reported = blocks.map(({ height }) => height);
        },
      },
      { signal: end.signal, budgetMs: 1_000 },
      { clock: systemClock, log: silentLogger, jitter: () => 0 },
    );
    for await (const event of events) {
      expect(event).toMatchObject({ type: 'block', block: { height: 31 } });
      end.abort();
    }
    return reported;
  }

  it('has blocks before it, which are read once, also after an outage', async () => {
    const sixteen = Array.from({ length: 16 }, (_, at) => 14 + at);
    expect(await earlierOf(async (height) => `${height}`)).toEqual(sixteen);
    let isDown = true;
    const down = async (height: number) => {
      if (height === 20 && isDown) {
        isDown = false;
        throw new AssayError('CHAIN_UNREACHABLE', 'down');
      }
      return `${height}`;
    };
    expect(await earlierOf(down)).toEqual(sixteen);
  });

  it('is followed without them if the node does not have them, or if it was reverted', async () => {
    const refused = () => Promise.reject(new AssayError('CHAIN_REFUSED', 'pruned'));
    expect(await earlierOf(refused)).toBeNull();
    expect(await earlierOf(async () => null)).toBeNull();
    expect(await earlierOf(async (height) => (height === 30 ? 'other' : `${height}`))).toBeNull();
  });
});

describe('a block of the future', () => {
  it('is not delivered before the clock is within three hours of it', async () => {
    const end = new AbortController();
    const blockMs = 1_800_000_000_000;
    let nowMs = blockMs - 3 * 3_600_000 - 1;
    const faults: (string | undefined)[] = [];
    const source = {
      head: async () => ({ height: 5, hash: '0x5' }),
      block: async (height: number) => ({
        block: {
          chain: 'ETH' as const,
          ...{ height, hash: '0x5', parentHash: '0x4', timestampMs: blockMs, transfers: [] },
        },
        source: null,
        height,
        completeness: 'COMPLETE' as const,
        note: null,
      }),
      hashAt: async () => '0x5',
    };
    const events = follow(
      source,
      { chain: 'ETH', pollMs: 1, retryMs: 1, closed: new AbortController().signal },
      {
        fromHeight: 5,
        known: [],
        onFault: (fault) => {
          faults.push(fault?.message);
          if (fault !== null) setTimeout(() => nowMs++, 50);
        },
      },
      { signal: end.signal, budgetMs: 1_000 },
      { clock: { now: () => nowMs }, log: silentLogger, jitter: () => 0 },
    );
    for await (const event of events) {
      expect(event).toMatchObject({ type: 'block', block: { height: 5 } });
      end.abort();
    }
    // One outage, although the block is requested several times.
    expect(faults).toEqual([
      'Block 5 of ETH is of 2027-01-15T08:00:00.000Z, and the clock of this machine says 2027-01-15T04:59:59.999Z: one of them is wrong.',
      undefined,
    ]);
  });
});
