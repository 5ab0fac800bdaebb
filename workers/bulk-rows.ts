/** Entry of the thread that reads a large file of transfers while the previous runs are written. */
import { workerData } from 'node:worker_threads';
import { idleBeforeEnd } from '../src/base/threads.ts';
import { type BulkRowsJob, runBulkRows } from '../src/graph/ingest/bulk-rows.ts';

runBulkRows(workerData as BulkRowsJob);
idleBeforeEnd();
