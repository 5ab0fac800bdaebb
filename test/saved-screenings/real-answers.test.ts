/** Comparison of answers of the real use cases, over two states of labels, lists and transfers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Comparison, compareAnswers } from '../../src/saved-screenings/compare/compare.ts';
import type { SavedKind, SavedScreening } from '../../src/saved-screenings/records.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createKyt, type KytRequest } from '../../src/screening/kyt.ts';
import { createScreening, type ScreeningRequest } from '../../src/screening/screen.ts';
import { allFresh, createWorld, sent, someStale, template, WALLETS, type World } from '../screening/world.ts';

describe('two answers of the use cases', () => {
  let before: World;
  let after: World;
  beforeAll(async () => {
    before = await createWorld();
    after = await createWorld(
      [sent(20, WALLETS.mixer, WALLETS.payer, { valueUsd: 50_000 })],
      [
        [WALLETS.payer, template('Payer Ltd', 'GAMBLING', { confidence: 0.7 })],
        [WALLETS.unknown, template('Hydra', 'DARKNET_MARKET', { source: 'ofac', confidence: 1 })],
      ],
    );
  });
  afterAll(async () => {
    await before.close();
    await after.close();
  });

  /** Parses the text of an answer, as a comparison does. */
  function side(kind: SavedKind, request: object, answer: { readonly riskScore: number }) {
    const parsed = JSON.parse(JSON.stringify(answer));
    const { riskScore, riskLevel, dataVersion, policyVersion, chain } = parsed;
    const screening: SavedScreening = {
      ...{
        id: 'x',
        accountId: 'acc',
        kind,
        chain,
        addresses: [],
        request: request as SavedScreening['request'],
      },
      ...{ riskScore, riskLevel, decision: parsed.decision ?? null, dataVersion, policyVersion },
      ...{
        softwareVersion: '1',
        lists: [],
        savedAtMs: 0,
        savedBy: 'k',
        bytes: 0,
        sha256: '',
        storedBytes: 0,
      },
    };
    return { screening, answer: parsed };
  }
  const screened = (world: World, request: ScreeningRequest) =>
    side('SCREENING', request, createScreening(world.deps, createAssessor(world.deps))(request));
  const checked = (world: World, request: KytRequest) =>
    side('KYT', request, createKyt(world.deps, createAssessor(world.deps))(request));
  const causesOf = ({ causes }: Comparison) => causes.map(({ cause }) => cause);
  const sum = (values: readonly (number | null)[]): number =>
    values.reduce<number>((total, value) => total + (value ?? 0), 0);

  it('have score lines that add up, for every address', () => {
    for (const address of Object.values(WALLETS)) {
      const request = { chain: 'ETH', address };
      const { score } = compareAnswers(screened(before, request), screened(after, request));
      expect(
        [
          sum(score.lines.map((line) => line.before)),
          sum(score.lines.map((line) => line.after)),
          sum(score.lines.map((line) => line.difference)),
        ],
        address,
      ).toEqual([score.before, score.after, score.difference]);
      expect(score.difference).toBe(score.after - score.before);
      for (const line of score.lines)
        expect(line.causes.length > 0, `${address} ${line.factor}`).toBe(line.difference !== 0);
    }
  });

  it('name the new label, the new transfer and what they did to exposure', () => {
    const request = { chain: 'ETH', address: WALLETS.payer };
    const compared = compareAnswers(screened(before, request), screened(after, request));
    expect(compared).toMatchObject({ isChanged: true, notCompared: [], request: [] });
    expect(causesOf(compared)).toEqual(expect.arrayContaining(['LABELS', 'TRANSFERS', 'EXPOSURE', 'DATA']));
    expect(compared.labels?.added).toMatchObject([{ name: 'Payer Ltd', category: 'GAMBLING' }]);
    expect(compared.transfers).toContainEqual({ field: 'inflow.txCount', before: 1, after: 2 });
    expect(compared.exposures?.added).toContainEqual(
      expect.objectContaining({ direction: 'out', category: 'DARKNET_MARKET' }),
    );
    expect(compared.verdict.map(({ field }) => field)).toContain('entity');
    const own = compared.score.lines.find(({ factor }) => factor === 'OWN_LABEL');
    expect([own?.before, own?.causes]).toEqual([null, ['LABELS']]);
  });

  it('of an address that nothing happened to differ in the data alone', () => {
    const request = { chain: 'ETH', address: WALLETS.sanctioned };
    const compared = compareAnswers(screened(before, request), screened(after, request));
    expect(compared).toMatchObject({
      isChanged: false,
      sanctions: { added: [], removed: [], changed: [] },
      labels: { added: [], removed: [], changed: [] },
    });
    // The newest block of the chain is a later one.
    expect(compared.coverage.map(({ field }) => field)).toEqual(['graph']);
    expect(causesOf(compared)).toEqual(['COVERAGE', 'DATA']);
  });

  it('show that lists became stale in coverage, reasons and the decision of KYT', () => {
    const request = { chain: 'ETH', address: WALLETS.twice };
    const fresh = checked(before, request);
    before.setLists(someStale);
    const compared = compareAnswers(fresh, checked(before, request));
    before.setLists(allFresh);
    expect(compared.verdict).toContainEqual({ field: 'decision', before: 'ALLOW', after: 'REVIEW' });
    expect(compared.coverage.map(({ field }) => field)).toEqual(['sanctions']);
    expect(compared.reasons?.added).toMatchObject([{ code: 'STALE_OR_MISSING_DATA' }]);
    expect(causesOf(compared)).toEqual(['COVERAGE']);
  });

  it('of a transfer name parties and flags', () => {
    const request = { chain: 'ETH', from: WALLETS.payer, to: WALLETS.unknown };
    const compared = compareAnswers(checked(before, request), checked(after, request));
    expect(compared.parties?.map(({ field }) => field)).toEqual(
      expect.arrayContaining(['from.entity', 'to.entity']),
    );
    expect(compared.flags?.added.length).toBeGreaterThan(0);
    expect(compared.score.lines).toMatchObject([{ factor: 'SCORE', difference: compared.score.difference }]);
    expect(compared.score.difference).toBeGreaterThan(0);
    expect(causesOf(compared)).toEqual(expect.arrayContaining(['PARTIES', 'FLAGS', 'DATA']));
  });
});
