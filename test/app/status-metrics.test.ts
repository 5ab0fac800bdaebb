/** Metrics of the state of a server that alert rules read. */
import { expect, it } from 'vitest';
import { metricsOf, type ServerStatus } from '../../src/app/status.ts';

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
