/** Entry of an acceptor thread. */
import { parentPort, workerData } from 'node:worker_threads';
import type { AcceptorThreadData } from '../src/app/acceptor-thread.ts';
import { createLogger } from '../src/base/log.ts';
import { runAcceptor } from '../src/http/acceptors/thread.ts';

if (parentPort === null) throw new Error('An acceptor runs on a thread of its own.');
const data = workerData as AcceptorThreadData;
const { hot } = data;
const log = createLogger({ level: hot?.stores.logLevel ?? 'silent' });
runAcceptor(data, {
  port: parentPort,
  log,
  // Most of the program is behind the hot operations, and a thread that only passes requests on needs none of it.
  openHot:
    hot === null
      ? null
      : async (deps) => (await import('../src/app/acceptor-thread.ts')).hotRoutesOf(hot, log)(deps),
});
