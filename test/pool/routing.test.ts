/** Routing: which node answers a request about a chain, which node follows the chain, and the error if no node can. */
import { describe, expect, it } from 'vitest';
import {
  assignChains,
  groupOf,
  groupOfChunk,
  type RoutingNode,
  routeOf,
  routeUseCases,
  type StoredChains,
} from '../../src/pool/routing.ts';
import { TASKS } from '../../src/pool/tasks/index.ts';
import { graphUseCases } from '../support/graph-use-cases.ts';

const node = (id: string, holds: StoredChains, more: Partial<RoutingNode['facts']> = {}): RoutingNode => ({
  id,
  facts: {
    roles: ['worker', 'listener'],
    holds,
    follows: ['ETH', 'BSC', 'BASE', 'BTC'],
    slots: 1,
    ...more,
  },
});

describe('assignment of chains to followers', () => {
  it('assigns each chain to one of the nodes that can follow it, evenly', () => {
    const nodes = [
      node('a', 'all'),
      node('b', ['ETH', 'BSC']),
      node('c', 'all', { roles: ['api'] }),
      node('d', 'all', { follows: ['BASE'] }),
    ];
    const shared = assignChains(['ETH', 'BSC', 'BASE', 'GNOSIS'] as const, nodes);
    expect(Object.fromEntries(shared)).toEqual({ BASE: 'a', BSC: 'b', ETH: 'a' });
    const even = assignChains(['ETH', 'BSC', 'BASE'] as const, [
      node('a', 'all'),
      node('b', 'all'),
      node('c', 'all'),
    ]);
    expect(new Set(even.values()).size).toBe(3);
  });
});

describe('group of a chunk', () => {
  const of = (
    task: { kind: 'labels' | 'screening'; chain: 'BTC' | null; chunk?: number; verdict?: boolean },
    live: readonly RoutingNode[],
    gone: readonly RoutingNode[] = [],
  ) => groupOfChunk({ chunk: 0, ...task }, { live, gone });
  const all = node('a', 'all');
  const btc = node('b', ['BTC']);
  const eth = node('e', ['ETH']);

  it('is any worker if labels suffice or all workers store all chains', () => {
    expect(of({ kind: 'labels', chain: 'BTC' }, [btc, eth])).toBeNull();
    expect(of({ kind: 'screening', chain: 'BTC' }, [all, node('c', 'all')])).toBeNull();
    expect(of({ kind: 'screening', chain: 'BTC' }, [eth])).toBeNull();
  });
  it('is a group that stores the chain, or all chains', () => {
    expect(of({ kind: 'labels', chain: 'BTC', verdict: true }, [btc, eth])).toBe('BTC');
    expect(of({ kind: 'labels', chain: null, verdict: true }, [btc, all])).toBe('all');
    expect(of({ kind: 'screening', chain: 'BTC' }, [btc, eth])).toBe('BTC');
    expect(of({ kind: 'screening', chain: 'BTC', chunk: 1 }, [btc, all, eth])).toBe('all');
    expect(of({ kind: 'screening', chain: null }, [btc, all])).toBe('all');
    expect(() => of({ kind: 'screening', chain: null }, [btc, eth])).toThrow(/one job for each chain/);
    expect(() => of({ kind: 'screening', chain: 'BTC' }, [eth], [btc])).toThrow(
      expect.objectContaining({ code: 'NOT_READY' }),
    );
  });
});

