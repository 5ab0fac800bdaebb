/** All benchmarks: the built script of each, and how it runs in a few seconds. */

export interface Benchmark {
  /** Path below `dist/bench`. */
  readonly script: string;
  /**
   * Options of the short run: sizes at which its paths are the same and the whole takes seconds. Null if the benchmark cannot be short: it
   * builds an index or a graph for minutes, or needs a server of another program.
   */
  readonly quick: readonly string[] | null;
}

export const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  address: { script: 'kernels/address.js', quick: [] },
  labels: { script: 'labels.js', quick: ['--count', '200000'] },
  start: { script: 'start.js', quick: ['--count', '100000', '--rounds', '3'] },
  'snapshot-diff': { script: 'snapshot-diff.js', quick: ['--count', '200000', '--wallets', '2000'] },
  'label-scale': { script: 'label-scale.js', quick: null },
  growth: { script: 'growth.js', quick: null },
  'label-import': { script: 'label-import.js', quick: ['--rows', '100000'] },
  http: {
    script: 'http.js',
    quick: ['--count', '200000', '--addresses', '100000', '--seconds', '2', '--rounds', '1'],
  },
  paced: { script: 'paced.js', quick: null },
  acceptors: { script: 'acceptors.js', quick: ['--count', '100000', '--seconds', '1', '--rounds', '1'] },
  screening: { script: 'screening-http.js', quick: null },
  bulk: { script: 'bulk.js', quick: ['--count', '200000', '--lines', '200000'] },
  registers: { script: 'registers.js', quick: null },
  graph: { script: 'graph.js', quick: null },
  accounts: {
    script: 'accounts.js',
    quick: ['--accounts', '5000', '--entries', '200000', '--charges', '20000', '--rounds', '2'],
  },
  usage: { script: 'usage.js', quick: ['--accounts', '100', '--seconds', '2', '--rounds', '1'] },
  names: { script: 'names.js', quick: null },
  'graph-ingest': { script: 'graph-ingest.js', quick: ['--edges', '200000', '--addresses', '20000'] },
  'graph-remote': { script: 'graph-remote.js', quick: null },
  cluster: { script: 'cluster.js', quick: null },
  'cluster-disk': { script: 'cluster-disk.js', quick: ['--largest', '1000000'] },
  log: { script: 'log.js', quick: ['--entries', '20000'] },
  monitoring: { script: 'monitoring.js', quick: null },
  payments: { script: 'payments.js', quick: null },
  mcp: { script: 'mcp.js', quick: ['--calls', '500'] },
  adapters: { script: 'adapters.js', quick: null },
  scale: { script: 'scale.js', quick: null },
  'exposure-index': { script: 'exposure-index.js', quick: null },
  'oracle-exposure': { script: 'oracle-exposure.js', quick: null },
  sdk: { script: 'sdk.js', quick: null },
  receipts: { script: 'receipts.js', quick: ['--receipts', '20000'] },
  attribution: { script: 'attribution.js', quick: null },
  'attribution-rules': { script: 'attribution-rules.js', quick: ['--count', '300', '--rounds', '1'] },
};
