/** Entry of the thread that keeps the exposure indexes up to date. */
import { workerData } from 'node:worker_threads';
import { type ExposureThreadJob, runExposureThread } from '../src/exposure/thread.ts';

runExposureThread(workerData as ExposureThreadJob);
