import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

/** Where `test/setup/bundle.ts` joins the 340 modules of typebox, which most files load: 0.1 s of processor time for each instead of 0.4 s. */
const joined = (name: string): string =>
  fileURLToPath(new URL(`./dist/bundled/typebox/${name}.mjs`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^typebox$/, replacement: joined('index') },
      { find: /^typebox\/(compile|value)$/, replacement: joined('$1') },
    ],
  },
  test: {
    server: { deps: { external: [/\/dist\/bundled\/typebox\//] } },
    include: ['test/**/*.test.ts', 'dashboard/test/**/*.test.ts'],
    // `npm run test:long` runs these.
    exclude: [...configDefaults.exclude, 'test/long/**'],
    globalSetup: ['test/setup/build.ts'],
    // Limits for a test that hangs, long enough for a slow and busy machine: no result depends on the pace.
    testTimeout: 180_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // Many start servers and wait for them, on machines with noisy neighbours. A test that needs a second try is named at the end.
    retry: 1,
    reporters: ['default', './test/setup/second-tries.ts'],
    pool: 'forks',
    // More than the two cores of the smallest machine, because many tests wait for servers, leases and nodes. With four, the cores are idle for
    // 6 % of a run; with three, for 20 %.
    maxWorkers: 4,
  },
});
