/** Metrics of the state of a server that alert rules read. */
import { expect, it } from 'vitest';
import { metricsOf, type ServerStatus, storeProblems } from '../../src/app/status.ts';

const gaugeValue = (name: string, status: Partial<ServerStatus>): unknown =>
  metricsOf(status as ServerStatus)
    .find((gauge) => gauge.name === name)
    ?.value();

it('a Redis that rejects writes does not count as one without replicas', () => {
  const redisProblem = (): string => 'Redis rejects writes: OOM command not allowed.';
  const name = 'assay_redis_replicas_missing';
  expect(gaugeValue(name, { redisProblem, lacksReplicas: () => false })).toBe(0);
  expect(gaugeValue(name, { redisProblem, lacksReplicas: () => true })).toBe(1);
});

it('the clock is in seconds since 1970', () => {
  const clock = { now: () => 1_795_000_000_500, monotonic: () => 0 };
  expect(gaugeValue('assay_clock_seconds', { clock })).toBe(1_795_000_000.5);
});

it('a pool whose oldest task waits, and a node that is not current any more, are counted', () => {
  const pool = { pending: 3, oldestMs: 1_500 } as ServerStatus['pool'];
  expect(gaugeValue('assay_pool_tasks', { pool })).toBe(3);
  expect(gaugeValue('assay_pool_oldest_task_seconds', { pool })).toBe(1.5);
  const nodes = () => [{ isLive: true }, { isLive: false }] as unknown as ReturnType<ServerStatus['nodes']>;
  expect(gaugeValue('assay_nodes', { nodes })).toBe(1);
});

it('a shared store is current or not, and a lease that nobody holds has no age', () => {
  const stores = () =>
    [true, false].map((current, at) => ({
      name: `store${at}`,
      version: () => 7,
      isCurrent: () => current,
    })) as unknown as ReturnType<ServerStatus['stores']>;
  expect(gaugeValue('assay_store_current', { stores })).toEqual(
    new Map([
      ['store0', 1],
      ['store1', 0],
    ]),
  );
  const clock = { now: () => 10_000, monotonic: () => 0 };
  const leases = () => [
    { name: 'held', holder: 'other', isHere: false, sinceMs: 4_000 },
    { name: 'free', holder: null, isHere: false, sinceMs: 4_000 },
  ];
  const of = (name: string): unknown => gaugeValue(name, { clock, leases, stores: () => [] });
  expect(of('assay_lease_held_seconds')).toEqual(new Map([['held', 6]]));
  expect(of('assay_lease_held')).toEqual(
    new Map([
      ['held', 1],
      ['free', 0],
    ]),
  );
});

it('a node that does not hear from Redis is not ready, whatever its roles, and says why', () => {
  const problems = (store: string, roles: readonly string[], reason?: string) =>
    storeProblems({
      roles,
      stores: () => [
        { name: store, problem: () => ({ kind: 'away', message: 'old', ...(reason && { reason }) }) },
      ],
    } as unknown as ServerStatus);
  expect(problems('keys', ['api', 'worker'], 'WRONGPASS invalid username-password pair.')).toEqual([
    'This node has not heard from Redis for a second (WRONGPASS invalid username-password pair). It rejects every request with a key.',
  ]);
  expect(problems('keys', ['listener', 'delivery'])).toEqual([
    'This node has not heard from Redis for a second. It can do no work for its roles.',
  ]);
  expect(problems('screenings', ['listener'])).toEqual([]);
});
