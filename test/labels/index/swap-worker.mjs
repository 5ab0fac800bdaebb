// A reader on a thread of its own: looks up addresses, follows new snapshots, and reports the first answer that mixes snapshots. Runs
// built JavaScript.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

const { openSnapshotSet } = await import(workerData.snapshotSetUrl);
const { silentLogger } = await import(workerData.logUrl);
const { checkReader } = await import(workerData.checkUrl);

const set = openSnapshotSet(workerData.root, { log: silentLogger });
let stopped = false;
parentPort.on('message', () => {
  stopped = true;
});
let answers = 0;
let swaps = 0;
let fault = null;
const held = [];
/** Rounds after a swap that follow each other at once: old snapshots are closed and removed then. Between swaps, other threads need the cores. */
const ROUNDS_AT_SWAP = 20;
const PAUSE_MS = 25;
let hurried = 0;
parentPort.postMessage('open');
while (!stopped && fault === null) {
  if (set.refresh()) {
    hurried = ROUNDS_AT_SWAP;
    if (++swaps === 1) parentPort.postMessage('swapped');
    // Some old readers are kept beyond the swap and used again: they must keep answering from their own snapshot.
    held.push(set.current);
    if (held.length > 2) held.shift();
  }
  for (const reader of [set.current, ...held]) {
    fault ??= checkReader(reader);
    answers++;
  }
  await sleep(hurried-- > 0 ? 0 : PAUSE_MS);
}
set.close();
parentPort.postMessage({ answers, swaps, fault });
