import { describe, expect, it } from 'vitest';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { Category } from '../../src/labels/taxonomy.ts';
import { loadMonitoringPolicy, parseMonitoringPolicy } from '../../src/monitoring/policy.ts';
import { RULE_IDS, SEVERITIES } from '../../src/monitoring/records.ts';
import { type Evidence, evaluate, ruleFor } from '../../src/monitoring/rules.ts';
import {
  addTransfer,
  judgeVelocity,
  removeTransfer,
  type WalletBaseline,
} from '../../src/monitoring/velocity.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { type Attribution, UNATTRIBUTED } from '../../src/screening/attribution.ts';
import { evidence } from './evidence.ts';

const policy = loadMonitoringPolicy();
const riskPolicy = loadPolicy(loadTaxonomy().rows);
const threats = new Map(loadTaxonomy().rows.map((row) => [row.id, row.threatLevel]));

const attributed = (category: Category, change: Partial<Attribution> = {}): Attribution => ({
  ...UNATTRIBUTED,
  key: category,
  category,
  entity: { name: `The ${category}`, category, threatLevel: threats.get(category) ?? 'LOW' },
  isRisky: riskPolicy.weights[category] >= riskPolicy.riskyFrom,
  ...change,
});
const found = (change: Partial<Evidence>, enabled = RULE_IDS) =>
  evaluate(evidence(change), enabled, policy).map(({ ruleId, finding }) => ({ ruleId, ...finding }));

