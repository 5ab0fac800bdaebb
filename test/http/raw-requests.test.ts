import { createNodeServer } from '../../src/http/server/node.ts';
import { createUwsServer } from '../../src/http/server/uws.ts';
import { describeRawRequests } from '../conformance/raw-requests.ts';

describeRawRequests('uWebSockets.js', createUwsServer);
describeRawRequests('node:http', createNodeServer);
