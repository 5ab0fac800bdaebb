/** The tasks of the worker pool. A new task is one file in this folder and one entry of this list. */
import type { MessageOf, NameOf, RemoteRequest, ResultOf, RoutedUseCases } from '../task.ts';
import { bulkLabelsTask } from './bulk-labels.ts';
import { chainTransactionTask } from './chain-transaction.ts';
import { jobChunkTask } from './job-chunk.ts';
import { kytTask } from './kyt.ts';
import { namesTask } from './names.ts';
import { oracleTreeTask } from './oracle-tree.ts';
import { screeningTask } from './screening.ts';
import { scryptTask } from './scrypt.ts';
import { traceTask } from './trace.ts';

export const TASKS = [
  bulkLabelsTask,
  screeningTask,
  kytTask,
  traceTask,
  chainTransactionTask,
  scryptTask,
  namesTask,
  jobChunkTask,
  oracleTreeTask,
] as const;

export type Tasks = typeof TASKS;
export type TaskName = NameOf<Tasks>;
export type TaskMessage<Name extends TaskName> = MessageOf<Tasks, Name>;
export type TaskResult<Name extends TaskName> = ResultOf<Tasks, Name>;

/** Use cases that read the transfers of a chain: the routed tasks. */
export type GraphUseCases = RoutedUseCases<Tasks>;
/** A call of one of these use cases as it is sent to another node. */
export type GraphRequest = RemoteRequest<Tasks>;
