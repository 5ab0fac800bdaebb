import { describe, expect, it } from 'vitest';
import { traceText, traceView } from '../../src/cases/trace-view.ts';

describe('a view of a trace', () => {
  it('is one line that says every choice of its request and filter', () => {
    const draft = {
      ...{
        direction: 'in' as const,
        hops: 3,
        targetAddress: `0x${'1'.repeat(40)}`,
        maxDepth: 4,
        timeRespecting: true,
      },
      ...{ crossChain: true, minUsd: 12.5, since: '2026-01-31', until: '2026-02-28', dataVersion: 'v7' },
    };
    expect(traceText(traceView(draft, 'ETH', 'trace'))).toBe(
      `direction in, hops 3, to 0x${'1'.repeat(40)}, at most 4 hops to it, in the order of time, across bridges, from 12.5 USD, since 2026-01-31, until 2026-02-28`,
    );
  });

  it('says nothing of a choice that was not made', () => {
    expect(traceText(traceView({}, 'ETH', 'trace'))).toBe('direction both, hops 1');
    expect(traceText(traceView({ minUsd: 0 }, 'ETH', 'trace'))).toBe('direction both, hops 1, from 0 USD');
  });

  it('may begin and end on one day, and does not end before it begins', () => {
    const of = (since?: string, until?: string) =>
      traceView({ ...(since ? { since } : {}), ...(until ? { until } : {}) }, 'ETH', 'trace');
    expect(of('2026-01-31', '2026-01-31')).toMatchObject({ since: '2026-01-31', until: '2026-01-31' });
    expect(of('2026-02-01')).toMatchObject({ since: '2026-02-01', until: null });
    expect(of(undefined, '2026-01-31')).toMatchObject({ since: null, until: '2026-01-31' });
    expect(() => of('2026-02-01', '2026-01-31')).toThrow('trace.until: must not be before `since`.');
    expect(() => of('2026-02-30')).toThrow(/^trace\.since/);
    expect(() => of(undefined, '2026-02-30')).toThrow(/^trace\.until/);
  });
});
