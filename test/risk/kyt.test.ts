import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATEGORIES } from '../../src/labels/taxonomy.ts';
import { decide, FLAG_STEMS, flagsOf, linkScore, type PartyFacts } from '../../src/risk/kyt.ts';
import type { ExposureEvidence, RiskEvidence } from '../../src/risk/score.ts';
import { exposure, label, policy } from './evidence.ts';

const facts = (evidence: Partial<RiskEvidence>, more: Partial<PartyFacts> = {}): PartyFacts => ({
  party: 'address',
  entity: null,
  evidence: { sanctions: [], labels: [], exposures: [], isService: false, ...evidence },
  ...more,
});

describe('flags', () => {
  it('are none where nothing speaks against a party', () => {
    const exposures = [exposure({}), exposure({ category: 'EXCHANGE' })];
    expect(flagsOf(facts({ exposures, labels: [label({ category: 'EXCHANGE' })] }), policy)).toEqual([]);
  });

  it('tell a listing in force once, and not its label again', () => {
    const flags = flagsOf(
      facts(
        { sanctions: ['OFAC_SDN: A', 'EU: A'], labels: [label({ category: 'SANCTIONED_ENTITY' })] },
        { party: 'from', entity: { name: 'A', category: 'SANCTIONED_ENTITY', threatLevel: 'CRITICAL' } },
      ),
      policy,
    );
    expect(flags).toEqual([
      {
        code: 'SANCTIONED',
        severity: 'CRITICAL',
        party: 'from',
        category: 'SANCTIONED_ENTITY',
        riskType: 'OWNERSHIP',
        direction: 'both',
        entity: { name: 'A', category: 'SANCTIONED_ENTITY', threatLevel: 'CRITICAL' },
        percentage: 100,
        valueUsd: null,
        hops: 0,
        message: 'Listed in force by EU: A, OFAC_SDN: A.',
      },
    ]);
  });

  it('end with one full stop, whatever a name ends with', () => {
    expect(flagsOf(facts({ sanctions: ['UK: HUOBI GLOBAL S.A.'] }), policy)).toMatchObject([
      { message: 'Listed in force by UK: HUOBI GLOBAL S.A.' },
    ]);
  });

  it('tell a cluster, a delisting and a label apart, gravest first', () => {
    const flags = flagsOf(
      facts(
        { labels: [label({ category: 'GAMBLING', entity: 'Dice' }), label({ category: 'MIXER' })] },
        { clusterSanctions: ['OFAC_SDN: B'], delisted: ['UN: C'] },
      ),
      policy,
    );
    expect(flags.map(({ code, severity }) => [code, severity])).toEqual([
      ['MIXER_OWNER', 'HIGH'],
      ['SANCTIONED_CLUSTER', 'HIGH'],
      ['GAMBLING_OWNER', 'MEDIUM'],
      ['FORMERLY_SANCTIONED', 'LOW'],
    ]);
  });

  it('name the entity most of the value stands under, its share, and the nearest hop', () => {
    const flags = flagsOf(
      facts({
        exposures: [
          exposure({ category: 'MIXER', entity: 'Faint', valueUsd: 100 }),
          exposure({ category: 'MIXER', entity: 'Great', valueUsd: 300 }),
          exposure({ category: 'SCAM', direction: 'out', hops: 3, entity: 'S', valueUsd: 100 }),
          exposure({ category: 'SCAM', direction: 'out', hops: 2, entity: 'S', valueUsd: 100 }),
          exposure({ valueUsd: 600 }),
        ],
      }),
      policy,
    );
    expect(flags).toMatchObject([
      {
        code: 'MIXER_EXPOSURE',
        riskType: 'COUNTERPARTY',
        direction: 'in',
        percentage: 40,
        valueUsd: 400,
        hops: 1,
        entity: { name: 'Great', category: 'MIXER', threatLevel: 'HIGH' },
        message: 'Received from MIXER (Great) directly: 40 % of the value.',
      },
      {
        code: 'SCAM_EXPOSURE',
        riskType: 'INDIRECT',
        direction: 'out',
        percentage: 100,
        valueUsd: 200,
        hops: 2,
        message: 'Sent to SCAM (S) over 2 hops: 100 % of the value.',
      },
    ]);
  });

  it('take direct dealings with the sanctioned for grave whatever their share, but not unsolicited ones nor dust', () => {
    const of = (fields: Partial<ExposureEvidence>) =>
      flagsOf(
        facts({
          exposures: [
            exposure({ category: 'SANCTIONED_ENTITY', valueUsd: 10, ...fields }),
            exposure({ valueUsd: 1e9 }),
          ],
        }),
        policy,
      ).map(({ code, severity }) => [code, severity]);
    expect(of({})).toEqual([['SANCTIONED_EXPOSURE', 'HIGH']]);
    expect(of({ unsolicited: true })).toEqual([['SANCTIONED_EXPOSURE', 'LOW']]);
    expect(of({ valueUsd: 0.5 })).toEqual([]);
    expect(of({ hops: 2 })).toEqual([['SANCTIONED_EXPOSURE', 'LOW']]);
  });

  it('name a designated party that an uncertain label attributes the address to', () => {
    expect(flagsOf(facts({}, { suspectedOwners: ['OFAC_SDN: X'] }), policy)).toMatchObject([
      {
        code: 'DESIGNATED_OWNER',
        severity: 'HIGH',
        category: 'SANCTIONED_ENTITY',
        message: 'Attributed with low confidence to OFAC_SDN: X.',
      },
    ]);
  });

  it('name five entries of lists at most, each once and sorted', () => {
    const sanctions = ['F', 'E', 'D', 'C', 'B', 'A', 'A'];
    expect(flagsOf(facts({ sanctions }), policy)[0]?.message).toBe('Listed in force by A, B, C, D, E.');
  });

  it('tell a label of a sanctioned party if no list in force does, and other labels beside a list', () => {
    const sanctioned = label({ category: 'SANCTIONED_ENTITY', entity: 'A' });
    const codesOf = (evidence: Partial<RiskEvidence>) =>
      flagsOf(facts(evidence), policy).map(({ code }) => code);
    expect(codesOf({ labels: [sanctioned] })).toEqual(['SANCTIONED_OWNER']);
    expect(codesOf({ labels: [sanctioned, label({})], sanctions: ['EU: A'] })).toEqual([
      'SANCTIONED',
      'SCAM_OWNER',
    ]);
  });

  it('tell the strongest label of a category, the first of equals', () => {
    const messagesOf = (...confidences: number[]) =>
      flagsOf(
        facts({
          labels: confidences.map((confidence, at) =>
            label({ confidence, entity: `S${at}`, source: 'list' }),
          ),
        }),
        policy,
      ).map(({ message }) => message);
    expect(messagesOf(0.5, 0.9, 0.7)).toEqual(['Labelled SCAM (S1) by list.']);
    expect(messagesOf(0.9, 0.9)).toEqual(['Labelled SCAM (S0) by list.']);
  });

  it('leave out dealings within the own entity, whose value counts as neutral', () => {
    const own = exposure({ category: 'MIXER', isOwn: true, valueUsd: 900 });
    expect(flagsOf(facts({ exposures: [own] }), policy)).toEqual([]);
    const flags = flagsOf(
      facts({ exposures: [own, exposure({ category: 'MIXER', valueUsd: 100 })] }),
      policy,
    );
    expect(flags).toMatchObject([{ code: 'MIXER_EXPOSURE', percentage: 10, valueUsd: 100 }]);
  });

  it('say that money is unsolicited if all of it is', () => {
    const messageOf = (...unsolicited: boolean[]) =>
      flagsOf(
        facts({ exposures: unsolicited.map((each) => exposure({ category: 'MIXER', unsolicited: each })) }),
        policy,
      )[0]?.message;
    expect(messageOf(true, true)).toBe('Received from MIXER directly, unsolicited: 100 % of the value.');
    expect(messageOf(true, false)).toBe('Received from MIXER directly: 100 % of the value.');
  });

  it('measure an asset without a price by its share of that asset in that direction', () => {
    const odd = { asset: 'ODD', valueUsd: null } as const;
    const flags = flagsOf(
      facts({
        exposures: [
          exposure({ ...odd, category: 'SCAM', share: 0.25 }),
          exposure({ ...odd, share: 0.75 }),
          exposure({ ...odd, direction: 'out', share: 1 }),
          exposure({ asset: 'EVEN', valueUsd: null, share: 1 }),
        ],
      }),
      policy,
    );
    expect(flags).toMatchObject([
      {
        percentage: 25,
        valueUsd: null,
        entity: null,
        message: 'Received from SCAM directly: 25 % of its ODD (no price).',
      },
    ]);
  });

  it('tell directions, nearness and assets apart, near before far', () => {
    const mixer = exposure({ category: 'MIXER', valueUsd: 1e6 });
    const flags = flagsOf(
      facts({
        exposures: [
          { ...mixer, hops: 2 },
          mixer,
          { ...mixer, direction: 'out' },
          { ...mixer, asset: 'ODD', valueUsd: null, share: 1 },
        ],
      }),
      policy,
    );
    expect(flags.map(({ direction, riskType, valueUsd }) => [direction, riskType, valueUsd])).toEqual([
      ['in', 'COUNTERPARTY', 1e6],
      ['in', 'COUNTERPARTY', null],
      ['out', 'COUNTERPARTY', 1e6],
      ['in', 'INDIRECT', 1e6],
    ]);
  });

  it('judge the dealings of a service less harshly', () => {
    const exposures = [exposure({ category: 'SCAM', valueUsd: 1e6 })];
    expect(flagsOf(facts({ exposures }), policy)[0]?.severity).toBe('HIGH');
    expect(flagsOf(facts({ exposures, isService: true }), policy)[0]?.severity).toBe('LOW');
  });

  it('take from other evidence only what it alone finds, or finds graver', () => {
    const mixer = exposure({ category: 'MIXER', valueUsd: 100 });
    const neutral = exposure({ valueUsd: 1e5 });
    const near = [mixer, neutral];
    const of = (...others: ExposureEvidence[]) =>
      flagsOf(
        facts(
          { exposures: near },
          {
            otherEvidence: [{ sanctions: [], labels: [], exposures: others, isService: false }],
          },
        ),
        policy,
      ).map(({ severity, direction, riskType }) => [severity, direction, riskType]);
    const known = ['LOW', 'in', 'COUNTERPARTY'];
    expect(of()).toEqual([known]);
    expect(of(...near)).toEqual([known]);
    expect(of({ ...mixer, direction: 'out' }, { ...neutral, direction: 'out' })).toEqual([
      known,
      ['LOW', 'out', 'COUNTERPARTY'],
    ]);
    expect(of({ ...mixer, hops: 2 }, neutral)).toEqual([known, ['LOW', 'in', 'INDIRECT']]);
    expect(of({ ...mixer, valueUsd: 1e6 })).toEqual([['MEDIUM', 'in', 'COUNTERPARTY'], known]);
    expect(of({ ...mixer, category: 'SCAM' }, neutral)).toHaveLength(2);
  });

  it('have a code for every category that is a risk to deal with', () => {
    const risky = CATEGORIES.filter((category) => policy.weights[category] >= policy.riskyFrom);
    expect(risky.filter((category) => FLAG_STEMS[category] === undefined)).toEqual([]);
  });
});

