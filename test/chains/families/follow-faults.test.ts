/** Faults of a followed chain are reported once, and so is its recovery, although following continues by itself. */
import { describe, expect, it } from 'vitest';
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
      { log: silentLogger, jitter: () => 0 },
    );
    for await (const event of events) expect(event).toBeUndefined();
    // Three reads that succeeded, and that which ends the test.
    expect(heads).toEqual([5, 5, 5, 5]);
    expect(reports).toEqual([null, 'CHAIN_UNREACHABLE', null, 'CHAIN_UNREACHABLE', null]);
  });
});
