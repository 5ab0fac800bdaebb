/** Entry of the thread of the snapshot replication. */
import { workerData } from 'node:worker_threads';
import { runTravelThread } from '../src/travel/thread.ts';
import type { TravelJob } from '../src/travel/travel.ts';

await runTravelThread(workerData as TravelJob);
