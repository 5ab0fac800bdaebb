/** Entry of the thread that hashes the answers of batches. */
import { workerData } from 'node:worker_threads';
import { type BatchJob, runBatchThread } from '../src/receipts/batch-thread.ts';

runBatchThread(workerData as BatchJob);
