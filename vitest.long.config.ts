import { defineConfig } from 'vitest/config';

/** What takes minutes to hours: `npm run test:long`. Tests in test/sim run here as well, with more schedules. */
export default defineConfig({
  test: {
    include: ['test/long/**/*.test.ts', 'test/sim/**/*.test.ts'],
    globalSetup: ['test/setup/build.ts'],
    env: { ASSAY_TEST_LONG: '1' },
    // Each test has its own end; this ends what hangs.
    testTimeout: 4 * 3_600_000,
    hookTimeout: 600_000,
    // A second try would hide what happens once in many hours.
    retry: 0,
    pool: 'forks',
    // One after the other: what is measured is not measured beside other tests.
    maxWorkers: 1,
    fileParallelism: false,
  },
});