describe('the link between two parties', () => {
  const clean = { sanctions: [], labels: [] };

  it('is nothing between parties nobody says anything of', () => {
    expect(linkScore({ from: clean, to: clean, between: [] }, policy).riskScore).toBe(0);
  });

  it('adds what both sides are', () => {
    const scammer = { sanctions: [], labels: [label({ category: 'SCAM' })] };
    const mixer = { sanctions: [], labels: [label({ category: 'MIXER' })] };
    const one = linkScore({ from: scammer, to: clean, between: [] }, policy);
    const both = linkScore({ from: scammer, to: mixer, between: [] }, policy);
    expect(one.riskScore).toBe(60);
    expect(one.scoreBreakdown).toMatchObject([{ category: 'SCAM', direction: 'in', points: 60 }]);
    expect(both.riskScore).toBe(100);
  });

  it('sees what stands between them', () => {
    const between = [exposure({ category: 'MIXER', hops: 2, entity: 'Blender' })];
    const { scoreBreakdown, riskScore } = linkScore({ from: clean, to: clean, between }, policy);
    expect(riskScore).toBe(28);
    expect(scoreBreakdown).toMatchObject([{ category: 'MIXER', hops: 2, evidence: ['Blender'] }]);
  });

  it('takes a listing for what it is', () => {
    const listed = { sanctions: ['EU: A'], labels: [] };
    expect(linkScore({ from: listed, to: clean, between: [] }, policy).riskScore).toBe(80);
    const labelled = { sanctions: ['EU: A'], labels: [label({ category: 'SCAM', entity: 'B' })] };
    expect(linkScore({ from: labelled, to: clean, between: [] }, policy).scoreBreakdown).toMatchObject([
      { category: 'SANCTIONED_ENTITY', direction: 'in', class: 'list', evidence: ['EU: A'], points: 80 },
    ]);
  });

  it('counts what the receiver is as sent to it, and nothing of what is no risk', () => {
    const mixer = { sanctions: [], labels: [label({ category: 'MIXER', entity: 'M' })] };
    const exchange = { sanctions: [], labels: [label({ category: 'EXCHANGE' })] };
    const { scoreBreakdown } = linkScore(
      { from: exchange, to: mixer, between: [exposure({ valueUsd: 1e12 })] },
      policy,
    );
    expect(scoreBreakdown).toMatchObject([
      { category: 'MIXER', direction: 'out', class: 'published', percentage: 100, evidence: ['M'] },
    ]);
    expect(scoreBreakdown).toHaveLength(1);
  });
});

