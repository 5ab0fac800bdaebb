/** The location of a chain's transfers: which node answers, which node follows, and the error if none can. */
import { describe, expect, it } from 'vitest';
import {
  type GraphUseCases,
  type HeldChains,
  type PlacedNode,
  placedUseCases,
  placementOf,
  placementOfChunk,
  shareChains,
  whereIs,
} from '../../src/jobs/placement.ts';

const node = (id: string, holds: HeldChains, more: Partial<PlacedNode['facts']> = {}): PlacedNode => ({
  id,
  facts: {
    roles: ['worker', 'listener'],
    holds,
    follows: ['ETH', 'BSC', 'BASE', 'BTC'],
    slots: 1,
    ...more,
  },
});

describe('who follows a chain', () => {
  it('is one of those who can, each about as many', () => {
    const nodes = [
      node('a', 'all'),
      node('b', ['ETH', 'BSC']),
      node('c', 'all', { roles: ['api'] }),
      node('d', 'all', { follows: ['BASE'] }),
    ];
    const shared = shareChains(['ETH', 'BSC', 'BASE', 'GNOSIS'] as const, nodes);
    expect(Object.fromEntries(shared)).toEqual({ BASE: 'a', BSC: 'b', ETH: 'a' });
    const even = shareChains(['ETH', 'BSC', 'BASE'] as const, [
      node('a', 'all'),
      node('b', 'all'),
      node('c', 'all'),
    ]);
    expect(new Set(even.values()).size).toBe(3);
  });
});

describe('who works a chunk', () => {
  const of = (
    task: { kind: 'labels' | 'screening'; chain: 'BTC' | null; chunk?: number; verdict?: boolean },
    live: readonly PlacedNode[],
    gone: readonly PlacedNode[] = [],
  ) => placementOfChunk({ chunk: 0, ...task }, { live, gone });
  const all = node('a', 'all');
  const btc = node('b', ['BTC']);
  const eth = node('e', ['ETH']);

  it('is anybody where labels are enough, or everybody holds everything', () => {
    expect(of({ kind: 'labels', chain: 'BTC' }, [btc, eth])).toBeNull();
    expect(of({ kind: 'screening', chain: 'BTC' }, [all, node('c', 'all')])).toBeNull();
    expect(of({ kind: 'screening', chain: 'BTC' }, [eth])).toBeNull();
  });
  it('is whoever holds the chain, or all of them', () => {
    expect(of({ kind: 'labels', chain: 'BTC', verdict: true }, [btc, eth])).toBe('BTC');
    expect(of({ kind: 'labels', chain: null, verdict: true }, [btc, all])).toBe('all');
    expect(of({ kind: 'screening', chain: 'BTC' }, [btc, eth])).toBe('BTC');
    expect(of({ kind: 'screening', chain: 'BTC', chunk: 1 }, [btc, all, eth])).toBe('all');
    expect(of({ kind: 'screening', chain: null }, [btc, all])).toBe('all');
    expect(() => of({ kind: 'screening', chain: null }, [btc, eth])).toThrow(/one for each chain/);
    expect(() => of({ kind: 'screening', chain: 'BTC' }, [eth], [btc])).toThrow(
      expect.objectContaining({ code: 'NOT_READY' }),
    );
  });
});

describe('where a question is answered', () => {
  const where = (own: HeldChains, live: readonly PlacedNode[], gone: readonly PlacedNode[] = []) =>
    whereIs('BTC', own, { live, gone });

  it('is here where the chain is held, and else with the workers that hold it', () => {
    expect(where('all', [node('b', 'all')])).toEqual({ kind: 'HERE' });
    expect(
      where(
        ['ETH'],
        [node('b', 'all'), node('c', ['BTC', 'ADA']), node('d', ['ETH']), node('e', ['ADA', 'BTC'])],
      ),
    ).toEqual({
      kind: 'THERE',
      placements: ['ADA-BTC', 'all'],
    });
    expect(placementOf([])).toBeNull();
  });
  it('is here, with a coverage that says so, where nobody ever held it; nowhere, while those who do are away', () => {
    expect(where([], [node('b', ['ETH'])])).toEqual({ kind: 'HERE' });
    expect(where([], [node('b', 'all', { roles: ['api'] })])).toEqual({ kind: 'HERE' });
    expect(where([], [], [node('b', ['BTC'])])).toEqual({ kind: 'AWAY' });
  });

  const here: GraphUseCases = {
    screening: async ({ chain }) => Buffer.from(`here ${chain}`),
    kyt: async ({ chain }) => Buffer.from(`here ${chain}`),
    trace: async () => ({ data: Buffer.from('here'), isKnown: false }),
  };
  it('sends the whole question, and gives back what came', async () => {
    const asked: unknown[] = [];
    const placed = placedUseCases(
      here,
      (chain) =>
        chain === 'BTC'
          ? { kind: 'THERE', placements: ['all'] }
          : { kind: chain === 'LTC' ? 'AWAY' : 'HERE' },
      async (placements, question) => {
        asked.push(placements, question);
        return { data: Buffer.from('there'), isKnown: false };
      },
    );
    const request = { chain: 'btc', address: 'x', hops: 2 };
    expect(await placed.trace(request)).toEqual({ data: Buffer.from('there'), isKnown: false });
    expect(String(await placed.kyt({ chain: 'BTC', address: 'y' }))).toBe('there');
    expect(asked).toEqual([
      ['all'],
      { task: 'trace', request },
      ['all'],
      { task: 'kyt', request: { chain: 'BTC', address: 'y' } },
    ]);
    expect(String(await placed.screening({ chain: 'ETH', address: 'x' }))).toBe('here ETH');
    expect(String(await placed.screening({ chain: 'nonsense', address: 'x' }))).toBe('here nonsense');
    await expect(placed.screening({ chain: 'LTC', address: 'x' })).rejects.toMatchObject({
      code: 'NOT_READY',
    });
  });
});