describe('the rules', () => {
  it.each([
    ['MIXER', 'MIXING-001'],
    ['PRIVACY_PROTOCOL', 'MIXING-001'],
    ['PHISHING', 'SCAM-001'],
    ['PONZI', 'SCAM-001'],
    ['DARKNET_MARKET', 'DARKWEB-001'],
    ['STOLEN_FUNDS', 'HIGHRISK-001'],
    ['RANSOMWARE', 'HIGHRISK-001'],
    ['GAMBLING', 'HIGHRISK-001'],
    ['SANCTIONED_ENTITY', 'SANCTIONS-001'],
  ] as const)('%s falls under %s and no other', (category, ruleId) => {
    expect(found({ counterparty: attributed(category) })).toMatchObject([
      { ruleId, riskType: 'COUNTERPARTY', category },
    ]);
  });

  it.each(['EXCHANGE', 'DEX', 'INDIVIDUAL', 'MINING_POOL', 'OTHER'] as const)(
    '%s raises nothing',
    (category) => {
      expect(found({ counterparty: attributed(category) })).toEqual([]);
    },
  );

  it('cover every risky category', () => {
    for (const [category, weight] of Object.entries(riskPolicy.weights))
      if (weight >= riskPolicy.riskyFrom)
        expect(ruleFor(attributed(category as Category), policy), category).not.toBeNull();
  });

  it('report a sanction in force as CRITICAL, for any value and any other label', () => {
    for (const amountUsd of [0.01, null, 1e9])
      expect(found({ counterparty: attributed('MIXER', { sanctioned: true }), amountUsd })).toMatchObject([
        { ruleId: 'SANCTIONS-001', severity: 'CRITICAL' },
      ]);
  });

  it('report dust as LOW in both directions', () => {
    const sanctioned = attributed('SANCTIONED_ENTITY', { sanctioned: true });
    const dust = { counterparty: sanctioned, amountUsd: 0.01 };
    expect(found({ ...dust, isDust: true })).toMatchObject([
      {
        ruleId: 'SANCTIONS-001',
        severity: 'LOW',
        title: 'Dust: Received from The SANCTIONED_ENTITY',
        message: expect.stringContaining('The transfer is dust'),
      },
    ]);
    expect(found({ ...dust, direction: 'out', isDust: true })).toMatchObject([
      { severity: 'LOW', message: expect.stringContaining('all that the wallet sent there') },
    ]);
    expect(found({ ...dust, direction: 'out' })).toMatchObject([{ severity: 'CRITICAL' }]);
    expect(found({ clusterSanctioned: true, isDust: true })).toMatchObject([{ severity: 'LOW' }]);
    expect(evaluate(evidence({ ...dust, isDust: true }), RULE_IDS, policy)).toMatchObject([
      { basis: 'DUST' },
    ]);
  });

  it('attribute facts of a cluster to the cluster, not to the address', () => {
    const [finding] = found({ clusterSanctioned: true });
    expect(finding).toMatchObject({ ruleId: 'SANCTIONS-001', severity: 'HIGH', riskType: 'INDIRECT' });
    expect(finding?.message).toMatch(/The address itself is not listed/);
  });

  it('derive the severity from category and value, and do not treat an unknown value as small', () => {
    const severity = (amountUsd: number | null, category: Category = 'MIXER') =>
      found({ counterparty: attributed(category), amountUsd })[0]?.severity;
    expect([severity(10), severity(5_000), severity(1e6), severity(null)]).toEqual([
      'MEDIUM',
      'HIGH',
      'CRITICAL',
      'HIGH',
    ]);
    expect(severity(5_000, 'GAMBLING')).toBe('MEDIUM');
  });

  it('report two hops from a minimum share, one step less severe, only if the counterparty is unknown', () => {
    const behind = (share: number) => [{ attribution: attributed('DARKNET_MARKET'), share }];
    expect(found({ behind: behind(0.05) })).toEqual([]);
    expect(found({ behind: behind(0.4) })).toMatchObject([
      { ruleId: 'DARKWEB-001', severity: 'HIGH', riskType: 'INDIRECT' },
    ]);
    expect(found({ behind: behind(0.4) })[0]?.message).toMatch(/40 % of what it received was from/);
    expect(
      found({ behind: [{ attribution: attributed('MIXER', { sanctioned: true }), share: 1 }] }),
    ).toMatchObject([{ ruleId: 'SANCTIONS-001', severity: 'HIGH' }]);
  });

  it('find nothing if disabled', () => {
    expect(found({ counterparty: attributed('MIXER') }, ['SANCTIONS-001'] as never)).toEqual([]);
  });

  it('never lower the severity for more value', () => {
    for (const category of Object.keys(riskPolicy.weights) as Category[]) {
      let last = -1;
      for (const amountUsd of [0, 1, 99, 100, 5_000, 99_999, 100_000, 1e9]) {
        const severity = found({ counterparty: attributed(category), amountUsd })[0]?.severity;
        const now = severity === undefined ? -1 : SEVERITIES.indexOf(severity);
        expect(now).toBeGreaterThanOrEqual(last);
        last = now;
      }
    }
  });
});

const NO_CATEGORIES = Object.fromEntries(RULE_IDS.map((id) => [id, { name: id, categories: [] }]));

describe('the policy', () => {
  it.each([
    [{ severity: { smallUsd: 10, largeUsd: 5 } }, /severity.largeUsd/],
    [{ severity: { smallUsd: 5, largeUsd: 5 } }, /severity.largeUsd must be greater than smallUsd/],
    [
      { rules: { ...NO_CATEGORIES, 'SANCTIONS-001': { name: 'A', categories: 'MIXER' } } },
      /must be an array/,
    ],
    [{ rules: { ...NO_CATEGORIES, 'SANCTIONS-001': { name: '', categories: [] } } }, /must be a string/],
    [
      { rules: { ...NO_CATEGORIES, 'SANCTIONS-001': { name: 'A', categories: ['MIXER', 'MIXER'] } } },
      /MIXER is in two/,
    ],
    [
      { rules: { ...NO_CATEGORIES, 'SANCTIONS-001': { name: 'A', categories: ['BLENDER'] } } },
      /known categories \(got "BLENDER"\)/,
    ],
    [{ recheckDays: 0 }, /recheckDays/],
    [{ confirmations: {} }, /confirmations|ETH/],
    [{ version: 1 }, /version/],
    [{ rules: {} }, /rules.SANCTIONS-001/],
  ])('%j stops the start with a sentence', (change, message) => {
    const whole = {
      version: '1',
      rules: NO_CATEGORIES,
      severity: { smallUsd: 1, largeUsd: 2 },
      indirect: { shareMin: 0.1, counterpartiesRead: 10 },
      velocity: {
        historyDays: 30,
        warmUpDays: 7,
        zScore: 4,
        countMin: 1,
        volumeMinUsd: 1,
        coldCount: 1,
        coldVolumeUsd: 1,
      },
      recheckDays: 90,
      confirmations: policy.confirmations,
    };
    expect(parseMonitoringPolicy(whole).recheckDays).toBe(90);
    expect(() => parseMonitoringPolicy({ ...whole, ...change })).toThrow(message);
  });
});

