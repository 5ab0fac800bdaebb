/** Evidence of answers, scored again after it was stored as JSON: it gives the answer, and a change of it shows. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { policyFromJson, policyToJson } from '../../src/risk/policy.ts';
import type { Reason } from '../../src/screening/answers.ts';
import { type Assessor, createAssessor } from '../../src/screening/assess.ts';
import type { Evidence } from '../../src/screening/evidence.ts';
import {
  EXPOSURE,
  type ExposureReader,
  type ExposureVerdict,
  NO_EXPOSURE,
  newPlainEntry,
} from '../../src/screening/exposure-port.ts';
import { createAttestedKyt } from '../../src/screening/kyt.ts';
import { createAttestedOracle } from '../../src/screening/oracle.ts';
import { codesOf, rescore } from '../../src/screening/rescore.ts';
import { createAttestedSanctionsCheck } from '../../src/screening/sanctions-check.ts';
import { createAttestedScreening } from '../../src/screening/screen.ts';
import { allFresh, BTC_WALLET, createWorld, policy, someStale, WALLETS, type World } from './world.ts';

const stored = <T>(value: T): T => JSON.parse(JSON.stringify(value));
const again = (evidence: Evidence) => rescore(stored(evidence), policyFromJson(stored(policyToJson(policy))));
const quota = { limit: null, remaining: null, resetAt: '2026-12-01T00:00:00.000Z' };

describe.each(['fresh', 'stale'])('evidence, scored again on %s lists', (lists) => {
  let world: World;
  let assessor: Assessor;
  beforeAll(async () => {
    world = await createWorld();
    assessor = createAssessor(world.deps);
  });
  afterAll(() => world.close());
  beforeEach(() => world.setLists(lists === 'fresh' ? allFresh : someStale));

  const addresses = Object.entries(WALLETS);

  it.each(addresses)('gives the screening of %s', (_, address) => {
    for (const asOf of [undefined, '2022-01-01']) {
      const { answer, evidence } = createAttestedScreening(
        world.deps,
        assessor,
      )({
        chain: 'ETH',
        address,
        ...(asOf === undefined ? {} : { asOf }),
      });
      expect(again(evidence)).toEqual({
        verdict: null,
        score: answer.riskScore,
        riskLevel: answer.riskLevel,
        sanctioned: answer.sanctioned,
        reasonCodes: codesOf(answer.reasons),
      });
    }
  });

  it.each(addresses)('gives the KYT answers of %s, alone and with every other party', (_, address) => {
    const kyt = createAttestedKyt(world.deps, assessor);
    const others = Object.values(WALLETS).filter((other) => other !== address);
    const asked = [
      ...(['in', 'out', 'both'] as const).map((direction) => kyt({ chain: 'ETH', address, direction })),
      ...others.map((to) => kyt({ chain: 'ETH', from: address, to })),
    ];
    for (const { answer, evidence } of asked)
      expect(again(evidence)).toMatchObject({
        verdict: answer.decision,
        score: answer.riskScore,
        riskLevel: answer.riskLevel,
        reasonCodes: codesOf(answer.reasons, answer.flags),
      });
  });

  it.each(addresses)('gives the sanctions check of %s', (_, address) => {
    const { answer, evidence } = createAttestedSanctionsCheck(world.deps)('ETH', address);
    expect(again(evidence)).toMatchObject({
      sanctioned: answer.sanctioned,
      reasonCodes: codesOf(answer.reasons),
    });
  });

  const entry: ExposureVerdict = {
    ...NO_EXPOSURE,
    factors: [
      {
        factor: 'DIRECT_EXPOSURE',
        category: 'MIXER',
        riskType: 'COUNTERPARTY',
        direction: 'in',
        asset: null,
        class: 'published',
        percentage: 12.5,
        valueUsd: 1_000,
        hops: 1,
        points: 37,
        severity: 'HIGH',
        evidence: ['Blender'],
      },
    ],
    unfollowed: [{ code: 'HUB_NOT_FOLLOWED', direction: 'out', asset: null, share: 0.31 }],
    notes: [{ code: 'SUSPECTED_OWNER', category: 'SANCTIONED_ENTITY', message: 'Dealt with one.' }],
  };
  const exposures = (verdict: ExposureVerdict): ExposureReader => ({
    openAll: () => {},
    find: () => (verdict === NO_EXPOSURE ? EXPOSURE.CLEAN : EXPOSURE.EXPOSED),
    status: () => ({
      state: 'READY',
      asOf: '2026-11-20T00:00:00.000Z',
      graphAsOf: '2026-11-21T00:00:00.000Z',
      isOld: false,
    }),
    verdict: () => verdict,
    plain: newPlainEntry(),
    readPlain: () => false,
    waitsSinceMs: () => 0,
  });

  it.each(addresses)('gives the oracle verdict of %s, with and without exposure', (_, address) => {
    for (const verdict of [NO_EXPOSURE, entry]) {
      const oracle = createAttestedOracle({
        ...world.deps,
        exposures: exposures(verdict),
        heightOf: () => 7,
      });
      const { answer, evidence } = oracle('ETH', address, quota).shared;
      expect(again(evidence)).toEqual({
        verdict: answer.verdict,
        score: answer.score,
        riskLevel: answer.riskLevel,
        sanctioned: answer.sanctioned,
        reasonCodes: codesOf(answer.reasons),
      });
      expect(evidence.graph).toEqual({ height: 7, asOf: '2026-11-21T00:00:00.000Z' });
    }
  });

  it('gives the verdict on a chain without transfers', () => {
    const { answer, evidence } = createAttestedOracle(world.deps)('BTC', BTC_WALLET, quota).shared;
    expect(again(evidence)).toMatchObject({ verdict: answer.verdict, score: answer.score });
  });

  it('shows a change of the evidence', () => {
    const { answer, evidence } = createAttestedScreening(
      world.deps,
      assessor,
    )({ chain: 'ETH', address: WALLETS.payer });
    const changed = stored(evidence);
    const altered: Evidence = {
      ...changed,
      labels: [[]],
      parties: [{ ...changed.parties[0], readings: [[]], earlier: [] as Reason[] }],
    };
    expect(again(altered).score).toBe(0);
    expect(answer.riskScore).toBeGreaterThan(0);
  });

  it('shows a change of the policy', () => {
    const { answer, evidence } = createAttestedScreening(
      world.deps,
      assessor,
    )({ chain: 'ETH', address: WALLETS.payer });
    const milder = { ...policy, weights: { ...policy.weights, MIXER: 30 } };
    expect(rescore(stored(evidence), milder).score).toBeLessThan(answer.riskScore);
  });
});
