/** Entry of the threads that read a large CSV of labels: works until its import ends it. Errors go back as data. */
import { workerData } from 'node:worker_threads';
import { runWindowThread, type WindowThreadJob } from '../src/labels/csv-window-threads.ts';

runWindowThread(workerData as WindowThreadJob);
