/** Entry of the thread that packs the addresses of a bulk load while those before are written. */
import { workerData } from 'node:worker_threads';
import { idleBeforeEnd } from '../src/base/threads.ts';
import { type BulkAddressesJob, runBulkAddresses } from '../src/graph/store/bulk-addresses.ts';

runBulkAddresses(workerData as BulkAddressesJob);
idleBeforeEnd();
