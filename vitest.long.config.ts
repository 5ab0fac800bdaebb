import { defineConfig } from 'vitest/config';

/** Files of `npm test` that run here as well: with ASSAY_TEST_LONG=1 they take more schedules, rounds, seeds and cases. */
const LONGER = [
  'test/accounts/ledger-crash.test.ts',
  'test/app/redis-fill.test.ts',
  'test/app/redis-restore.test.ts',
  'test/chains/families/polkadot/chopsticks.test.ts',
  'test/chains/families/utxo/follow-graph.test.ts',
  'test/cli/garbage-files.test.ts',
  'test/e2e/damaged-folder.test.ts',
  'test/e2e/dashboard*.test.ts',
  'test/e2e/dashboard-inbox.test.ts',
  'test/e2e/dashboard-trace.test.ts',
  'test/e2e/full-disk-commands.test.ts',
  'test/e2e/full-disk-exposure.test.ts',
  'test/e2e/full-disk.test.ts',
  'test/e2e/jobs.test.ts',
  'test/e2e/killed-cases.test.ts',
  'test/e2e/killed-authorizations.test.ts',
  'test/e2e/killed-payments.test.ts',
  'test/e2e/scaled-out.test.ts',
  'test/e2e/visibility.test.ts',
  'test/exposure/build.test.ts',
  'test/exposure/update.test.ts',
  'test/graph/bulk.test.ts',
  'test/graph/kernels/exposure.test.ts',
  'test/graph/kernels/path.test.ts',
  'test/graph/kernels/traverse.test.ts',
  'test/jobs/bulk/chunk-work.test.ts',
  'test/jobs/bulk/killed.test.ts',
  'test/labels/index/crash.test.ts',
  'test/names/candidates.test.ts',
  'test/receipts/log/crash.test.ts',
  'test/scenarios/scenarios.test.ts',
  'test/screening/derived-labels.test.ts',
  'test/sim/**/*.test.ts',
  'test/state/damaged-files.test.ts',
  'test/state/sound-stores.test.ts',
];

/** What takes minutes to hours: `npm run test:long`. */
export default defineConfig({
  test: {
    include: ['test/long/**/*.test.ts', ...LONGER],
    globalSetup: ['test/setup/build.ts'],
    env: { ASSAY_TEST_LONG: '1' },
    // Each test has its own end; this ends what hangs.
    testTimeout: 4 * 3_600_000,
    hookTimeout: 600_000,
    // As in vitest.config.ts; the default is one second.
    expect: { poll: { timeout: 60_000 } },
    // A second try would hide what happens once in many hours.
    retry: 0,
    pool: 'forks',
    // One after the other: what is measured is not measured beside other tests.
    maxWorkers: 1,
    fileParallelism: false,
  },
});
