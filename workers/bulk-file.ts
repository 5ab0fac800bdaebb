/**
 * Entry of the threads that process a bulk file. A thread posts null at the end of its work; if it fails, it stops the others and
 * posts its error as data.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { errorToData } from '../src/base/errors.ts';
import { idleBeforeEnd } from '../src/base/threads.ts';
import { type BulkFileJob, runBulkFileThread, Turns } from '../src/screening/bulk-file-thread.ts';
import { asStorageFull } from '../src/state/storage.ts';

const job = workerData as BulkFileJob;
try {
  runBulkFileThread(job);
  parentPort?.postMessage(null);
} catch (error) {
  new Turns(job.turns).stop();
  parentPort?.postMessage(errorToData(asStorageFull(error, 'The disk')));
}
idleBeforeEnd();
