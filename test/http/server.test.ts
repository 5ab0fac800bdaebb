import { describe } from 'vitest';
import { createNodeServer } from '../../src/http/server/node.ts';
import { describeHttpServer } from '../conformance/http-server.ts';
import { uwsUnavailable } from '../setup/backend.ts';

const reason = await uwsUnavailable();
if (reason === null) {
  describeHttpServer(
    'uWebSockets.js',
    async () => (await import('../../src/http/server/uws.ts')).createUwsServer,
  );
} else describe.skip(`uWebSockets.js: ${reason}`);
describeHttpServer('node:http', async () => createNodeServer);
