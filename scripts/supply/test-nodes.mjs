/**
 * Runs tests with each version of Node that Assay supports.
 *
 * Usage: npm run test:nodes [-- <version> …] [-- <path of a test> …]
 *        Without a version, all of VERSIONS; without a path, the selection TESTS; `all` as a path runs the whole suite.
 */
import { spawnSync } from 'node:child_process';
import { delimiter, dirname, join } from 'node:path';
import { root } from './binaries.mjs';
import { nodeOf, note } from './node-versions.mjs';

/** The oldest supported version, and the newest of each further line when this list was changed. */
const VERSIONS = ['20.19.0', '22.23.3', '24.21.0'];

/** One part of each layer: native stores, worker threads, HTTP servers, command line, crypto and accounts. */
const TESTS = [
  'test/base',
  'test/state',
  'test/labels',
  'test/pool',
  'test/accounts',
  'test/http',
  'test/cli',
  'test/supply',
];

/** Runs tests with one version; child processes of the tests that start `node` by name get it too. */
function runTests(node, tests) {
  const env = {
    ...process.env,
    ASSAY_TEST_PREBUILT: '1',
    PATH: `${dirname(node)}${delimiter}${process.env.PATH}`,
  };
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  return spawnSync(node, [vitest, 'run', ...tests], { cwd: root, stdio: 'inherit', env }).status === 0;
}

const args = process.argv.slice(2);
const isVersion = (text) => /^\d+\.\d+\.\d+$/.test(text);
const chosen = args.filter(isVersion);
const named = args.filter((text) => !isVersion(text));
const tests = named.includes('all') ? [] : named.length > 0 ? named : TESTS;

/** Compiles the program, which worker threads and servers of the tests run, unless the caller did. */
function build() {
  if (process.env.ASSAY_TEST_PREBUILT === '1') return;
  const built = spawnSync('npm', ['run', 'build'], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (built.status !== 0) process.exit(1);
}

build();
const results = (chosen.length > 0 ? chosen : VERSIONS).map((version) => {
  const node = nodeOf(version);
  note(`tests with Node ${version}: ${tests.length === 0 ? 'all' : tests.join(' ')}`);
  return { version, passed: runTests(node, tests) };
});
for (const { version, passed } of results) note(`Node ${version}: ${passed ? 'passed' : 'failed'}`);
if (results.some(({ passed }) => !passed)) process.exitCode = 1;
