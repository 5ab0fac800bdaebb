/** Entry of the thread that packs the addresses of a bulk load while the previous ones are written. */
import { workerData } from 'node:worker_threads';
import { idleBeforeEnd } from '../src/base/threads.ts';
import { type BulkAddressesJob, runBulkAddresses } from '../src/graph/store/bulk-addresses.ts';

runBulkAddresses(workerData as BulkAddressesJob);
idleBeforeEnd();
