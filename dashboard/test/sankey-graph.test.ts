import { describe, expect, it } from 'vitest';
import { exposureFlow, WIDTH } from '../src/pages/screening/sankey-graph.ts';

const data = (received: object, sent: object, inUsd: number | null = null, outUsd: number | null = null) =>
  ({
    exposureReceiving: received,
    exposureSending: sent,
    transactionFlow: { inflow: { valueUsd: inUsd }, outflow: { valueUsd: outUsd } },
  }) as never;

describe('the picture of exposure', () => {
  it('is none if nothing moved', () => {
    expect(exposureFlow(data({}, {}))).toBeNull();
  });

  it('has a node for each category on its side of the address, and no two overlap', () => {
    const flow = exposureFlow(data({ MIXER: 60, EXCHANGE: 39.9, SCAM: 0.1 }, { EXCHANGE: 100 }));
    const nodes = flow?.nodes ?? [];
    expect(nodes.map(({ id }) => id)).toEqual([
      'centre',
      'in MIXER',
      'in EXCHANGE',
      'in SCAM',
      'out EXCHANGE',
    ]);
    for (const side of ['in', 'out'])
      for (const [index, { box }] of nodes.filter((node) => node.side === side).entries()) {
        const next = nodes.filter((node) => node.side === side)[index + 1];
        if (next !== undefined) expect(box.y + box.height).toBeLessThanOrEqual(next.box.y);
        expect(box.x >= 0 && box.x + box.width <= WIDTH).toBe(true);
      }
    expect(flow?.links).toHaveLength(4);
  });

  it('draws both sides by value if both are known', () => {
    const [, received, sent] = exposureFlow(data({ MIXER: 100 }, { EXCHANGE: 100 }, 1_000, 250))?.nodes ?? [];
    expect((received?.box.height ?? 0) / (sent?.box.height ?? 1)).toBeCloseTo(4, 1);
  });

  it('is the same for the same data', () => {
    const flow = () => JSON.stringify(exposureFlow(data({ MIXER: 50, SCAM: 50 }, { DEX: 100 })));
    expect(flow()).toBe(flow());
  });
});