describe('velocity', () => {
  const day = 24 * 3_600_000;
  const at = (d: number, hour = 12): number => d * day + hour * 3_600_000;
  const past = (perDay: (d: number) => number, days: number, usd = 100): WalletBaseline => {
    let result: WalletBaseline = { sinceDay: 100, days: [] };
    for (let d = 100; d < 100 + days; d++)
      for (let i = 0; i < perDay(d); i++)
        result = addTransfer(result, { timestampMs: at(d), usd }, policy.velocity);
    return result;
  };
  const judge = (of: WalletBaseline, today: number) => judgeVelocity(of, at(today), policy.velocity);
  const add = (of: WalletBaseline, d: number, count: number, usd: number): WalletBaseline => {
    let result = of;
    for (let i = 0; i < count; i++)
      result = addTransfer(result, { timestampMs: at(d), usd }, policy.velocity);
    return result;
  };

  it('does not report a day like the others, however regular they were', () => {
    const regular = past(() => 20, 30);
    for (const count of [1, 20, 25, 35]) expect(judge(add(regular, 130, count, 100), 130)).toBeNull();
  });

  it('reports a spike of the count', () => {
    expect(
      judge(
        add(
          past(() => 5, 30),
          130,
          100,
          1,
        ),
        130,
      ),
    ).toMatchObject({ measure: 'count', value: 100, usual: 5 });
  });

  it('reports a spike of the value at the usual count', () => {
    const found = judge(
      add(
        past((d) => 4 + (d % 3), 30),
        130,
        5,
        50_000,
      ),
      130,
    );
    expect(found).toMatchObject({ measure: 'volume', value: 250_000 });
    expect(found?.zScore).toBeGreaterThan(policy.velocity.zScore);
  });

  it('includes days without a transfer in the baseline', () => {
    const rare = past((d) => (d % 10 === 0 ? 30 : 0), 30);
    expect(judge(add(rare, 130, 30, 100), 130)).toBeNull();
  });

  it('does not report small counts and values', () => {
    expect(
      judge(
        add(
          past(() => 0, 30),
          130,
          policy.velocity.countMin - 1,
          1,
        ),
        130,
      ),
    ).toBeNull();
  });

  it('compares a wallet without a baseline with fixed limits, and says so', () => {
    const fresh: WalletBaseline = { sinceDay: 129, days: [] };
    expect(judge(add(fresh, 130, 150, 1), 130)).toBeNull();
    expect(judge(add(fresh, 130, 200, 1), 130)).toEqual({
      measure: 'count',
      value: 200,
      usual: null,
      zScore: null,
    });
    expect(judge(add(fresh, 130, 1, 2_000_000), 130)).toMatchObject({ measure: 'volume', usual: null });
  });

  it('removes reverted transfers, in any order', () => {
    const before = past(() => 5, 30);
    const one = { timestampMs: at(115), usd: 7 };
    expect(removeTransfer(addTransfer(before, one, policy.velocity), one)).toEqual(before);
    expect(
      removeTransfer(add({ sinceDay: 1, days: [] }, 5, 1, 3), { timestampMs: at(5), usd: 3 }).days,
    ).toEqual([]);
  });

  it('keeps only the days of the baseline', () => {
    expect(past(() => 1, 300).days.length).toBeLessThanOrEqual(policy.velocity.historyDays + 1);
  });
});
