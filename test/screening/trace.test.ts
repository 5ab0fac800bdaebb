import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nativeUnits } from '../../src/chains/native-units.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createTrace, type TraceQuery, type TraceRequest } from '../../src/screening/trace.ts';
import type { TraceAnswer } from '../../src/screening/trace-answers.ts';
import { createWorld, sent, WALLETS, type World } from './world.ts';

const HOP = '0x0000000000000000000000000000000000000a0b';
const FAR = '0x0000000000000000000000000000000000000fa2';
const LOOP = '0x0000000000000000000000000000000000001009';
/** Paid by the portal on Ethereum, and known on Base. */
const RETURNED = '0x000000000000000000000000000000000000100a';
/** Used the portal both ways, and is not known on Base. */
const LONE = '0x000000000000000000000000000000000000100b';
/** The portal of Base on Ethereum (data/bridges.json); no label names it. */
const PORTAL = '0x49048044d57e1c92a77f79988d21fa8faf74e97e';
const SOL_WALLET = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';
/** A bridge of Solana that leads to EVM chains (data/bridges.json). */
const WORMHOLE = 'worm2ZoG2kUd4vFXhvjh93UUH596ayRfgQ2MgjNMTth';
const TOKEN = '0xdAC17F958D2ee523a2206206994597C13D831ec7';

/** payer → hop → far, payer → far; far → payer closes a circle; a self-transfer; a token beside the coin. */
const MORE: readonly Transfer[] = [
  sent(20, WALLETS.payer, HOP, { valueUsd: 900, amount: 450_000_000_000_000_000n }),
  sent(21, HOP, FAR, { valueUsd: 800 }),
  sent(22, WALLETS.payer, FAR, { valueUsd: 10, asset: TOKEN, amount: 10_500_000n, decimals: 6 }),
  sent(23, WALLETS.payer, FAR, { valueUsd: 5 }),
  sent(24, FAR, WALLETS.payer, { valueUsd: 3 }),
  sent(25, LOOP, LOOP, { valueUsd: 1_000 }),
  sent(26, LOOP, WALLETS.contract, { valueUsd: 50 }),
  sent(27, LOOP, PORTAL, { valueUsd: 70 }),
  sent(28, LOOP, FAR, { chain: 'BASE', valueUsd: 69 }),
  sent(29, PORTAL, RETURNED, { valueUsd: 40 }),
  sent(30, FAR, RETURNED, { chain: 'BASE', valueUsd: 41 }),
  sent(31, PORTAL, LONE, { valueUsd: 30 }),
  sent(32, LONE, PORTAL, { valueUsd: 20 }),
  sent(33, WALLETS.contract, LONE, { valueUsd: 10 }),
  sent(34, SOL_WALLET, WORMHOLE, {
    chain: 'SOL',
    asset: 'SOL',
    decimals: 9,
    amount: 10n ** 9n,
    valueUsd: 90,
  }),
];

let world: World;
let trace: TraceQuery;
beforeAll(async () => {
  world = await createWorld(MORE);
  trace = createTrace(world.deps, createAssessor(world.deps));
});
afterAll(() => world.close());

const traced = (address: string, more: Partial<TraceRequest> = {}): TraceAnswer =>
  trace({ chain: 'ETH', address, ...more }).answer;
const addresses = ({ nodes }: Pick<TraceAnswer, 'nodes'>): string[] =>
  nodes.map((node) => node.address).sort();

