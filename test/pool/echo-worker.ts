/** Entry of a pool thread whose list of tasks has one more. */
import { workerData } from 'node:worker_threads';
import { createTaskThread } from '../../src/pool/thread.ts';
import { openWorkerServices, type WorkerSettings } from '../../src/pool/worker-services.ts';
import { TASKS_WITH_ECHO } from './echo-task.ts';

const settings = workerData as WorkerSettings;

export default createTaskThread(TASKS_WITH_ECHO, openWorkerServices(settings), settings);
