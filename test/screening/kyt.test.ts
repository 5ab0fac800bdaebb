import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAssessor } from '../../src/screening/assess.ts';
import { createKyt, type KytQuery, type KytRequest } from '../../src/screening/kyt.ts';
import { allFresh, BTC_WALLET, createWorld, someStale, WALLETS, type World } from './world.ts';

let world: World;
let kyt: KytQuery;
beforeAll(async () => {
  world = await createWorld();
  kyt = createKyt(world.deps, createAssessor(world.deps));
});
afterAll(() => world.close());
beforeEach(() => world.setLists(allFresh));

const one = (address: string, more: Partial<KytRequest> = {}) => kyt({ chain: 'ETH', address, ...more });
const pair = (from: string, to: string) => kyt({ chain: 'ETH', from, to });

describe('KYT of one address', () => {
  it('blocks a sanctioned address', () => {
    expect(one(WALLETS.sanctioned)).toMatchObject({
      riskScore: 100,
      riskLevel: 'CRITICAL',
      decision: 'BLOCK',
      address: {
        address: WALLETS.sanctioned,
        entity: { name: 'LAZARUS GROUP', category: 'SANCTIONED_ENTITY' },
        sanctioned: true,
      },
      direction: 'both',
    });
    expect(one(WALLETS.sanctioned).flags[0]).toMatchObject({
      code: 'SANCTIONED',
      severity: 'CRITICAL',
      party: 'address',
      riskType: 'OWNERSHIP',
    });
  });

  it('allows a known exchange on fresh lists, and reviews it on stale ones', () => {
    expect(one(WALLETS.twice)).toMatchObject({ decision: 'ALLOW', flags: expect.any(Array) });
    world.setLists(someStale);
    const answer = one(WALLETS.twice);
    expect(answer.decision).toBe('REVIEW');
    expect(answer.reasons.at(-1)).toMatchObject({ code: 'STALE_OR_MISSING_DATA' });
  });

  it('reads only the requested direction', () => {
    const received = one(WALLETS.payer, { direction: 'in' });
    expect(received).toMatchObject({ direction: 'in', decision: 'REVIEW' });
    expect(received.flags).toMatchObject([
      {
        code: 'MIXER_EXPOSURE',
        party: 'address',
        category: 'MIXER',
        riskType: 'COUNTERPARTY',
        direction: 'in',
        entity: { name: 'Blender' },
        percentage: 100,
        valueUsd: 10_000,
        hops: 1,
      },
    ]);
    expect(one(WALLETS.payer, { direction: 'out' }).flags).toEqual([]);
    expect(one(WALLETS.payer, { direction: 'out' }).riskScore).toBe(0);
    expect(one(WALLETS.payer).riskScore).toBe(received.riskScore);
  });

  it('flags parties behind the counterparties', () => {
    expect(one(WALLETS.unknown).flags).toMatchObject([
      { code: 'MIXER_EXPOSURE', riskType: 'INDIRECT', hops: 2 },
    ]);
  });

  it('reports an unknown address as not assessed', () => {
    expect(kyt({ chain: 'btc', address: '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2' })).toMatchObject({
      chain: 'BTC',
      riskScore: 0,
      assessed: false,
      address: { entity: null, sanctioned: false },
      coverage: { graph: { status: 'NONE' } },
      resolved: {},
    });
  });
});

describe('KYT of a pair', () => {
  it('blocks if either party is sanctioned', () => {
    for (const answer of [pair(WALLETS.payer, WALLETS.sanctioned), pair(WALLETS.sanctioned, WALLETS.payer)])
      expect(answer).toMatchObject({ decision: 'BLOCK', riskScore: 100 });
    const { from, to, address } = pair(WALLETS.payer, WALLETS.sanctioned);
    expect(from).toMatchObject({ address: WALLETS.payer, entity: null, sanctioned: false });
    expect(to).toMatchObject({ sanctioned: true });
    expect(address).toBeUndefined();
  });

  it('is at least as risky as each party, and names the party of each flag', () => {
    const answer = pair(WALLETS.payer, WALLETS.phishing);
    const alone = [one(WALLETS.payer), one(WALLETS.phishing)].map((single) => single.riskScore);
    expect(answer.riskScore).toBeGreaterThanOrEqual(Math.max(...alone));
    expect(new Set(answer.flags.map((flag) => flag.party))).toEqual(new Set(['from', 'to']));
  });

  it('shows the transfers between them, in each direction', () => {
    expect(pair(WALLETS.payer, WALLETS.exchange).link).toMatchObject({
      sent: { valueUsd: 2_000, txCount: 1, byAsset: [{ asset: 'ETH', amount: '1', decimals: 18 }] },
      returned: null,
    });
    expect(pair(WALLETS.exchange, WALLETS.payer).link).toMatchObject({
      sent: null,
      returned: { txCount: 1 },
    });
  });

  it('counts the addresses on paths between them', () => {
    // No sanctioned party is on a path between them; the mixer paid the payer, which paid the unknown address.
    const through = pair(WALLETS.mixer, WALLETS.unknown);
    expect(through.link?.riskScore).toBeGreaterThan(0);
    expect(pair(WALLETS.exchange, WALLETS.twice).link?.riskScore).toBeLessThan(30);
  });
});

describe('a KYT request', () => {
  it.each<[string, Partial<KytRequest>]>([
    ['address', {}],
    ['from', { to: WALLETS.payer }],
    ['to', { from: WALLETS.payer }],
    ['address', { address: WALLETS.payer, to: WALLETS.exchange }],
    ['address', { address: '0x1' }],
    ['from', { from: '0x1', to: WALLETS.payer }],
    ['to', { from: WALLETS.payer, to: BTC_WALLET }],
    ['direction', { address: WALLETS.payer, direction: 'sideways' }],
    ['direction', { from: WALLETS.payer, to: WALLETS.exchange, direction: 'both' }],
    ['to', { from: WALLETS.payer, to: WALLETS.payer }],
    ['to', { from: WALLETS.payer.toLowerCase(), to: `0x${WALLETS.payer.slice(2).toUpperCase()}` }],
    ['chain', { chain: 'NOPE', address: WALLETS.payer }],
  ])('is refused naming %s: %j', (field, request) => {
    expect(() => kyt({ chain: 'ETH', ...request })).toThrow(expect.objectContaining({ field, status: 400 }));
  });
});
