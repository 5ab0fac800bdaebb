/** The state of the installation for operators: what counts as a warning, how lag is computed, and that no secret is in it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { afterAll, describe, expect, it } from 'vitest';
import { type OperatorSources, operatorViews } from '../../src/app/operator-status.ts';
import type { GasAccounts } from '../../src/billing/x402/gas-accounts.ts';
import type { EndpointHealth } from '../../src/chains/families/port.ts';
import type { KeptIndex } from '../../src/exposure/keeper.ts';
import { OperatorImports, OperatorStatus } from '../../src/http/schemas/operator.ts';
import { freshnessOf } from '../../src/labels/freshness.ts';
import type { Run } from '../../src/labels/runs.ts';
import type { ChainState } from '../../src/monitoring/listener.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-operator-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const NOW = Date.parse('2026-11-22T10:00:00Z');
const AT = '2026-11-22T09:00:00.000Z';
const SECRET_URL = 'https://user:hunter2@node.example:8545/v3/0123456789abcdef?key=hunter2';

const following: ChainState = {
  ...{ chain: 'ETH', state: 'FOLLOWING', height: 90, headHeight: 103 },
  ...{ processedAtMs: NOW - 1_000, blockTimeMs: NOW - 36_000, lastError: null },
};
const endpoint: EndpointHealth = {
  ...{ source: 'json-rpc node.example:8545', state: 'UP', latencyMs: 12.7, failures: 0, lastError: null },
};
const run = (fields: Partial<Run>): Run => ({
  ...{ kind: 'SYNC', state: 'DONE', startedAt: AT, endedAt: AT, sources: [], dataVersion: null, error: null },
  ...fields,
});

interface Changes {
  readonly chain?: Partial<ChainState>;
  readonly isFollowed?: boolean;
  readonly endpoint?: Partial<EndpointHealth>;
  readonly kept?: readonly KeptIndex[];
  readonly runs?: readonly Run[];
  readonly readyNeedsFreshLists?: boolean;
  readonly redisProblem?: string;
  readonly gasAccounts?: Pick<GasAccounts, 'accounts' | 'problems'>;
}

/** A node that follows one chain, and has never loaded a list. */
function views(changes: Changes = {}) {
  const meta = {
    ...{ dataVersion: 'v1', builtAt: AT, sources: [] },
    real: { addresses: 2, labels: 3, entities: 1 },
    synthetic: { addresses: 0, labels: 0, entities: 0 },
  };
  const state = { ...following, ...changes.chain };
  const isFollowed = changes.isFollowed ?? true;
  const monitoring = {
    listener: {
      states: () => [state],
      following: () => ({ following: isFollowed, reason: isFollowed ? null : 'It stands.', followedTo: 80 }),
    },
    problem: () => null,
    service: {
      store: {
        refreshesWaiting: () => ({ afterAlert: 1, scheduled: 2 }),
        outbox: { waitingCount: () => 3, queues: () => ['a', 'b'] },
      },
    },
  };
  const sources = {
    status: {
      config: {
        readyNeedsFreshLists: changes.readyNeedsFreshLists ?? false,
        snapshots: { behindMaxSeconds: 0 },
      },
      roles: ['api'],
      clock: { now: () => NOW, monotonic: () => 0 },
      labels: { current: { meta } },
      freshness: () => freshnessOf({}, NOW, 2),
      pool: { pending: 4, oldestMs: 0 },
      nodes: () => [
        { id: 'a-1', roles: ['api'], isLive: true, silentMs: 140, sinceMs: NOW - 5_000 },
        { id: '<b>', roles: ['listener'], isLive: false, silentMs: 90_000, sinceMs: null },
      ],
      stores: () => [],
      leases: () => [{ name: 'listener:ETH', holder: 'a-1', isHere: true, sinceMs: NOW }],
      redisProblem: () => changes.redisProblem ?? null,
      replication: () => null,
      watching: () => monitoring,
      jobs: () => null,
      gasAccounts: () => changes.gasAccounts ?? null,
    },
    ...{ version: '1.2.3', nodeId: 'a-1', isShared: true, threads: 2, snapshotsFolder: folder },
    adapters: () => [
      {
        chain: 'ETH',
        health: () => ({
          ...{ chain: 'ETH', reachable: true },
          endpoints: [{ ...endpoint, ...changes.endpoint }],
        }),
      },
    ],
    exposures: () => changes.kept ?? [],
    stores: {
      labels: {
        catalogue: () => ({
          datasets: [
            {
              ...{ source: 'own', dataset: 'own.csv', publishedAt: null, importedAt: AT },
              ...{ records: 3, rejected: 1 },
            },
          ],
          lists: [{ list: 'EU', publishedAt: AT, importedAt: '2026-11-22T09:30:00.000Z', parties: 5 }],
        }),
      },
      names: { rows: () => [] },
      registers: {
        catalogue: () => ({
          registers: [{ register: 'ESMA', source: 'esma', files: [], firms: 9, importedAt: AT }],
        }),
      },
    },
    runs: { list: () => changes.runs ?? [] },
    syncEveryHours: 24,
  };
  return operatorViews(sources as unknown as OperatorSources);
}

