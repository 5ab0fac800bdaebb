/** Entry of the thread that carries label snapshots between nodes. */
import { workerData } from 'node:worker_threads';
import { runTravelThread } from '../src/travel/thread.ts';
import type { TravelJob } from '../src/travel/travel.ts';

await runTravelThread(workerData as TravelJob);
