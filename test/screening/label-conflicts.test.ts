import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Label } from '../../src/labels/label.ts';
import { primaryOrder } from '../../src/labels/primary.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';
import type { Category } from '../../src/labels/taxonomy.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { attribute } from '../../src/screening/attribution.ts';
import { labelEvidence } from '../../src/screening/judge.ts';
import { labelConflicts, unsettledLabels } from '../../src/screening/label-conflicts.ts';
import { createScreening } from '../../src/screening/screen.ts';
import { sanction } from '../labels/index/world.ts';
import { createWorld, policy, sent, WALLETS, type World } from './world.ts';

const order = primaryOrder(loadSourceTable());

const label = (name: string, category: Category, fields: Partial<Label> = {}): Label => ({
  entity: { id: name.toLowerCase(), name, category, jurisdiction: null, url: null },
  scope: 'BTC',
  category,
  threatLevel: policy.threats[category],
  source: 'graphsense',
  class: 'published',
  sourceUrl: null,
  tags: [],
  confidence: 0.8,
  sanctions: [],
  verified: true,
  synthetic: false,
  firstSeen: null,
  lastSeen: null,
  ...fields,
});

const sorted = (...labels: Label[]): Label[] => [...labels].sort(order);
const decided = (...labels: Label[]) => labelConflicts(sorted(...labels))[0];

describe('a label conflict', () => {
  const exchange = label('Binance', 'EXCHANGE');

  it('is not the former period of a wallet that its list listed again', () => {
    const now = label('Listed', 'SANCTIONED_ENTITY', {
      source: 'ofac',
      class: 'list',
      sanctions: [sanction],
    });
    const former = { ...sanction, delistedAt: '2025-01-01' };
    const before = label('Listed', 'EXCHANGE', { source: 'ofac', class: 'list', sanctions: [former] });
    expect(decided(now, before)).toBeUndefined();
    expect(decided(now, { ...before, source: 'seed' })).toMatchObject({ decidedBy: 'SANCTION' });
    const other = label('Other', 'EXCHANGE', { source: 'ofac', class: 'list', sanctions: [former] });
    expect(decided(now, other)).toMatchObject({ decidedBy: 'SANCTION', labels: [{}, { name: 'Other' }] });
  });

  it.each([
    [
      'SANCTION',
      label('Listed', 'SANCTIONED_ENTITY', {
        source: 'ofac',
        class: 'list',
        confidence: 0.5,
        sanctions: [sanction],
      }),
      exchange,
    ],
    ['CLASS', label('Weak', 'SCAM', { confidence: 0.3 }), { ...exchange, class: 'structural' as const }],
    ['CONFIDENCE', label('Sure', 'SCAM', { confidence: 0.81 }), exchange],
    [
      'DATE',
      label('New', 'SCAM', { lastSeen: '2025-01-02', source: 'pools' }),
      { ...exchange, lastSeen: '2025-01-01' },
    ],
    ['RANK', label('Ranked', 'SCAM', { source: 'seed' }), exchange],
  ] as const)('is decided by %s', (decidedBy, winner, loser) => {
    const conflict = decided(loser, winner);
    expect(conflict).toMatchObject({
      decidedBy,
      decided: { name: winner.entity.name },
      labels: [{ name: winner.entity.name }, { name: loser.entity.name }],
    });
    expect(conflict?.fields).toEqual(expect.arrayContaining(['category', 'threatLevel']));
    expect(conflict?.message).toContain(`over ${loser.category}`);
  });

  it('is about the owner if two services are named', () => {
    const other = label('OKX', 'EXCHANGE', { confidence: 0.7 });
    expect(decided(exchange, other)).toMatchObject({ fields: ['entity'], decidedBy: 'CONFIDENCE' });
  });

  it('is not reported if labels differ only in irrelevant fields', () => {
    const same = label('Binance', 'EXCHANGE', { source: 'exchanges', tags: ['cold wallet'] });
    const custody = label('Binance', 'CUSTODIAN', { source: 'own' });
    const unnamed = label('Somebody', 'OTHER', { source: 'own' });
    expect(labelConflicts(sorted(exchange, same, custody, unnamed))).toEqual([]);
    const crimes = sorted(
      label('Fake_Phishing1', 'PHISHING'),
      label('A phishing site', 'PHISHING', { source: 'scams' }),
    );
    expect(labelConflicts(crimes)).toEqual([]);
  });

  it('is not reported between two names of one crime', () => {
    const listed = label('Lazarus', 'SANCTIONED_ENTITY', {
      source: 'ofac',
      class: 'list',
      confidence: 1,
      sanctions: [sanction],
    });
    expect(labelConflicts(sorted(listed, label('Ronin thief', 'STOLEN_FUNDS')))).toEqual([]);
    expect(labelConflicts(sorted(label('Gang', 'RANSOMWARE'), label('Gang', 'MALWARE')))).toEqual([]);
    expect(labelConflicts(sorted(label('Gang', 'RANSOMWARE'), label('Other', 'MALWARE')))).toHaveLength(1);
  });

  it('omits historical labels', () => {
    const history = label('Former party', 'SANCTIONED_ENTITY', {
      source: 'ofac',
      class: 'list',
      sanctions: [{ ...sanction, delistedAt: '2025-03-21' }],
    });
    expect(labelConflicts(sorted(exchange, history))).toEqual([]);
  });

  it('is listed once per answer, up to a limit', () => {
    const rivals = Array.from({ length: 100 }, (_, at) =>
      label(`Rival ${at}`, 'EXCHANGE', { confidence: 0.5 }),
    );
    const conflicts = labelConflicts(sorted(exchange, ...rivals, ...rivals));
    expect(conflicts).toHaveLength(20);
    expect(new Set(conflicts.map(({ labels }) => labels[1]?.name)).size).toBe(20);
  });

  it('lets a current label outweigh a historical listing', () => {
    const history = label('Former party', 'OTHER', {
      source: 'ofac',
      class: 'list',
      confidence: 0.5,
      sanctions: [{ ...sanction, delistedAt: '2025-03-21' }],
    });
    expect(sorted(history, exchange)[0]).toBe(exchange);
  });
});

