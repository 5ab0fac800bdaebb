/** Schemas of the operations for operators: the state of the whole installation. The types of the values derive from them. */
import { type Static, type TInteger, Type } from 'typebox';
import { RUN_KINDS, RUN_STATES } from '../../labels/runs.ts';
import { ROLES } from '../../nodes/roles.ts';
import { count, flag, listOf, nullable, oneOf, text, time } from './fields.ts';
import { ReadyData } from './service.ts';

/** Parts of the service that are checked. */
export const HEALTH_CHECKS = [
  'LISTS',
  'REPLICATION',
  'STORES',
  'STORAGE',
  'CLUSTER',
  'CHAINS',
  'EXPOSURE',
  'GAS',
  'RUNS',
] as const;

const HealthCheck = Type.Object(
  {
    check: oneOf(HEALTH_CHECKS),
    state: oneOf(
      ['OK', 'WARNING', 'FAILED'],
      'FAILED: `/ready` responds with 503 because of it. WARNING: requests are served, and an operator should act.',
    ),
    reasons: listOf(
      Type.String(),
      'What is wrong and what to do, one sentence or two each; empty if it is OK.',
    ),
  },
  { title: 'HealthCheck' },
);

const KeptSnapshot = Type.Object(
  {
    dataVersion: text(),
    publishedAt: time(),
    current: flag('The published one. Earlier ones stay until no process reads them.'),
  },
  { title: 'KeptSnapshot' },
);

const LabelSource = Type.Object(
  {
    source: text(),
    dataset: text(),
    labels: count(),
    publishedAt: nullable(Type.String()),
    importedAt: text(),
  },
  { title: 'LabelSource', description: 'A dataset of the current snapshot.' },
);

const Labels = Type.Object(
  {
    snapshots: listOf(KeptSnapshot, 'Newest first, 20 at most.'),
    sources: listOf(LabelSource, '500 at most.'),
    sourcesLeftOut: count('Datasets that `sources` leaves out.'),
    publishesAt: nullable(
      Type.String(),
      'Host and port at which other nodes pull snapshots from this one; null if they cannot.',
    ),
  },
  { title: 'OperatorLabels' },
);

const Endpoint = Type.Object(
  {
    endpoint: text('Protocol and host. The rest of the URL is never shown, because it may contain a secret.'),
    state: oneOf(['UNTRIED', 'UP', 'DOWN', 'REFUSED'], 'REFUSED: it serves another chain.'),
    latencyMs: nullable(count()),
    failures: count('Consecutive failed requests.'),
    lastError: nullable(Type.String()),
  },
  { title: 'ChainEndpoint' },
);

const FollowedChain = Type.Object(
  {
    chain: text(),
    state: oneOf(
      ['FOLLOWING', 'WAITING', 'STANDBY', 'UNREACHABLE'],
      'WAITING: after a fault, or at the start. STANDBY: another node follows it. UNREACHABLE: no node of the chain is configured.',
    ),
    following: flag('False if transfers on the chain are not seen at the moment, by any node.'),
    reason: nullable(Type.String(), 'Why `following` is false.'),
    node: nullable(Type.String(), 'Node that follows the chain; null if none does, or on a single machine.'),
    height: nullable(Type.Integer(), 'Newest block that was processed.'),
    head: nullable(Type.Integer(), 'Newest block that a node of the chain has named.'),
    lagBlocks: nullable(count(), 'Blocks from `height` to `head`.'),
    lagSeconds: nullable(count(), 'Age of the newest block that was processed.'),
    lastError: nullable(Type.String()),
    endpoints: listOf(Endpoint),
  },
  { title: 'OperatorChain' },
);

const atMost = (max: number, description: string): TInteger =>
  Type.Integer({ minimum: 0, maximum: max, description: `${description} Counted up to ${max}.` });

/** Wallets that are counted for each chain: a range read of this length takes below a millisecond. */
export const REFRESHES_COUNTED_MAX = 1_000;

const Queues = Type.Object(
  {
    jobs: Type.Object(
      {
        receiving: count(),
        queued: count(),
        running: count(),
        done: count(),
        cancelled: count(),
        failed: count(),
        chunksRunning: count('Chunks that this node processes.'),
      },
      {
        description:
          'Bulk jobs of all accounts: the open ones, and those of the newest 1,000 that have ended.',
      },
    ),
    refreshes: listOf(
      Type.Object(
        {
          chain: text(),
          afterAlert: atMost(REFRESHES_COUNTED_MAX, 'Wallets with a new alert.'),
          scheduled: atMost(REFRESHES_COUNTED_MAX, 'Wallets whose regular screening is due.'),
        },
        { title: 'RefreshesDue' },
      ),
      'Wallets that are due for a screening.',
    ),
    deliveries: Type.Object(
      {
        waiting: count('Messages that wait for an attempt.'),
        receivers: count('Receivers that they are for.'),
      },
      { description: 'Messages of all accounts.' },
    ),
    exposure: listOf(
      Type.Object(
        {
          chain: text(),
          state: oneOf(['CURRENT', 'WANTED', 'BUILDING', 'FAILING'], 'WANTED: a build waits for its turn.'),
          reason: nullable(Type.String()),
          waiting: nullable(count(), 'Entries that wait to be computed again; null without a usable index.'),
        },
        { title: 'ExposureWork' },
      ),
      'Exposure indexes of this node.',
    ),
    pool: Type.Object({
      threads: count(),
      tasks: count('Tasks that wait or run.'),
    }),
  },
  { title: 'OperatorQueues' },
);

