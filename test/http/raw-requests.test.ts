import { describe } from 'vitest';
import { createNodeServer } from '../../src/http/server/node.ts';
import { describeRawRequests } from '../conformance/raw-requests.ts';
import { uwsUnavailable } from '../setup/backend.ts';

const reason = await uwsUnavailable();
if (reason === null)
  describeRawRequests('uWebSockets.js', (await import('../../src/http/server/uws.ts')).createUwsServer);
else describe.skip(`uWebSockets.js: ${reason}`);
describeRawRequests('node:http', createNodeServer);