describe('an address with conflicting labels counts for its counterparties', () => {
  const exchange = label('Kraken', 'EXCHANGE', { confidence: 0.9 });
  const of = (...labels: Label[]) => attribute(sorted(...labels), policy, null);

  it.each([
    ['PHISHING', 0.85],
    ['TERRORIST_FINANCING', 0.89],
    ['MIXER', 0.9],
  ] as const)('as %s beside a service with higher confidence', (category, confidence) => {
    const found = of(exchange, label('Mule', category, { confidence }));
    expect(found).toMatchObject({ category, confidence, isRisky: true, isFirm: true });
    // The first label still names it, and it still is a service that ends walks.
    expect(found).toMatchObject({
      entityId: 'kraken',
      entity: { name: 'Kraken', category: 'EXCHANGE', threatLevel: policy.threats[category] },
      isService: true,
    });
    expect(found.points).toBeGreaterThanOrEqual(policy.riskyFrom);
  });

  it('as the most severe of several risks, not the most certain', () => {
    const mixer = label('Mixer', 'MIXER', { confidence: 0.95 });
    const phishing = label('Phisher', 'PHISHING', { confidence: 0.9 });
    expect(of(mixer, phishing)).toMatchObject({ category: 'PHISHING', confidence: 0.9 });
    expect(of(mixer, { ...phishing, confidence: 0.6 })).toMatchObject({
      category: 'MIXER',
      confidence: 0.95,
    });
  });

  it('as a crime that publishers agree on, although each is less certain', () => {
    const crimes = ['one', 'two', 'three'].map((name) =>
      label(name, 'PHISHING', { confidence: 0.45, sourceUrl: `https://${name}.example/list` }),
    );
    const found = of(exchange, ...crimes);
    expect(found.points).toBeGreaterThanOrEqual(80);
    expect(found).toMatchObject({ category: 'PHISHING', isFirm: true });
    expect(found.confidence).toBeCloseTo(1 - 0.55 ** 3, 9);
  });

  it('as an illicit actor if a label without a harmful category has a credible CRITICAL threat', () => {
    const threat = label('Watched', 'OTHER', { threatLevel: 'CRITICAL', confidence: 0.85 });
    for (const found of [of(threat), of(exchange, threat)]) {
      expect(found).toMatchObject({ category: 'ILLICIT_ACTOR', confidence: 0.85, isRisky: true, points: 80 });
      expect(found.entity?.threatLevel).toBe('CRITICAL');
    }
    expect(of({ ...threat, confidence: 0.7 })).toMatchObject({
      category: 'OTHER',
      isRisky: false,
      points: 0,
    });
    expect(of({ ...threat, class: 'inferred' })).toMatchObject({ category: 'OTHER', isRisky: false });
    const mixer = label('Mixer', 'MIXER', { threatLevel: 'CRITICAL', confidence: 0.9 });
    expect(of(mixer)).toMatchObject({ category: 'MIXER' });
  });

  it('by the better class of evidence, not by a label of low confidence', () => {
    const derived = label('Guess', 'PHISHING', { class: 'structural', source: 'cluster', confidence: 0.95 });
    expect(of(exchange, derived)).toMatchObject({ category: 'EXCHANGE', isRisky: false });
    const weak = label('Rumour', 'PHISHING', { confidence: 0.3 });
    expect(of(exchange, weak)).toMatchObject({ category: 'EXCHANGE', isRisky: false, isFirm: true });
    const guesses = of({ ...exchange, class: 'structural' }, derived);
    expect(guesses).toMatchObject({ category: 'PHISHING', class: 'structural', isFirm: false });
    // Also a published label that is too weak to end a walk is no worse than a derived one.
    const [faint, unlisted] = [
      { ...exchange, confidence: 0.3 },
      label('Gone', 'PHISHING', { class: 'list', source: 'ofac', confidence: 0.3 }),
    ];
    expect(of(faint, derived)).toMatchObject({ category: 'EXCHANGE', isRisky: false, isFirm: false });
    expect(of(faint, unlisted)).toMatchObject({ category: 'PHISHING', isRisky: true });
  });

  it('as the holder if a seizure or a correction settles the crime', () => {
    const crime = label('Gang', 'RANSOMWARE', { confidence: 0.75 });
    const seizure = label('FBI', 'SEIZED_FUNDS', { source: 'seed', confidence: 0.9 });
    expect(of(crime, seizure)).toMatchObject({ category: 'SEIZED_FUNDS', isRisky: false });
    const correction = label('Example', 'OTHER', {
      source: 'own',
      confidence: 0.95,
      tags: ['corrects:RANSOMWARE'],
    });
    expect(of(crime, correction)).toMatchObject({ category: 'OTHER', isRisky: false });
    const scam = label('Scam', 'SCAM', { confidence: 0.7 });
    expect(of(crime, correction, scam)).toMatchObject({ category: 'SCAM', isRisky: true });
  });

  it('as neutral if no label is a risk', () => {
    const dex = label('Swap', 'DEX', { confidence: 0.8 });
    expect(of(exchange, dex)).toMatchObject({ category: 'EXCHANGE', isRisky: false, entityId: 'kraken' });
  });
});

