import { createNodeServer } from '../../src/http/node-server.ts';
import { createUwsServer } from '../../src/http/uws-server.ts';
import { describeHttpServer } from '../conformance/http-server.ts';

describeHttpServer('uWebSockets.js', async () => createUwsServer);
describeHttpServer('node:http', async () => createNodeServer);