describe('route of a request', () => {
  const route = (own: StoredChains, live: readonly RoutingNode[], gone: readonly RoutingNode[] = []) =>
    routeOf('BTC', own, { live, gone });

  it('is local if the chain is stored here, and otherwise the groups that store it', () => {
    expect(route('all', [node('b', 'all')])).toEqual({ kind: 'local' });
    expect(
      route(
        ['ETH'],
        [node('b', 'all'), node('c', ['BTC', 'ADA']), node('d', ['ETH']), node('e', ['ADA', 'BTC'])],
      ),
    ).toEqual({
      kind: 'remote',
      groups: ['ADA-BTC', 'all'],
    });
    expect(groupOf([])).toBeNull();
  });
  it('is local if no node ever stored the chain, and unavailable while the nodes that store it are gone', () => {
    expect(route([], [node('b', ['ETH'])])).toEqual({ kind: 'local' });
    expect(route([], [node('b', 'all', { roles: ['api'] })])).toEqual({ kind: 'local' });
    expect(route([], [], [node('b', ['BTC'])])).toEqual({ kind: 'unavailable' });
  });

  const local = graphUseCases(({ chain }) => Buffer.from(`local ${chain}`));
  it('sends the whole request, and returns the result', async () => {
    const sent: unknown[] = [];
    const routed = routeUseCases(
      TASKS,
      local,
      (chain) =>
        chain === 'BTC'
          ? { kind: 'remote', groups: ['all'] }
          : { kind: chain === 'LTC' ? 'unavailable' : 'local' },
      async (groups, request) => {
        sent.push(groups, request);
        return { data: Buffer.from('remote'), isKnown: false };
      },
    );
    const request = { chain: 'btc', address: 'x', hops: 2 };
    expect(await routed.trace(request)).toEqual({ json: Buffer.from('remote'), isKnown: false });
    expect(String((await routed.kyt({ chain: 'BTC', address: 'y' })).json)).toBe('remote');
    expect(sent).toEqual([
      ['all'],
      { task: 'trace', request },
      ['all'],
      { task: 'kyt', request: { chain: 'BTC', address: 'y' } },
    ]);
    expect(String((await routed.screening({ chain: 'ETH', address: 'x' })).json)).toBe('local ETH');
    expect(String((await routed.screening({ chain: 'nonsense', address: 'x' })).json)).toBe('local nonsense');
    await expect(routed.screening({ chain: 'LTC', address: 'x' })).rejects.toMatchObject({
      code: 'NOT_READY',
    });
  });

  it('does not take a fault of the routing for a wrong chain', async () => {
    const fault = new TypeError('no such node');
    const routed = routeUseCases(
      TASKS,
      local,
      () => {
        throw fault;
      },
      async () => ({ data: Buffer.from('remote'), isKnown: true }),
    );
    await expect(routed.screening({ chain: 'ETH', address: 'x' })).rejects.toBe(fault);
    // The local use case refuses it.
    expect(String((await routed.screening({ chain: 'nonsense', address: 'x' })).json)).toBe('local nonsense');
  });
});

describe('facts of nodes', () => {
  const api = node('api', 'all', { roles: ['api'] });
  const gone = node('g', ['BTC']);

  it('of nodes that are no workers decide nothing', () => {
    const of = (live: readonly RoutingNode[], more: readonly RoutingNode[] = []) =>
      groupOfChunk({ kind: 'screening', chain: 'BTC', chunk: 0 }, { live, gone: more });
    expect(of([api, node('b', ['ETH'])])).toBeNull();
    expect(routeOf('BTC', [], { live: [], gone: [node('g', ['BTC'], { roles: ['api'] })] })).toEqual({
      kind: 'local',
    });
    expect(routeOf('BTC', [], { live: [node('w', ['BTC'])], gone: [gone] })).toEqual({
      ...{ kind: 'remote', groups: ['BTC'] },
    });
  });

  it('give a chain to the first of the nodes with the fewest', () => {
    const nodes = [node('b', 'all'), node('a', 'all'), node('l', 'all', { roles: ['worker'] })];
    expect(Object.fromEntries(assignChains(['ETH', 'BSC', 'BASE', 'BTC'], nodes))).toEqual({
      ...{ BASE: 'b', BSC: 'a', BTC: 'b', ETH: 'a' },
    });
    expect(assignChains(['ETH'], [node('l', ['BTC'])]).size).toBe(0);
    // A node that cannot read a chain gets it only if no other can.
    const broken = node('a', 'all', { failing: ['ETH'] });
    expect(Object.fromEntries(assignChains(['ETH', 'BSC'], [broken, node('b', 'all')]))).toEqual({
      ...{ BSC: 'a', ETH: 'b' },
    });
    expect(assignChains(['ETH'], [broken]).get('ETH')).toBe('a');
    expect(groupOf(['ETH', 'BTC'])).toBe('BTC-ETH');
  });
});
