import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CATEGORIES } from '../../src/labels/taxonomy.ts';
import type { ExposureEvidence, RiskEvidence } from '../../src/risk/evidence.ts';
import { decide, FLAG_STEMS, flagsOf, linkScore, type PartyFacts } from '../../src/risk/kyt.ts';
import { exposure, label, policy } from './evidence.ts';

const facts = (evidence: Partial<RiskEvidence>, more: Partial<PartyFacts> = {}): PartyFacts => ({
  party: 'address',
  entity: null,
  evidence: { sanctions: [], labels: [], exposures: [], isService: false, ...evidence },
  ...more,
});

describe('flags', () => {
  it('are empty if nothing is held against a party', () => {
    const exposures = [exposure({}), exposure({ category: 'EXCHANGE' })];
    expect(flagsOf(facts({ exposures, labels: [label({ category: 'EXCHANGE' })] }), policy)).toEqual([]);
  });

  it('have no exposure to a category without a code, also if a policy makes it risky', () => {
    const strict = { ...policy, weights: { ...policy.weights, DEX: 80 } };
    expect(FLAG_STEMS.DEX).toBeUndefined();
    const exposures = [exposure({ category: 'DEX', valueUsd: 1000 })];
    expect(flagsOf(facts({ exposures }), strict)).toEqual([]);
    const labelled = facts({ labels: [label({ category: 'DEX' })] });
    expect(flagsOf(labelled, strict)).toEqual([]);
  });

  it('report a listing in force once, without repeating its label', () => {
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

  it('end with one full stop after any name', () => {
    expect(flagsOf(facts({ sanctions: ['UK: HUOBI GLOBAL S.A.'] }), policy)).toMatchObject([
      { message: 'Listed in force by UK: HUOBI GLOBAL S.A.' },
    ]);
  });

  it('distinguish a cluster, a delisting and a label, the most severe first', () => {
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

  it('name the entity with most of the value, its share, and the nearest hop', () => {
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

  it('treat direct transfers with a sanctioned party as severe at any share, except unsolicited ones and dust', () => {
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

  it('name a designated party that an uncertain label suggests', () => {
    expect(flagsOf(facts({}, { suspectedOwners: ['OFAC_SDN: X'] }), policy)).toMatchObject([
      {
        code: 'DESIGNATED_OWNER',
        severity: 'HIGH',
        category: 'SANCTIONED_ENTITY',
        message: 'Attributed with low confidence to OFAC_SDN: X.',
      },
    ]);
  });

  it('name at most five list entries, each once and sorted', () => {
    const sanctions = ['F', 'E', 'D', 'C', 'B', 'A', 'A'];
    expect(flagsOf(facts({ sanctions }), policy)[0]?.message).toBe('Listed in force by A, B, C, D, E.');
  });

  it('report the label of a sanctioned party if no list is in force, and other labels beside a list', () => {
    const sanctioned = label({ category: 'SANCTIONED_ENTITY', entity: 'A' });
    const codesOf = (evidence: Partial<RiskEvidence>) =>
      flagsOf(facts(evidence), policy).map(({ code }) => code);
    expect(codesOf({ labels: [sanctioned] })).toEqual(['SANCTIONED_OWNER']);
    expect(codesOf({ labels: [sanctioned, label({})], sanctions: ['EU: A'] })).toEqual([
      'SANCTIONED',
      'SCAM_OWNER',
    ]);
  });

  it('report the strongest label of a category, the first of equals', () => {
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

  it('ignore transfers within the same entity, and count their value as neutral', () => {
    const own = exposure({ category: 'MIXER', isOwn: true, valueUsd: 900 });
    expect(flagsOf(facts({ exposures: [own] }), policy)).toEqual([]);
    const flags = flagsOf(
      facts({ exposures: [own, exposure({ category: 'MIXER', valueUsd: 100 })] }),
      policy,
    );
    expect(flags).toMatchObject([{ code: 'MIXER_EXPOSURE', percentage: 10, valueUsd: 100 }]);
  });

  it('report unsolicited money if all of it is', () => {
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

  it('separate directions, hops and assets, nearest first', () => {
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

  it('are less severe for the transfers of a service', () => {
    const exposures = [exposure({ category: 'SCAM', valueUsd: 1e6 })];
    expect(flagsOf(facts({ exposures }), policy)[0]?.severity).toBe('HIGH');
    expect(flagsOf(facts({ exposures, isService: true }), policy)[0]?.severity).toBe('LOW');
  });

  it('add from other evidence only findings that are missing or less severe without it', () => {
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

  it('have a code for every risky category', () => {
    const risky = CATEGORIES.filter((category) => policy.weights[category] >= policy.riskyFrom);
    expect(risky.filter((category) => FLAG_STEMS[category] === undefined)).toEqual([]);
  });
});

describe('the link between two parties', () => {
  const clean = { sanctions: [], labels: [] };

  it('is neutral between two parties without findings', () => {
    expect(linkScore({ from: clean, to: clean, between: [] }, policy).riskScore).toBe(0);
  });

  it('adds the risk of both sides', () => {
    const scammer = { sanctions: [], labels: [label({ category: 'SCAM' })] };
    const mixer = { sanctions: [], labels: [label({ category: 'MIXER' })] };
    const one = linkScore({ from: scammer, to: clean, between: [] }, policy);
    const both = linkScore({ from: scammer, to: mixer, between: [] }, policy);
    expect(one.riskScore).toBe(60);
    expect(one.scoreBreakdown).toMatchObject([{ category: 'SCAM', direction: 'in', points: 60 }]);
    expect(both.riskScore).toBe(100);
  });

  it('includes risks on the paths between them', () => {
    const between = [exposure({ category: 'MIXER', hops: 2, entity: 'Blender' })];
    const { scoreBreakdown, riskScore } = linkScore({ from: clean, to: clean, between }, policy);
    expect(riskScore).toBe(28);
    expect(scoreBreakdown).toMatchObject([{ category: 'MIXER', hops: 2, evidence: ['Blender'] }]);
  });

  it('treats a listing as sanctioned', () => {
    const listed = { sanctions: ['EU: A'], labels: [] };
    expect(linkScore({ from: listed, to: clean, between: [] }, policy).riskScore).toBe(80);
    const labelled = { sanctions: ['EU: A'], labels: [label({ category: 'SCAM', entity: 'B' })] };
    expect(linkScore({ from: labelled, to: clean, between: [] }, policy).scoreBreakdown).toMatchObject([
      { category: 'SANCTIONED_ENTITY', direction: 'in', class: 'list', evidence: ['EU: A'], points: 80 },
    ]);
  });

  it('counts the risk of the receiver as sent to it, and ignores categories without risk', () => {
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

describe('the KYT decision', () => {
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
  ] as const)('for %j is %s', (change, decision) => {
    expect(decide({ ...nothing, ...change }, policy)).toBe(decision);
  });

  it('never becomes milder if the facts become worse', () => {
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
