/**
 * 1,000 seeded payment scenarios in one run. `ASSAY_SIM_FIRST` and `ASSAY_SIM_SCHEDULES` select other seeds. The error of a failed scenario
 * names its seed, which test/billing/crypto/scenarios.test.ts runs alone with the same variables.
 */
import { expect, it } from 'vitest';
import { runScenarios } from '../billing/crypto/scenario.ts';

const FIRST = Number(process.env.ASSAY_SIM_FIRST ?? 1);
const WORLDS = Number(process.env.ASSAY_SIM_SCHEDULES ?? 1_000);

it(`accounts for every unit in ${WORLDS} seeded scenarios`, { timeout: 3_600_000 }, async () => {
  const total = await runScenarios(FIRST, WORLDS);
  console.log(JSON.stringify(total));
  expect(total.settled).toBeGreaterThan(WORLDS);
  expect(total.payments).toBeGreaterThan(WORLDS * 5);
  expect(total.crashes).toBeGreaterThan(WORLDS / 2);
});
