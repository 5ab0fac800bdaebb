/** Entry of the pool's threads: opens the read-only stores once, then runs one task per message. */
import { workerData } from 'node:worker_threads';
import { TASKS } from '../src/pool/tasks/index.ts';
import { createTaskThread } from '../src/pool/thread.ts';
import { openWorkerServices, type WorkerSettings } from '../src/pool/worker-services.ts';

const settings = workerData as WorkerSettings;

export default createTaskThread(TASKS, openWorkerServices(settings), settings);
