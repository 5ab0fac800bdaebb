/** A task that only the tests have: one descriptor, and one entry of a list. */
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
    ({ chain, text }: EchoRequest): Uint8Array => {
      if (text === '') throw new RangeError('nothing to echo');
      return jsonBytes({ chain, text, policy: policy.version });
    },
  route: routeByChain<EchoRequest>(),
});

export const TASKS_WITH_ECHO = [...TASKS, echoTask] as const;