const Node = Type.Object(
  {
    node: text('Name of the node, as in its log.'),
    roles: listOf(oneOf(ROLES)),
    here: flag('The node of this response.'),
    live: flag('False if it left, or missed four heartbeats. It is listed for a day.'),
    since: nullable(Type.String(), 'Time of its start.'),
    silentSeconds: Type.Number({ minimum: 0, description: 'Time since its last heartbeat.' }),
    leases: listOf(Type.String(), 'The work that this node does for all, such as `listener:ETH`.'),
  },
  { title: 'OperatorNode' },
);

const GasAccount = Type.Object(
  {
    chain: text(),
    address: text(),
    symbol: text('Coin of the chain.'),
    balance: text('Coins, as a decimal number.'),
    paymentsLeft: count('Payments that the account can send at the highest fee that it would offer now.'),
    problem: nullable(
      Type.String(),
      'Why payments by a signature are refused or will be soon: the balance is low, or more than allowed. Null if it is in order.',
    ),
    since: nullable(Type.String(), 'Time of the first look with a problem.'),
  },
  {
    title: 'GasAccount',
    description: 'The account that pays gas for payments by a signature, on one chain.',
  },
);

export const OperatorStatus = Type.Object(
  {
    at: time('Time of this response.'),
    version: text('Version of the program.'),
    ready: flag('Whether `/ready` responds with 200.'),
    checks: listOf(HealthCheck, 'Every part that is checked.'),
    snapshot: ReadyData.properties.snapshot,
    labels: Labels,
    lists: ReadyData.properties.lists,
    pulledFrom: ReadyData.properties.pulledFrom,
    chains: listOf(FollowedChain, 'Chains on which wallets are watched.'),
    queues: Queues,
    gasAccounts: listOf(
      GasAccount,
      'One for each chain with pay per call or invoices without gas, as last read from the chain. Empty if both are off, or before the first look.',
    ),
    nodes: listOf(Node, 'On a single machine: this process.'),
    shared: flag('Whether nodes share their state by a Redis.'),
  },
  { title: 'OperatorStatus', description: 'The state of the installation, as one node sees it.' },
);
export type OperatorStatus = Static<typeof OperatorStatus>;

const ImportedData = Type.Object(
  {
    kind: oneOf(['LABELS', 'SANCTIONS', 'NAMES', 'REGISTERS']),
    source: text(),
    dataset: text(),
    publishedAt: nullable(Type.String()),
    importedAt: text(),
    records: count(
      'Rows of the publisher, without the rejected ones; parties of a list; firms of a register.',
    ),
    rejected: nullable(count(), 'Rows that could not be used; null if they were not counted.'),
  },
  { title: 'ImportedData' },
);

const RunRow = Type.Object(
  {
    kind: oneOf(RUN_KINDS, 'BUILD: a new snapshot of the labels.'),
    state: oneOf(
      RUN_STATES,
      'FAILED: the run or one of its sources has an error. INTERRUPTED: its process ended before the run did.',
    ),
    startedAt: time(),
    endedAt: nullable(Type.String()),
    sources: listOf(
      Type.Object(
        {
          source: text(),
          records: nullable(count()),
          rejected: nullable(count()),
          error: nullable(Type.String()),
        },
        { title: 'RunSource' },
      ),
    ),
    dataVersion: nullable(Type.String(), 'Snapshot that the run published; null if it published none.'),
    error: nullable(Type.String()),
  },
  { title: 'Run' },
);

export const OperatorImports = Type.Object(
  {
    at: time('Time of this response.'),
    data: listOf(ImportedData, 'What is imported now: 500 at most, the newest first.'),
    dataLeftOut: count('Rows that `data` leaves out.'),
    runs: listOf(RunRow, 'The last 200 imports, syncs and builds of this machine, newest first.'),
    syncEveryHours: nullable(
      Type.Integer({ minimum: 1 }),
      'Interval at which this node syncs by itself; null if it does not.',
    ),
  },
  { title: 'OperatorImports', description: 'Imported data, and the runs that imported it.' },
);
export type OperatorImports = Static<typeof OperatorImports>;
