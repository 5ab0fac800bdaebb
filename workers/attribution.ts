/** Entry of the thread that keeps derived labels up to date. */
import { workerData } from 'node:worker_threads';
import { type AttributionThreadJob, runAttributionThread } from '../src/attribution/thread.ts';

runAttributionThread(workerData as AttributionThreadJob);
