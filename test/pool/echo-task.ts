/** A task that only the tests have: one descriptor, and one entry of a list. */
import type { PooledJson } from '../../src/base/buffer-pool.ts';
import { jsonBytes, routeByChain, task } from '../../src/pool/task.ts';
import { TASKS } from '../../src/pool/tasks/index.ts';

export interface EchoRequest {
  readonly chain: string;
  readonly text: string;
}

export const echoTask = task({
  name: 'echo',
  run:
    ({ policy }) =>
    ({ chain, text }: EchoRequest): PooledJson => {
      if (text === '') throw new RangeError('nothing to echo');
      return { json: jsonBytes({ chain, text, policy: policy.version }) };
    },
  route: routeByChain<EchoRequest>(),
});

export const TASKS_WITH_ECHO = [...TASKS, echoTask] as const;
