/**
 * The first of the seeded payment scenarios: a fault that shows in one of seven is found by 20 with a probability of 95 %.
 * test/long/payments.test.ts runs all 1,000. `ASSAY_SIM_FIRST` selects other seeds.
 */
import { expect, it } from 'vitest';
import { runScenarios } from './scenario.ts';

const FIRST = Number(process.env.ASSAY_SIM_FIRST ?? 1);
const WORLDS = Number(process.env.ASSAY_SIM_SCHEDULES ?? 20);

it(`accounts for every unit in ${WORLDS} seeded scenarios`, { timeout: 600_000 }, async () => {
  const total = await runScenarios(FIRST, WORLDS);
  expect(total.settled).toBeGreaterThan(WORLDS);
  expect(total.payments).toBeGreaterThan(WORLDS * 5);
});
