/**
 * A test loads this module into a process of the program (`--import`): signals cause the faults that no request can. SIGUSR2 ends every
 * worker thread, SIGHUP rejects a promise that is not awaited, SIGWINCH throws out of a timer.
 */
import { syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';

if (threads.isMainThread) {
  const living = new Set<threads.Worker>();
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(...args: ConstructorParameters<typeof Worker>) {
      super(...args);
      living.add(this);
      this.on('exit', () => living.delete(this));
    }
  };
  syncBuiltinESMExports();
  process.on('SIGUSR2', () => {
    for (const worker of living) void worker.terminate();
  });
  process.on('SIGHUP', () => void Promise.reject(new Error('injected rejection')));
  process.on('SIGWINCH', () => {
    setTimeout(() => {
      throw new TypeError('injected exception');
    });
  });
}