describe('an authority that holds seized coins', () => {
  const crime = label('Razy', 'RANSOMWARE', { confidence: 0.75 });
  const seizure = label('FBI', 'SEIZED_FUNDS', { source: 'seed', confidence: 0.9 });

  const pointsOf = (...labels: Label[]): number => attribute(sorted(...labels), policy, null).points;

  it('does not count as the crime from which they came', () => {
    expect(pointsOf(crime)).toBe(71);
    expect(pointsOf(crime, seizure)).toBe(Math.round(policy.weights.SEIZED_FUNDS * 0.9));
    expect(decided(crime, seizure)).toMatchObject({
      decided: { category: 'SEIZED_FUNDS' },
      isSettled: true,
      message: expect.stringContaining('does not score'),
    });
  });

  it('does not clear a better founded label or a listing, and is not accepted from a derived label', () => {
    expect(pointsOf({ ...crime, confidence: 0.95 }, seizure)).toBe(90);
    const listed = label('Listed', 'SANCTIONED_ENTITY', {
      source: 'ofac',
      class: 'list',
      confidence: 1,
      sanctions: [sanction],
    });
    expect(pointsOf(listed, seizure)).toBe(100);
    expect(pointsOf(crime, { ...seizure, class: 'structural' })).toBe(71);
    const derived = sorted({ ...crime, class: 'structural' }, { ...seizure, class: 'structural' });
    expect(unsettledLabels(derived)).toHaveLength(2);
  });

  it('clears no label of another kind', () => {
    const gambling = label('Dice', 'GAMBLING', { confidence: 0.5 });
    expect(unsettledLabels(sorted(seizure, gambling))).toHaveLength(2);
  });
});

