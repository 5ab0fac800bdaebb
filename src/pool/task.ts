/**
 * Descriptors of the tasks of the worker pool. A task is one file that exports its descriptor, and one entry of the list in
 * `tasks/index.ts`. The types of the pool, the wiring of its threads and the routing to other nodes are derived from the list.
 */
import { type PooledJson, takeJson } from '../base/buffer-pool.ts';
import type { Logger } from '../base/log.ts';
import type { NameScreening } from '../names/screen-names.ts';
import type { Assessor } from '../screening/assess.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import type { ExposureReader } from '../screening/exposure-port.ts';

/** The open stores of one thread, and the parts that its tasks share. */
export interface TaskServices extends ScreeningDeps {
  readonly assessor: Assessor;
  readonly exposures: ExposureReader;
  readonly screenNames: NameScreening;
  readonly log: Logger;
}

/** The result of a task as it is sent between nodes. */
export interface RemoteResult {
  /** JSON text. */
  readonly data: Uint8Array;
  /** False if the task reports that its subject is unknown. */
  readonly isKnown: boolean;
}

/**
 * Routes a task to the nodes that store the transfers of its chain. The routed request may differ from the message to a thread: the node
 * that answers it adds what it reads from chains.
 */
export interface TaskRoute<Request, Result> {
  /** Returns the chain of a request, as the client wrote it. */
  chainOf(request: Request): string;
  toRemote(result: Result): RemoteResult;
  fromRemote(result: RemoteResult): Result;
}

export interface Task<Name extends string, Message, Result> {
  /** Name in messages to threads and nodes. */
  readonly name: Name;
  /** Creates the task over the services of one thread. It is called once per thread, and its result once per message. */
  readonly run: (services: TaskServices) => (message: Message) => Result;
  /** Whether the thread checks for a newer snapshot before the task. Default: true. */
  readonly readsSnapshots?: boolean;
}

/** A task that reads the transfers of one chain, and therefore runs on a node that stores them. */
export interface RoutedTask<Name extends string, Message, Result, Request>
  extends Task<Name, Message, Result> {
  readonly route: TaskRoute<Request, Result>;
}

export type TaskList = readonly Task<string, never, unknown>[];

type Named<List extends TaskList, Name> = Extract<List[number], { readonly name: Name }>;
type RunOf<List extends TaskList, Name> = ReturnType<Named<List, Name>['run']>;

/** Names of the tasks of a list. */
export type NameOf<List extends TaskList> = List[number]['name'];
/** Message of the task with a name. */
export type MessageOf<List extends TaskList, Name> = Parameters<RunOf<List, Name>>[0];
/** Result of the task with a name. */
export type ResultOf<List extends TaskList, Name> = ReturnType<RunOf<List, Name>>;

/** Request of the routed task with a name. */
export type RequestOf<List extends TaskList, Name> =
  Named<List, Name> extends { readonly route: { chainOf(request: infer Request): string } } ? Request : never;

/** The tasks of a list by name, over the services of one thread. */
export type TaskTable<List extends TaskList> = {
  readonly [Name in NameOf<List>]: (message: MessageOf<List, Name>) => ResultOf<List, Name>;
};

/** Names of the routed tasks of a list. */
export type RoutedName<List extends TaskList> = Extract<List[number], { readonly route: object }>['name'];

/** The routed tasks of a list by name, as the main thread calls them. */
export type RoutedUseCases<List extends TaskList> = {
  readonly [Name in RoutedName<List>]: (request: RequestOf<List, Name>) => Promise<ResultOf<List, Name>>;
};

/** A call of a routed task as it is sent to another node. */
export type RemoteRequest<List extends TaskList> = {
  readonly [Name in RoutedName<List>]: { readonly task: Name; readonly request: RequestOf<List, Name> };
}[RoutedName<List>];

/**
 * Describes a task. `Message` and `Result` are inferred from the function that `run` returns; both must be plain data, because they
 * are sent between threads, and a routed message also between nodes, as JSON.
 *
 * @example
 * export const echoTask = task({ name: 'echo', run: () => (text: string): string => text });
 */
export function task<const Name extends string, Message, Result, Request>(
  descriptor: Task<Name, Message, Result> & {
    readonly route: TaskRoute<Request, NoInfer<Result>>;
  },
): RoutedTask<Name, Message, Result, Request>;
export function task<const Name extends string, Message, Result>(
  descriptor: Task<Name, Message, Result>,
): Task<Name, Message, Result>;
export function task<Descriptor>(descriptor: Descriptor): Descriptor {
  return descriptor;
}

/** Returns the route of a task with a `chain` in its request and JSON text as its result. */
export const routeByChain = <Request extends { readonly chain: string }>(): TaskRoute<
  Request,
  PooledJson
> => ({
  chainOf: ({ chain }) => chain,
  toRemote: (result) => ({ data: takeJson(result), isKnown: true }),
  fromRemote: ({ data }) => ({ json: data }),
});

const encoder = new TextEncoder();

/** Returns the JSON text of a result as bytes. */
export const jsonBytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/**
 * Returns a function like `jsonBytes` whose bytes are valid until its next call: all are written into the same memory, three times that of the
 * longest text so far. For texts of tens of kilobytes, which are copied at once.
 */
export function createJsonWriter(): (value: unknown) => Uint8Array {
  let memory = new Uint8Array(0);
  return (value) => {
    const text = JSON.stringify(value);
    // UTF-8 has at most three bytes for a unit of a text.
    if (memory.length < 3 * text.length) memory = new Uint8Array(3 * text.length);
    return memory.subarray(0, encoder.encodeInto(text, memory).written);
  };
}

/**
 * Creates the tasks of a list over the services of one thread.
 *
 * @param beforeSnapshotRead - called before each task that reads snapshots
 */
export function createTaskTable<List extends TaskList>(
  tasks: List,
  services: TaskServices,
  beforeSnapshotRead?: () => void,
): TaskTable<List> {
  const table: Record<string, (message: never) => unknown> = {};
  for (const { name, run, readsSnapshots = true } of tasks) {
    const runTask = run(services);
    table[name] =
      beforeSnapshotRead === undefined || !readsSnapshots
        ? runTask
        : (message) => {
            beforeSnapshotRead();
            return runTask(message);
          };
  }
  return table as TaskTable<List>;
}
