/** Columns of the methods of `/mcp` that need a session, which the server does not have. */
import type { Page } from '../pipeline/work.ts';

export const MCP_METHOD_NOT_ALLOWED = {
  tag: 'Service',
  path: '/mcp',
  mount: 'root',
  isListed: false,
  response: 'application/json',
} as const;

/** Response to a client that opens a stream or ends a session, as the protocol demands of a server without sessions. */
export const methodNotAllowed = (): Page => ({
  status: 405,
  contentType: 'application/json',
  lines: '\r\nAllow: POST\r\nCache-Control: no-store',
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_000, message: 'Method not allowed: this server has no sessions. Send POST.' },
  }),
});
