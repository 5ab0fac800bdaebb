/** Entry of the thread that queries the remote store of a transfer graph for a thread that blocks until the response arrives. */
import { workerData } from 'node:worker_threads';
import type { GraphIoJob } from '../src/graph/remote/fetch.ts';
import { runGraphIo } from '../src/graph/remote/io.ts';

runGraphIo(workerData as GraphIoJob);
