/** The thread's side of replication.ts: runs follow.ts until it is stopped. */
import { parentPort } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { errorToData } from '../base/errors.ts';
import { createLogger } from '../base/log.ts';
import { systemJitter } from '../base/random.ts';
import { asStorageFull } from '../state/storage.ts';
import { type Replicator, startReplication } from './follow.ts';
import type { ReplicationCommand, ReplicationJob, ReplicationMessage } from './replication.ts';

/** Runs until a stop message arrives; after that nothing keeps the thread alive. */
export async function runReplicationThread({ settings, logLevel }: ReplicationJob): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('Snapshot replication must run on a thread of its own.');
  const post = (message: ReplicationMessage): void => port.postMessage(message);
  const deps = { clock: systemClock, log: createLogger({ level: logLevel }), jitter: systemJitter };
  let replicator: Replicator;
  try {
    replicator = await startReplication(settings, deps, post);
  } catch (error) {
    post({ type: 'failed', error: errorToData(asStorageFull(error, 'The disk')) });
    port.once('message', () => port.close());
    return;
  }
  port.on('message', (command: ReplicationCommand) => {
    if (command === 'look') return replicator.look();
    void replicator.stop().finally(() => port.close());
  });
}
