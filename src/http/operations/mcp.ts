/** `POST /mcp`: the Model Context Protocol over streamable HTTP, without sessions (docs/guides/mcp.md). */
import { Type } from 'typebox';
import { operation } from '../operation.ts';

const Message = Type.Unknown({ description: 'A JSON-RPC message, or a batch of them.' });

export const mcp = operation({
  id: 'mcp',
  sdk: null,
  tag: 'Service',
  method: 'POST',
  path: '/mcp',
  mount: 'root',
  isListed: false,
  takesApiKeyHeader: true,
  permission: 'any',
  rateClass: 'mcp',
  charges: { quota: 'as of the operation that the tool calls', credits: 'as of the operation' },
  response: Message,
  summary: 'MCP messages',
  description:
    'Tools for models, over the Model Context Protocol 2026-07-28 and its versions of 2025. The key may also be in the header X-API-Key.',
  message: ({ services, call }, body) => services.mcp.answer(call, body),
});
