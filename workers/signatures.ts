/** Entry of the thread that signs receipts while many are issued at a time. */
import { workerData } from 'node:worker_threads';
import { runSigningThread, type SigningJob } from '../src/receipts/signing-thread.ts';

runSigningThread(workerData as SigningJob);
