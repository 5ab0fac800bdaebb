import { type GraphUseCases, TASKS } from '../../src/pool/tasks/index.ts';

/** The fields of the requests of routed tasks that tests answer with. */
export interface AnyGraphRequest {
  readonly chain: string;
  readonly address?: string;
  readonly hash?: string;
}

/** Returns use cases that answer every routed task by one function, with the subject unknown. */
export const graphUseCases = (
  answer: (request: AnyGraphRequest) => Promise<Uint8Array> | Uint8Array,
): GraphUseCases =>
  Object.fromEntries(
    TASKS.filter((task) => 'route' in task).map(({ name }) => [
      name,
      async (request: AnyGraphRequest) => ({ json: await answer(request), isKnown: false }),
    ]),
  ) as unknown as GraphUseCases;
