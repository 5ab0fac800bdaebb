/** The server of several threads passes the suite of every HTTP server: here its threads pass every request on. */
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { workerUrl } from '../../src/base/paths.ts';
import type { RouteBody } from '../../src/http/acceptors/messages.ts';
import { createRouter } from '../../src/http/server/router.ts';
import { describeHttpServer } from '../conformance/http-server.ts';
import { uwsUnavailable } from '../setup/backend.ts';
import { sleep } from '../support/wait.ts';

const GIB = 1024 ** 3;

/** Bodies of the routes of the suite. */
const bodies: readonly RouteBody[] = [
  { method: 'POST', pattern: '/take', kind: 'pieces', bytesMax: 3 * GIB },
  { method: 'POST', pattern: '/limited', kind: 'pieces', bytesMax: 1024 ** 2 },
  { method: 'POST', pattern: '/echo', kind: 'whole', bytesMax: 1000 },
];

const reason = process.platform === 'linux' ? await uwsUnavailable() : 'only Linux spreads connections';
if (reason !== null) describe.skip(`acceptors: ${reason}`);
else {
  const { createAcceptorServer } = await import('../../src/http/acceptors/acceptors.ts');
  describeHttpServer(
    '2 acceptors',
    async () => (options, deps) =>
      createAcceptorServer(
        options,
        { count: 2, worker: workerUrl('acceptor'), bodies, hotData: () => null, counting: null },
        deps,
      ),
    { isForwarding: true },
  );

  describe('an acceptor that fails', () => {
    const serverOf = (code: string) =>
      createAcceptorServer(
        { host: '127.0.0.1', port: 0, tls: null },
        {
          count: 2,
          worker: new URL(`data:text/javascript,${encodeURIComponent(code)}`),
          bodies: [],
          hotData: () => null,
          counting: null,
        },
        {
          router: createRouter([]),
          fallback: () => {},
          refuse: ({ problem }) => ({ status: 400, headers: '', body: problem }),
          log: silentLogger,
        },
      );

    it('at its start fails the start of the server, which can then be closed', async () => {
      const server = serverOf(`throw new Error('no store')`);
      await expect(server.listen()).rejects.toThrow('no store');
      await server.close(1_000);
    });

    it('later ends the server as an error that nothing handles', async () => {
      const server = serverOf(`
        import { parentPort } from 'node:worker_threads';
        parentPort.on('message', () => {
          parentPort.postMessage([{ kind: 'listening' }]);
          setTimeout(() => { throw new Error('a bug'); }, 50);
        });
      `);
      const handlers = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      const uncaught: Error[] = [];
      process.on('uncaughtException', (error) => uncaught.push(error));
      try {
        await server.listen();
        while (uncaught.length < 2) await sleep(5);
        await server.close(1_000);
        // Each thread reports its error once; its end says nothing more.
        expect(uncaught.map(({ message }) => message)).toEqual(['a bug', 'a bug']);
      } finally {
        process.removeAllListeners('uncaughtException');
        for (const handler of handlers) process.on('uncaughtException', handler);
      }
    });
  });
}
