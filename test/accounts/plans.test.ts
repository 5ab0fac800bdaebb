import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PLAN_NAMES, readPlans } from '../../src/accounts/plans.ts';
import { tempFolder } from './temp-folder.ts';

describe('plans', () => {
  it('have the numbers of the specification and its decisions', () => {
    const plans = readPlans();
    expect(plans.FREE.quotas).toEqual({ intel: 1000, oracle: 1000 });
    expect(plans.BUSINESS.quotas).toEqual({ intel: 10_000_000, oracle: 10_000_000 });
    expect(plans.ENTERPRISE.quotas).toEqual({ intel: null, oracle: null });
    expect(plans.SELF_HOSTED.quotas).toEqual({ intel: null, oracle: null });
    expect(plans.SELF_HOSTED.rateLimits).toEqual(plans.FREE.rateLimits);
    const credits = PLAN_NAMES.map((name) => plans[name].creditsPerMonth);
    expect(credits).toEqual([10, 10, 10, 10, 10, 1_000_000_000]);
    expect(plans.FREE.rateLimits).toEqual({
      screening: 20,
      kyt: 60,
      trace: 5,
      entity: 100,
      'exchange-status': 100,
      monitoring: 30,
      names: 20,
      intel: 300,
      sanctions: 600,
      oracle: 600,
      keys: 20,
      mcp: 300,
    });
  });

  it('name the field of a fault in the file', () => {
    const folder = tempFolder();
    const path = join(folder.path, 'plans.json');
    writeFileSync(path, JSON.stringify({ rateLimits: { screening: 'many' }, plans: {} }));
    expect(() => readPlans(path)).toThrow('data/plans.json: rateLimits.screening must be a whole number');
    folder.remove();
  });
});