describe('a correction', () => {
  const crime = label('File-Locker', 'RANSOMWARE', { confidence: 0.75 });
  const correction = label('Example', 'OTHER', {
    source: 'own',
    confidence: 0.95,
    tags: ['corrects:RANSOMWARE'],
  });

  it('removes the category that it names, and no other', () => {
    const scored = (...labels: Label[]): readonly Category[] =>
      labelEvidence(sorted(...labels), policy).labels.map(({ category }) => category);
    expect(scored(crime, correction)).toEqual(['OTHER']);
    expect(scored(label('X', 'SCAM', { confidence: 0.7 }), correction)).toEqual(['OTHER', 'SCAM']);
  });

  it('does not clear the listing of the address itself, also if it names a designated owner', () => {
    const owner: Label = {
      ...correction,
      category: 'EXCHANGE',
      confidence: 0.95,
      tags: ['corrects:SANCTIONED_ENTITY'],
      sanctions: [
        {
          ...{ ...sanction, matchType: 'OWNER', entityId: 'other' },
          attribution: { source: 'own', confidence: 0.95, date: null },
        },
      ],
    };
    const listed = label('Listed', 'SANCTIONED_ENTITY', {
      source: 'seed',
      confidence: 0.9,
      sanctions: [sanction],
    });
    const labels = sorted(listed, owner);
    expect(labels[0]).toBe(owner);
    expect(unsettledLabels(labels)).toHaveLength(2);
  });

  it('is accepted only from own labels and shipped facts', () => {
    expect(unsettledLabels(sorted(crime, { ...correction, source: 'graphsense' }))).toHaveLength(2);
  });

  it('does not let a safe label hide a conflict that still scores', () => {
    const safe = label('Binance', 'EXCHANGE', { confidence: 0.9 });
    const danger = label('Fake_Phishing9', 'PHISHING', { confidence: 0.85 });
    const evidence = labelEvidence(sorted(safe, danger), policy);
    expect(evidence.labels.map(({ category }) => category)).toEqual(['EXCHANGE', 'PHISHING']);
    expect(decided(safe, danger)).toMatchObject({
      isSettled: false,
      message: expect.stringContaining('still scores'),
    });
    expect(attribute(sorted(safe, danger), policy, null).points).toBe(80);
  });
});

describe('derived labels', () => {
  const customer = '0x0000000000000000000000000000000000cc5701';
  /** Both received 3 USDC from a mixer and 1 USDC beside: of a derived exchange, and of an address without a label. */
  const besideDerived = '0x0000000000000000000000000000000000cc5702';
  const besideUnknown = '0x0000000000000000000000000000000000cc5703';
  const usdc = (amount: bigint) => ({
    asset: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
    amount,
    decimals: 6,
    valueUsd: null,
  });
  let world: World;
  beforeAll(async () => {
    world = await createWorld([
      sent(21, WALLETS.mixer, WALLETS.derived, { valueUsd: 5_000 }),
      sent(22, WALLETS.derived, customer, { valueUsd: 5_000 }),
      ...[
        [besideDerived, WALLETS.derived],
        [besideUnknown, WALLETS.unknown],
      ].flatMap(([to, other], at) => [
        sent(30 + 3 * at, WALLETS.mixer, to!, usdc(3_000_000n)),
        sent(31 + 3 * at, other!, to!, usdc(1_000_000n)),
        sent(32 + 3 * at, WALLETS.unknown, to!, { valueUsd: 0.5 }),
      ]),
    ]);
  });
  afterAll(() => world.close());

  it('name an address without making it a service', () => {
    const cluster = label('Kraken', 'EXCHANGE', { source: 'cluster', class: 'structural' });
    expect(attribute([cluster], policy, null)).toMatchObject({
      entity: { name: 'Kraken' },
      class: 'structural',
      isService: false,
    });
    expect(labelEvidence([cluster], policy).isService).toBe(false);
    const published: Label = { ...cluster, source: 'graphsense', class: 'published' };
    expect(attribute([published], policy, null).isService).toBe(true);
    expect(labelEvidence([published], policy).isService).toBe(true);
  });

  it('do not hide the mixer behind an address that they call an exchange', () => {
    const screen = createScreening(world.deps, createAssessor(world.deps));
    const answer = screen({ chain: 'ETH', address: customer });
    expect(answer.topCounterparties[0]).toMatchObject({ entity: { name: 'Kraken' } });
    expect(answer.exposureReceiving).toEqual({ MIXER: 100 });
    expect(answer.scoreBreakdown).toMatchObject([
      { factor: 'INDIRECT_EXPOSURE', category: 'MIXER', hops: 2, percentage: 100 },
    ]);
  });

  it('count as neutral volume in an asset without a price, like no label', () => {
    const screen = createScreening(world.deps, createAssessor(world.deps));
    const rows = (address: string) => screen({ chain: 'ETH', address }).scoreBreakdown;
    expect(rows(besideUnknown)).toMatchObject([{ category: 'MIXER', percentage: 75 }]);
    expect(rows(besideDerived)).toEqual(rows(besideUnknown));
  });

  it('are listed with their class in a screening, beside the conflicts', () => {
    const screen = createScreening(world.deps, createAssessor(world.deps));
    const answer = screen({ chain: 'ETH', address: WALLETS.seized });
    expect(answer.entityLabels.map((one) => one.class)).toEqual(['published', 'published']);
    expect(answer.labelConflicts).toMatchObject([
      { decided: { category: 'SEIZED_FUNDS' }, decidedBy: 'CONFIDENCE', isSettled: true },
    ]);
    expect(answer.scoreBreakdown).toMatchObject([{ category: 'SEIZED_FUNDS', class: 'published' }]);
    expect(screen({ chain: 'ETH', address: WALLETS.exchange }).labelConflicts).toEqual([]);
  });
});
