/** Entry of the thread of the snapshot replication. */
import { workerData } from 'node:worker_threads';
import type { TravelJob } from '../src/replication/replication.ts';
import { runTravelThread } from '../src/replication/thread.ts';

await runTravelThread(workerData as TravelJob);
