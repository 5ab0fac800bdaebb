/** `DELETE /mcp`. */
import { MCP_METHOD_NOT_ALLOWED, methodNotAllowed } from '../mcp/not-allowed.ts';
import { operation } from '../operation.ts';

export const mcpEnd = operation({
  ...MCP_METHOD_NOT_ALLOWED,
  id: 'mcpEnd',
  sdk: null,
  method: 'DELETE',
  summary: 'End of an MCP session: refused',
  description: 'Answers 405: the server has no sessions, so there is none to end.',
  page: methodNotAllowed,
});
