import { createNodeServer } from '../../src/http/server/node.ts';
import { createUwsServer } from '../../src/http/server/uws.ts';
import { describeHttpServer } from '../conformance/http-server.ts';

describeHttpServer('uWebSockets.js', async () => createUwsServer);
describeHttpServer('node:http', async () => createNodeServer);