describe('a trace', () => {
  it('goes one hop in both directions by default, and shows the amounts of each edge', () => {
    const answer = traced(WALLETS.payer);
    expect(addresses(answer)).toEqual(
      [WALLETS.payer, WALLETS.exchange, WALLETS.unknown, WALLETS.mixer, HOP, FAR].sort(),
    );
    expect(answer).toMatchObject({ address: WALLETS.payer, chain: 'ETH', direction: 'both', assessed: true });
    expect(answer.nodes[0]).toEqual({
      address: WALLETS.payer,
      label: null,
      category: 'UNKNOWN',
      riskLevel: 'LOW',
      entity: null,
      threatLevel: null,
      depth: 0,
      sanctioned: false,
    });
    expect(answer.nodes).toContainEqual({
      address: WALLETS.mixer,
      label: 'Blender',
      category: 'MIXER',
      riskLevel: 'HIGH',
      entity: { name: 'Blender', category: 'MIXER', threatLevel: 'HIGH' },
      threatLevel: 'HIGH',
      depth: 1,
      sanctioned: false,
    });
    expect(answer.edges).toContainEqual({
      from: WALLETS.payer,
      to: HOP,
      asset: 'ETH',
      value: '0.45',
      decimals: 18,
      valueUsd: 900,
      txCount: 1,
      firstSeen: '2026-01-21T00:00:00.000Z',
      lastSeen: '2026-01-21T00:00:00.000Z',
    });
    expect(answer.stats).toEqual({
      totalNodes: answer.nodes.length,
      totalEdges: answer.edges.length,
      maxDepthReached: 1,
    });
    expect(answer.paths).toBeUndefined();
    expect(answer.crossChain).toBeUndefined();
  });

  it('gives each asset of a pair its own edge, in its own units', () => {
    const between = traced(WALLETS.payer, { direction: 'out' }).edges.filter((edge) => edge.to === FAR);
    expect(between.map(({ asset, value }) => [asset, value]).sort()).toEqual([
      [TOKEN.toLowerCase(), '10.5'],
      ['ETH', '0.0025'],
    ]);
  });

  it('follows one direction only', () => {
    expect(addresses(traced(WALLETS.payer, { direction: 'in' }))).toEqual(
      [WALLETS.payer, WALLETS.mixer, FAR].sort(),
    );
  });

  it('stops at services and at its maximum depth, and reports it', () => {
    const { stoppedAt } = traced(WALLETS.payer);
    expect(stoppedAt).toContainEqual({ address: WALLETS.exchange, reason: 'SERVICE' });
    expect(stoppedAt).toContainEqual({ address: WALLETS.unknown, reason: 'DEPTH' });
    const deeper = traced(HOP, { hops: 3 });
    expect(deeper.stats.maxDepthReached).toBe(2);
    expect(deeper.stoppedAt.filter(({ reason }) => reason === 'DEPTH')).toEqual([]);
    expect(deeper.nodes.find((node) => node.address === WALLETS.mixer)?.depth).toBe(2);
  });

  it('of an address that only pays itself has one node and no edge', () => {
    const answer = traced(LOOP, { direction: 'in', hops: 3 });
    expect(answer.stats).toEqual({ totalNodes: 1, totalEdges: 0, maxDepthReached: 0 });
    expect(answer.assessed).toBe(true);
  });

  it('of an address without a known transfer is empty and free', () => {
    const report = trace({
      chain: 'ETH',
      address: WALLETS.seeded,
      targetAddress: WALLETS.payer,
      crossChain: true,
    });
    expect(report.isKnown).toBe(false);
    expect(report.answer).toMatchObject({
      nodes: [],
      edges: [],
      stats: { totalNodes: 0, totalEdges: 0, maxDepthReached: 0 },
      stoppedAt: [],
      found: false,
      target: WALLETS.payer,
      paths: [],
      truncated: false,
      crossChain: [],
      // A label is known.
      assessed: true,
    });
    expect(traced('0x00000000000000000000000000000000000000aa').assessed).toBe(false);
    expect(
      trace({ chain: 'LTC', address: 'LM2WMpR1Rp6j3Sa59cMXMs1SPzj9eXpGc1' }).answer.coverage.graph,
    ).toEqual({
      status: 'NONE',
      asOf: null,
    });
  });

  it('returns the same bytes for the same request', () => {
    const bytes = (): string =>
      JSON.stringify({
        ...traced(WALLETS.payer, { hops: 3, targetAddress: FAR, maxDepth: 7 }),
        tracedAt: '',
      });
    expect(bytes()).toBe(bytes());
  });
});

describe('path mode', () => {
  it('returns the shortest path first, with its bottleneck, inside the graph', () => {
    const answer = traced(WALLETS.payer, { direction: 'out', targetAddress: FAR });
    expect(answer).toMatchObject({ found: true, target: FAR, truncated: false });
    expect(answer.paths).toMatchObject([
      { addresses: [WALLETS.payer, FAR], hops: 1, bottleneckUsd: 15 },
      { addresses: [WALLETS.payer, HOP, FAR], hops: 2, bottleneckUsd: 800 },
    ]);
    expect(answer.paths?.[0]?.edges.map((edge) => edge.asset).sort()).toEqual([TOKEN.toLowerCase(), 'ETH']);
    for (const path of answer.paths ?? []) {
      for (const address of path.addresses) expect(addresses(answer)).toContain(address);
      for (const edge of path.edges) expect(answer.edges).toContainEqual(edge);
    }
    expect(new Set(addresses(answer)).size).toBe(answer.nodes.length);
  });

  it('respects maxDepth and direction', () => {
    expect(traced(HOP, { direction: 'in', targetAddress: FAR, maxDepth: 1 })).toMatchObject({
      found: false,
      paths: [],
    });
    expect(traced(WALLETS.mixer, { direction: 'out', targetAddress: FAR, maxDepth: 2 })).toMatchObject({
      found: true,
      paths: [{ hops: 2 }],
    });
    expect(traced(WALLETS.mixer, { direction: 'out', targetAddress: FAR, maxDepth: 1 }).found).toBe(false);
  });

  it('passes no service', () => {
    expect(traced(WALLETS.mixer, { targetAddress: WALLETS.payer, maxDepth: 7 })).toMatchObject({
      found: true,
    });
    // A common exchange does not connect its customers.
    expect(traced(LOOP, { direction: 'both', targetAddress: WALLETS.victim, maxDepth: 7 })).toMatchObject({
      found: false,
      target: WALLETS.victim,
    });
  });

  it('finds no path on which money leaves before it arrives, with timeRespecting', () => {
    const request = { direction: 'out', targetAddress: WALLETS.exchange, maxDepth: 3 } as const;
    // far paid the payer in January 25, the payer paid the exchange on January 2.
    expect(traced(FAR, request).found).toBe(true);
    expect(traced(FAR, { ...request, timeRespecting: true }).found).toBe(false);
  });

  it('finds no target without known transfers', () => {
    expect(traced(WALLETS.payer, { targetAddress: WALLETS.seeded })).toMatchObject({
      found: false,
      paths: [],
    });
  });
});

