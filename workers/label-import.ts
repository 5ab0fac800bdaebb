/**
 * Entry of the threads that read a large CSV of labels until the import ends them. If a thread fails, its error is posted as data.
 */
import { workerData } from 'node:worker_threads';
import { runWindowThread, type WindowThreadJob } from '../src/labels/csv-window-threads.ts';

runWindowThread(workerData as WindowThreadJob);
