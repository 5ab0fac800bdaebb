/** The state of an installation with one of everything, as operators see it. */
import type { OperatorViews } from '../../src/http/ports.ts';
import type { OperatorImports, OperatorStatus } from '../../src/http/schemas/operator.ts';

const AT = '2026-11-22T10:00:00.000Z';

export const operatorStatus: OperatorStatus = {
  at: AT,
  version: '0.0.0',
  ready: true,
  checks: [
    {
      check: 'LISTS',
      state: 'WARNING',
      reasons: ['The EU sanctions list was never loaded. Run `assay sync eu`.'],
    },
    { check: 'STORES', state: 'OK', reasons: [] },
  ],
  snapshot: { dataVersion: 'v1-abc', builtAt: AT, addresses: 2, labels: 2, syntheticLabels: 0 },
  labels: {
    snapshots: [{ dataVersion: '0123456789abcdef', publishedAt: AT, current: true }],
    sources: [{ source: 'seed', dataset: 'seed', labels: 2, publishedAt: null, importedAt: AT }],
    sourcesLeftOut: 0,
    publishesAt: null,
  },
  lists: [
    { list: 'EU', publishedAt: null, checkedAt: null, checkedBy: null, stale: true, publicationOld: false },
  ],
  chains: [
    {
      ...{ chain: 'ETH', state: 'FOLLOWING', following: true, reason: null, node: null },
      ...{ height: 100, head: 103, lagBlocks: 3, lagSeconds: 36, lastError: null },
      endpoints: [
        { endpoint: 'json-rpc node.example', state: 'UP', latencyMs: 12, failures: 0, lastError: null },
      ],
    },
  ],
  queues: {
    jobs: { receiving: 0, queued: 1, running: 1, done: 2, cancelled: 0, failed: 0, chunksRunning: 1 },
    refreshes: [{ chain: 'ETH', afterAlert: 1, scheduled: 2 }],
    deliveries: { waiting: 1, receivers: 1 },
    exposure: [{ chain: 'ETH', state: 'CURRENT', reason: null, waiting: 0 }],
    pool: { threads: 1, tasks: 0 },
  },
  gasAccounts: [
    {
      ...{ chain: 'BASE', address: '0x00000000000000000000000000000000a55a0011', symbol: 'ETH' },
      ...{ balance: '0.004', paymentsLeft: 40, problem: 'Refill it.', since: AT },
    },
  ],
  nodes: [
    {
      ...{ node: 'host-1', roles: ['api'], here: true, live: true, since: AT, silentSeconds: 0 },
      leases: ['listener:ETH'],
    },
  ],
  shared: false,
};

export const operatorImports: OperatorImports = {
  at: AT,
  data: [
    {
      ...{ kind: 'LABELS', source: 'own', dataset: 'own.csv', publishedAt: null, importedAt: AT },
      ...{ records: 3, rejected: 1 },
    },
  ],
  dataLeftOut: 0,
  runs: [
    {
      ...{ kind: 'SYNC', state: 'FAILED', startedAt: AT, endedAt: AT, dataVersion: null, error: null },
      sources: [{ source: 'eu', records: null, rejected: null, error: 'file.xml: status 500.' }],
    },
  ],
  syncEveryHours: 24,
};

export const worldOperator: OperatorViews = {
  status: () => operatorStatus,
  imports: () => operatorImports,
};
