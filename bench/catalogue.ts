/** All benchmarks: the built script of each, its options, and how it runs in a few seconds. */

/** Options of all benchmarks, which are checked before hours of work. */
export const OPTIONS = {
  '--acceptors': 'number',
  '--accounts': 'number',
  '--addresses': 'number',
  '--alerts': 'number',
  '--at-once': 'number',
  '--beside': 'text',
  '--blocks': 'number',
  '--calls': 'number',
  '--charges': 'number',
  '--cluster': 'flag',
  '--connections': 'number',
  '--count': 'number',
  '--edges': 'number',
  '--entries': 'number',
  '--file': 'text',
  '--firms': 'number',
  '--folder': 'text',
  '--invoices': 'number',
  '--keep': 'flag',
  '--keys': 'number',
  '--largest': 'number',
  '--lines': 'number',
  '--logs': 'number',
  '--million': 'number',
  '--no-bare': 'flag',
  '--path': 'text',
  '--payments': 'number',
  '--receipts': 'number',
  '--results': 'text',
  '--rounds': 'number',
  '--rows': 'number',
  '--seconds': 'number',
  '--seed': 'number',
  '--smallest': 'number',
  '--subjects': 'number',
  '--tagpacks': 'flag',
  '--users': 'number',
  '--wallets': 'number',
  '--warm-up': 'number',
  '--watched': 'number',
  '--write': 'flag',
} as const;

export type BenchOption = keyof typeof OPTIONS;

export interface Benchmark {
  /** Path below `dist/bench`. */
  readonly script: string;
  readonly options: readonly BenchOption[];
  /**
   * Options of the short run: sizes at which its paths are the same and the whole takes seconds. Null if the benchmark cannot be short: it
   * builds an index or a graph for minutes, or needs a server of another program.
   */
  readonly quick: readonly string[] | null;
}

export const BENCHMARKS: Readonly<Record<string, Benchmark>> = {
  address: { script: 'kernels/address.js', options: [], quick: [] },
  labels: { script: 'labels.js', options: ['--count', '--keep', '--seed'], quick: ['--count', '200000'] },
  start: {
    script: 'start.js',
    options: ['--count', '--rounds', '--seed'],
    quick: ['--count', '100000', '--rounds', '3'],
  },
  'snapshot-diff': {
    script: 'snapshot-diff.js',
    options: ['--count', '--wallets'],
    quick: ['--count', '200000', '--wallets', '2000'],
  },
  'label-scale': { script: 'label-scale.js', options: ['--largest'], quick: null },
  growth: { script: 'growth.js', options: ['--largest', '--path', '--smallest'], quick: null },
  'label-import': { script: 'label-import.js', options: ['--file', '--rows'], quick: ['--rows', '100000'] },
  http: {
    script: 'http.js',
    options: [
      '--addresses',
      '--count',
      '--folder',
      '--keys',
      '--no-bare',
      '--rounds',
      '--seconds',
      '--seed',
      '--tagpacks',
    ],
    quick: ['--count', '200000', '--addresses', '100000', '--seconds', '2', '--rounds', '1'],
  },
  paced: { script: 'paced.js', options: ['--addresses', '--beside', '--edges', '--seconds'], quick: null },
  acceptors: {
    script: 'acceptors.js',
    options: ['--acceptors', '--count', '--rounds', '--seconds', '--warm-up'],
    quick: ['--count', '100000', '--seconds', '1', '--rounds', '1'],
  },
  screening: {
    script: 'screening-http.js',
    options: ['--addresses', '--connections', '--edges', '--folder', '--seconds', '--seed', '--subjects'],
    quick: null,
  },
  bulk: {
    script: 'bulk.js',
    options: ['--count', '--lines', '--seed'],
    quick: ['--count', '200000', '--lines', '200000'],
  },
  registers: { script: 'registers.js', options: ['--firms', '--seconds'], quick: null },
  graph: { script: 'graph.js', options: ['--addresses', '--edges', '--folder'], quick: null },
  accounts: {
    script: 'accounts.js',
    options: ['--accounts', '--charges', '--entries', '--rounds'],
    quick: ['--accounts', '5000', '--entries', '200000', '--charges', '20000', '--rounds', '2'],
  },
  usage: {
    script: 'usage.js',
    options: ['--accounts', '--charges', '--rounds', '--seconds'],
    quick: ['--accounts', '100', '--seconds', '2', '--rounds', '1'],
  },
  names: { script: 'names.js', options: ['--million'], quick: null },
  'graph-ingest': {
    script: 'graph-ingest.js',
    options: ['--addresses', '--edges', '--keep'],
    quick: ['--edges', '200000', '--addresses', '20000'],
  },
  'graph-remote': {
    script: 'graph-remote.js',
    options: ['--addresses', '--cluster', '--edges', '--folder'],
    quick: null,
  },
  cluster: { script: 'cluster.js', options: ['--addresses'], quick: null },
  'cluster-disk': {
    script: 'cluster-disk.js',
    options: ['--largest', '--results'],
    quick: ['--largest', '1000000'],
  },
  log: { script: 'log.js', options: ['--entries'], quick: ['--entries', '20000'] },
  monitoring: { script: 'monitoring.js', options: ['--alerts', '--payments', '--watched'], quick: null },
  payments: { script: 'payments.js', options: ['--invoices', '--payments'], quick: null },
  mcp: { script: 'mcp.js', options: ['--calls'], quick: ['--calls', '500'] },
  adapters: { script: 'adapters.js', options: ['--blocks'], quick: null },
  scale: {
    script: 'scale.js',
    options: ['--count', '--folder', '--lines', '--rounds', '--seed'],
    quick: null,
  },
  'exposure-index': {
    script: 'exposure-index.js',
    options: ['--addresses', '--edges', '--folder'],
    quick: null,
  },
  'oracle-exposure': {
    script: 'oracle-exposure.js',
    options: ['--addresses', '--edges', '--folder', '--rounds', '--seconds'],
    quick: null,
  },
  sdk: { script: 'sdk.js', options: ['--calls', '--lines', '--rounds'], quick: null },
  receipts: { script: 'receipts.js', options: ['--at-once', '--receipts'], quick: ['--receipts', '20000'] },
  attribution: { script: 'attribution.js', options: ['--blocks', '--logs', '--users'], quick: null },
  'attribution-rules': {
    script: 'attribution-rules.js',
    options: ['--count', '--rounds', '--write'],
    quick: ['--count', '300', '--rounds', '1'],
  },
};
