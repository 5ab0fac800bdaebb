/** The thread's side of travel.ts: runs follow.ts until it is stopped. */
import { parentPort } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { errorToData } from '../base/errors.ts';
import { createLogger } from '../base/log.ts';
import { systemJitter } from '../base/random.ts';
import { asStorageFull } from '../state/storage.ts';
import { startTravelling, type Travelling } from './follow.ts';
import type { TravelJob, TravelMessage, TravelOrder } from './replication.ts';

/** Runs until a stop message arrives; after that nothing keeps the thread alive. */
export async function runTravelThread({ settings, logLevel }: TravelJob): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('This runs on a thread of its own.');
  const tell = (message: TravelMessage): void => port.postMessage(message);
  const deps = { clock: systemClock, log: createLogger({ level: logLevel }), jitter: systemJitter };
  let travelling: Travelling;
  try {
    travelling = await startTravelling(settings, deps, tell);
  } catch (error) {
    tell({ type: 'failed', error: errorToData(asStorageFull(error, 'The disk')) });
    port.once('message', () => port.close());
    return;
  }
  port.on('message', (order: TravelOrder) => {
    if (order === 'look') return travelling.look();
    void travelling.stop().finally(() => port.close());
  });
}
