import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import type { ProjectConfig } from 'vitest/node';
import { filesAlone } from './test/setup/alone.ts';
import { joinedWorkers } from './test/setup/joined-workers.ts';
import { LongestFirst } from './test/setup/order.ts';

/** Where `test/setup/bundle.ts` joins the 340 modules of typebox, which most files load: 0.1 s of processor time for each instead of 0.4 s. */
const joined = (name: string): string =>
  fileURLToPath(new URL(`./dist/bundled/typebox/${name}.mjs`, import.meta.url));

const resolve = {
  alias: [
    { find: /^typebox$/, replacement: joined('index') },
    { find: /^typebox\/(compile|value)$/, replacement: joined('$1') },
  ],
};
// `npm run test:long` runs these.
const NOT = [...configDefaults.exclude, 'test/long/**'];
/** Settings of a test file. */
const test: ProjectConfig = {
  server: { deps: { external: [/\/dist\/bundled\/typebox\//] } },
  include: ['test/**/*.test.ts', 'dashboard/test/**/*.test.ts'],
  exclude: NOT,
  // Limits for a test that hangs, long enough for a slow and busy machine: no result depends on the pace.
  testTimeout: 180_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000 } },
  // Many start servers and wait for them, on machines with noisy neighbours. A test that needs a second try is named at the end.
  retry: 1,
  pool: 'forks',
};
const alone = filesAlone(fileURLToPath(new URL('.', import.meta.url)), ['test', 'dashboard/test']);

export default defineConfig({
  resolve,
  test: {
    ...test,
    globalSetup: ['test/setup/build.ts'],
    reporters: ['default', './test/setup/second-tries.ts', './test/setup/held-up.ts'],
    // More than the two cores of the smallest machine, because many tests wait for servers, leases and nodes. With three, the cores are idle
    // for 20 % of a run; with four, for 6 %. With five, tests that expect a node or a Redis to answer within a second fail on slow machines.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      { resolve, plugins: [joinedWorkers], test: { ...test, name: 'alone', include: alone } },
      // A process loads and compiles a module once for all of its files: 0.65 s of processor time for each file less.
      {
        resolve,
        plugins: [joinedWorkers],
        test: { ...test, name: 'together', exclude: [...NOT, ...alone], isolate: false },
      },
    ],
  },
});