describe('the decision', () => {
  const nothing = { sanctioned: false, score: 0, flags: [], isMissingData: false };

  it.each([
    [{}, 'ALLOW'],
    [{ score: 49 }, 'ALLOW'],
    [{ score: 50 }, 'REVIEW'],
    [{ score: 79 }, 'REVIEW'],
    [{ score: 80 }, 'BLOCK'],
    [{ sanctioned: true }, 'BLOCK'],
    [{ sanctioned: true, isMissingData: true }, 'BLOCK'],
    [{ isMissingData: true }, 'REVIEW'],
    [{ flags: [{ severity: 'MEDIUM' }] }, 'ALLOW'],
    [{ flags: [{ severity: 'LOW' }, { severity: 'HIGH' }] }, 'REVIEW'],
    [{ flags: [{ severity: 'CRITICAL' }] }, 'REVIEW'],
  ] as const)('of %j is %s', (change, decision) => {
    expect(decide({ ...nothing, ...change }, policy)).toBe(decision);
  });

  it('never gets milder when facts get worse', () => {
    const order = ['ALLOW', 'REVIEW', 'BLOCK'];
    const severity = fc.constantFrom('LOW', 'MEDIUM', 'HIGH', 'CRITICAL' as const);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 0, max: 100 }),
        fc.array(fc.record({ severity }), { maxLength: 3 }),
        fc.record({ severity }),
        fc.boolean(),
        (score, more, flags, flag, stale) => {
          const before = decide(
            { sanctioned: false, score, flags: flags as never, isMissingData: stale },
            policy,
          );
          const after = decide(
            {
              sanctioned: false,
              score: Math.min(100, score + more),
              flags: [...flags, flag] as never,
              isMissingData: true,
            },
            policy,
          );
          expect(order.indexOf(after)).toBeGreaterThanOrEqual(order.indexOf(before));
        },
      ),
    );
  });
});