describe('cross-chain tracing', () => {
  it('finds the same address on the other chain of a bridge, and names the evidence', () => {
    const { crossChain = [] } = traced(LOOP, { direction: 'out', crossChain: true });
    const crossing = crossChain.find(({ toChain }) => toChain === 'BASE');
    expect(crossing).toMatchObject({
      bridge: { category: 'BRIDGE' },
      bridgeAddress: PORTAL,
      address: LOOP,
      direction: 'out',
      valueUsd: 70,
      txCount: 1,
      fromChain: 'ETH',
      connectedChains: ['BASE'],
      matchedBy: 'SAME_ADDRESS',
      explanation: expect.stringContaining('BASE'),
    });
    expect(crossing?.graph && addresses(crossing.graph)).toEqual([FAR, LOOP].sort());
  });

  it('names both chains in the order of the value: what a bridge paid out came from the other chain', () => {
    const { crossChain = [] } = traced(RETURNED, { direction: 'in', crossChain: true });
    expect(crossChain).toMatchObject([
      {
        address: RETURNED,
        direction: 'in',
        fromChain: 'BASE',
        toChain: 'ETH',
        connectedChains: ['BASE'],
        matchedBy: 'SAME_ADDRESS',
        explanation: expect.stringMatching(/brings value from BASE; the same address is known on BASE/),
      },
    ]);
    expect(crossChain[0]?.graph && addresses(crossChain[0].graph)).toEqual([FAR, RETURNED].sort());
  });

  it('names the only chain on the other side also if the holder is not known there', () => {
    const { crossChain = [] } = traced(LONE, { crossChain: true });
    const shown = crossChain.map(({ direction, fromChain, toChain, matchedBy, graph }) => [
      ...[direction, fromChain, toChain, matchedBy, graph],
    ]);
    expect(shown.sort()).toEqual([
      // The other end of this bridge is not known.
      ['in', null, 'ETH', null, null],
      ['in', 'BASE', 'ETH', null, null],
      ['out', 'ETH', 'BASE', null, null],
    ]);
  });

  it('says whether the address is not known, or cannot exist, on the other chains', () => {
    const [toBase] = traced(LONE, { direction: 'out', crossChain: true }).crossChain ?? [];
    expect(toBase?.explanation).toMatch(/ leads to BASE; no transfer of the same address is known there\.$/);
    const { crossChain = [] } = trace({
      ...{ chain: 'SOL', address: SOL_WALLET, direction: 'out', crossChain: true },
    }).answer;
    expect(crossChain).toMatchObject([
      {
        ...{ bridgeAddress: WORMHOLE, fromChain: 'SOL', matchedBy: null, graph: null },
        explanation: expect.stringMatching(
          /ETH.*; an address of SOL does not exist on other chains, so nothing could be matched\.$/,
        ),
      },
    ]);
  });

  it('reports a bridge with an unknown other end as unmatched', () => {
    const { crossChain = [] } = traced(LOOP, { direction: 'out', crossChain: true });
    expect(crossChain.find(({ bridgeAddress }) => bridgeAddress === WALLETS.contract)).toMatchObject({
      bridge: { name: 'Some Bridge' },
      toChain: null,
      matchedBy: null,
      graph: null,
      explanation: expect.stringContaining('not known'),
    });
    expect(traced(WALLETS.payer, { crossChain: true }).crossChain).toEqual([]);
  });
});

describe('a trace request', () => {
  it.each<[string, Partial<TraceRequest>]>([
    ['hops', { hops: 0 }],
    ['hops', { hops: 4 }],
    ['hops', { hops: 1.5 }],
    ['maxDepth', { maxDepth: 0, targetAddress: FAR }],
    ['maxDepth', { maxDepth: 8, targetAddress: FAR }],
    ['direction', { direction: 'up' }],
    ['targetAddress', { targetAddress: '0x1' }],
    ['targetAddress', { targetAddress: WALLETS.payer }],
    ['address', { address: 'junk' }],
    ['chain', { chain: 'NOPE' }],
  ])('is refused naming %s: %j', (field, request) => {
    expect(() => trace({ chain: 'ETH', address: WALLETS.payer, ...request })).toThrow(
      expect.objectContaining({ field, status: 400 }),
    );
  });
});

describe('native units', () => {
  it.each([
    [0n, 18, '0'],
    [1n, 18, '0.000000000000000001'],
    [1_500_000n, 6, '1.5'],
    [1_000_000n, 6, '1'],
    [12_345n, 0, '12345'],
    [12_345n, null, '12345'],
    [-1_500_000n, 6, '-1.5'],
    [-1n, 6, '-0.000001'],
    [10n ** 30n + 1n, 18, '1000000000000.000000000000000001'],
  ])('%s at %s decimals is %s', (amount, decimals, text) => {
    expect(nativeUnits(amount, decimals)).toBe(text);
  });
});
