/**
 * `npm run bench [-- name [options]]`: runs one benchmark or all of them, each in a process of its own so that none warms up or slows down
 * another. Each prints its table, saves its run under bench/results/, and fails if it missed a goal.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../src/base/paths.ts';

/** The benchmarks, and the built script of each. */
const BENCHMARKS: Readonly<Record<string, string>> = {
  address: 'kernels/address.js',
  labels: 'labels.js',
  'label-import': 'label-import.js',
  http: 'http.js',
  screening: 'screening-http.js',
  bulk: 'bulk.js',
  registers: 'registers.js',
  graph: 'graph.js',
  accounts: 'accounts.js',
  names: 'names.js',
  'graph-ingest': 'graph-ingest.js',
  'graph-remote': 'graph-remote.js',
  cluster: 'cluster.js',
  log: 'log.js',
  monitoring: 'monitoring.js',
  payments: 'payments.js',
  mcp: 'mcp.js',
  adapters: 'adapters.js',
  scale: 'scale.js',
  'exposure-index': 'exposure-index.js',
  'oracle-exposure': 'oracle-exposure.js',
  sdk: 'sdk.js',
  receipts: 'receipts.js',
  attribution: 'attribution.js',
};

const [name, ...options] = process.argv.slice(2);
const chosen = name === undefined || name.startsWith('-') ? Object.keys(BENCHMARKS) : [name];
const passed = name?.startsWith('-') ? [name, ...options] : options;

for (const each of chosen) {
  const script = BENCHMARKS[each];
  if (!script) {
    process.stderr.write(`bench: '${each}' is none of ${Object.keys(BENCHMARKS).join(', ')}.\n`);
    process.exitCode = 2;
    continue;
  }
  const path = join(projectRoot, 'dist', 'bench', script);
  const child = spawnSync(process.execPath, ['--expose-gc', path, ...passed], { stdio: 'inherit' });
  if (child.status !== 0) process.exitCode = 1;
}
