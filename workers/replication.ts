/** Entry of the thread of the snapshot replication. */
import { workerData } from 'node:worker_threads';
import type { ReplicationJob } from '../src/replication/replication.ts';
import { runReplicationThread } from '../src/replication/thread.ts';

await runReplicationThread(workerData as ReplicationJob);
