/** `GET /mcp`. */
import { MCP_METHOD_NOT_ALLOWED, methodNotAllowed } from '../mcp/not-allowed.ts';
import { operation } from '../operation.ts';

export const mcpStream = operation({
  ...MCP_METHOD_NOT_ALLOWED,
  id: 'mcpStream',
  sdk: null,
  method: 'GET',
  summary: 'MCP stream of a session: refused',
  description: 'Answers 405: the server has no sessions, so there is no stream to open.',
  page: methodNotAllowed,
});