const stateOf = (status: OperatorStatus, name: string) => status.checks.find(({ check }) => check === name);

describe('the state of the installation', () => {
  it('has the form of its schema, with the lag of a chain in blocks and seconds, and the node that follows it', () => {
    const status = views().status();
    expect(Value.Check(OperatorStatus, status)).toBe(true);
    expect(status.chains).toEqual([
      {
        ...{ chain: 'ETH', state: 'FOLLOWING', following: true, reason: null, node: 'a-1' },
        ...{ height: 90, head: 103, lagBlocks: 13, lagSeconds: 36, lastError: null },
        endpoints: [
          {
            ...{ endpoint: 'json-rpc node.example:8545', state: 'UP', latencyMs: 13 },
            ...{ failures: 0, lastError: null },
          },
        ],
      },
    ]);
    expect(status.queues).toMatchObject({
      refreshes: [{ chain: 'ETH', afterAlert: 1, scheduled: 2 }],
      deliveries: { waiting: 3, receivers: 2 },
      pool: { threads: 2, tasks: 4 },
    });
    expect(status.nodes).toMatchObject([
      { node: 'a-1', here: true, live: true, silentSeconds: 0.1, leases: ['listener:ETH'] },
      { node: '<b>', here: false, live: false, silentSeconds: 90, since: null, leases: [] },
    ]);
  });

  it('has no lag while the head or the block is not known, and none below zero', () => {
    const lagOf = (chain: Partial<ChainState>) => {
      const [only] = views({ chain }).status().chains;
      return [only?.height, only?.lagBlocks, only?.lagSeconds];
    };
    expect(lagOf({ headHeight: null })).toEqual([90, null, 36]);
    expect(lagOf({ height: null, blockTimeMs: null })).toEqual([80, 23, null]);
    expect(lagOf({ headHeight: 89, blockTimeMs: NOW + 5_000 })).toEqual([90, 0, 0]);
  });

  it('shows the hosts of endpoints, and no credentials, path or key of a URL in any text', () => {
    const error = `request to ${SECRET_URL} failed`;
    const shown = views({
      chain: { state: 'WAITING', lastError: error },
      isFollowed: false,
      endpoint: { state: 'DOWN', failures: 3, lastError: error },
      kept: [{ chain: 'ETH', state: 'FAILING', reason: error, waiting: null }],
      runs: [
        run({ state: 'FAILED', error, sources: [{ source: 'eu', records: null, rejected: null, error }] }),
      ],
      redisProblem: error,
    });
    const text = JSON.stringify([shown.status(), shown.imports()]);
    expect(text).toContain('request to https://node.example:8545 failed');
    expect(text).not.toMatch(/hunter2|0123456789abcdef|user:/);
  });

  it('separates what stops the service from what needs an operator, and says what to do', () => {
    const good = views({ runs: [run({})] }).status();
    expect(good.checks.filter(({ state }) => state !== 'OK').map(({ check }) => check)).toEqual(['LISTS']);
    expect(stateOf(good, 'LISTS')).toMatchObject({
      state: 'WARNING',
      reasons: expect.arrayContaining([expect.stringContaining('`assay sync eu`')]),
    });
    expect(good.ready).toBe(true);

    const failed = views({ readyNeedsFreshLists: true, redisProblem: 'Too few replicas.' }).status();
    expect(failed.ready).toBe(false);
    expect([stateOf(failed, 'LISTS')?.state, stateOf(failed, 'CLUSTER')]).toEqual([
      'FAILED',
      { check: 'CLUSTER', state: 'FAILED', reasons: ['Too few replicas.'] },
    ]);

    const warned = views({
      isFollowed: false,
      chain: { state: 'UNREACHABLE' },
      kept: [{ chain: 'ETH', state: 'FAILING', reason: 'The last build failed.', waiting: 7 }],
    }).status();
    expect(stateOf(warned, 'CHAINS')?.reasons).toEqual([
      'It stands. Set ASSAY_RPC_ETH on a node with the role listener, and restart it.',
    ]);
    expect(stateOf(warned, 'EXPOSURE')).toMatchObject({
      state: 'WARNING',
      reasons: [expect.stringContaining('`assay exposure build ETH`')],
    });
  });

  it('shows the gas-paying account of each chain, and warns of one that needs the operator', () => {
    expect(views().status().gasAccounts).toEqual([]);
    expect(stateOf(views().status(), 'GAS')?.state).toBe('OK');
    const address = '0x00000000000000000000000000000000a55a0011';
    const reason = 'It holds too little.';
    const status = views({
      gasAccounts: {
        accounts: () => [
          { chain: 'BASE', address, balance: 4_200_000_000_000_000n, paymentsLeft: 42 },
          { chain: 'POLYGON', address, balance: 0n, paymentsLeft: 0 },
        ],
        problems: () => [{ chain: 'POLYGON', reason, since: AT }],
      },
    }).status();
    expect(Value.Check(OperatorStatus, status)).toBe(true);
    expect(status.gasAccounts).toMatchObject([
      {
        chain: 'BASE',
        address,
        symbol: 'ETH',
        balance: '0.0042',
        paymentsLeft: 42,
        problem: null,
        since: null,
      },
      { chain: 'POLYGON', address, balance: '0', paymentsLeft: 0, problem: reason, since: AT },
    ]);
    expect(stateOf(status, 'GAS')).toEqual({ check: 'GAS', state: 'WARNING', reasons: [reason] });
  });

  it('warns of the newest sync that has ended, not of an earlier one', () => {
    const eu = { source: 'eu', records: null, rejected: null, error: 'status 500.' };
    const failed = run({ state: 'FAILED', sources: [eu] });
    const of = (...runs: Run[]) => stateOf(views({ runs }).status(), 'RUNS')?.reasons;
    expect(of(failed)).toEqual([
      `The last sync, of ${AT}, failed. eu: status 500. Earlier data stays in use.`,
    ]);
    expect(of(run({ state: 'RUNNING', endedAt: null }), failed)).toHaveLength(1);
    expect(of(run({}), failed)).toEqual([]);
    expect(of(run({ kind: 'IMPORT', state: 'FAILED', error: 'x' }))).toEqual([]);
    expect(of(run({ state: 'INTERRUPTED', endedAt: null }))).toEqual([
      `The last sync, of ${AT}, was interrupted. Run \`assay sync\` to repeat it.`,
    ]);
  });

  it('lists imported data of all kinds, the newest first, with the runs', () => {
    const imports = views({ runs: [run({})] }).imports();
    expect(Value.Check(OperatorImports, imports)).toBe(true);
    expect(
      imports.data.map(({ kind, source, dataset, records, rejected }) => [
        kind,
        source,
        dataset,
        records,
        rejected,
      ]),
    ).toEqual([
      ['SANCTIONS', 'eu', 'EU', 5, null],
      ['LABELS', 'own', 'own.csv', 3, 1],
      ['REGISTERS', 'esma', 'ESMA', 9, null],
    ]);
    expect(imports).toMatchObject({ dataLeftOut: 0, runs: [{ kind: 'SYNC' }], syncEveryHours: 24 });
  });
});
