/** `POST /mcp`: MCP messages over HTTP, without sessions. Each tool call becomes a request to an operation of this process. */
import type { McpHttpHandler } from '@modelcontextprotocol/server';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { MCP_LIMITS } from '../../mcp/limits.ts';
import type { CallOperation } from '../../mcp/operations.ts';
import { loadToolServer } from '../../mcp/server.ts';
import { API_KEY_HEADER } from '../pipeline/admit.ts';
import type { Call } from '../pipeline/call.ts';
import { outlineBody, parseJson } from '../pipeline/json-body.ts';
import type { Page } from '../pipeline/work.ts';
import type { Route } from '../routes.ts';
import { toolOperations } from './facts.ts';
import { callInside, type Match, type OuterRequest } from './loopback.ts';
import { createOwnPages } from './own-pages.ts';

export interface McpEndpointOptions {
  readonly version: string;
  readonly operations: readonly Route[];
  /** Names of this server, with or without a port. */
  readonly hosts: readonly string[];
  /** Origins of pages that may send requests, beside the own one. */
  readonly origins: readonly string[];
}

export interface McpEndpointDeps {
  readonly log: Logger;
  readonly match: Match;
}

export interface McpEndpoint {
  /**
   * Answers the body of a request; its headers can still be read.
   *
   * @throws FORBIDDEN if the request comes from a page of another site
   */
  answer(call: Call, body: Uint8Array): Promise<Page>;
}

/** Headers of the protocol, which its library reads. */
const PROTOCOL_HEADERS = [
  'accept',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
] as const;

const PRINTABLE = /^[\x20-\x7e]+$/;

/** JSON-RPC 2.0, section 5.1. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;

const messagePage = (status: number, body: string, contentType = 'application/json'): Page => ({
  status,
  contentType,
  body,
});

const errorPage = (status: number, code: number, message: string, id: unknown = null): Page =>
  messagePage(status, JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** Returns the refusal of a message before the library sees it; null if it may pass. */
function refusalOf(message: unknown): Page | null {
  if (Array.isArray(message) && message.length > MCP_LIMITS.batchMessagesMax)
    return errorPage(
      400,
      INVALID_REQUEST,
      `Invalid request: a batch has at most ${MCP_LIMITS.batchMessagesMax} messages.`,
    );
  // A subscription would hold a connection for changes that never happen: the list of tools is fixed.
  if (isRecord(message) && message.method === 'subscriptions/listen' && message.id !== undefined)
    return errorPage(
      404,
      METHOD_NOT_FOUND,
      'Method not found: this server has no subscriptions.',
      message.id,
    );
  return null;
}

/** Returns the name of the tool that a message calls; undefined if it calls none. */
function calledTool(message: unknown): string | undefined {
  if (!isRecord(message) || message.method !== 'tools/call' || !isRecord(message.params)) return undefined;
  const { name } = message.params;
  return typeof name === 'string' ? name : undefined;
}

/** Creates the handler of one request. */
type CreateHandler = (outer: OuterRequest, only: string | undefined) => McpHttpHandler;

/** Creates the endpoint. The library is loaded by the first message. */
export function createMcpEndpoint(
  { version, operations, hosts, origins }: McpEndpointOptions,
  { log, match }: McpEndpointDeps,
): McpEndpoint {
  const pages = createOwnPages(hosts, origins);
  const onFault = (error: unknown): void =>
    log.error({ reason: messageOf(error), err: error }, 'MCP tool call failed');
  let loading: Promise<CreateHandler> | null = null;

  async function load(): Promise<CreateHandler> {
    const [{ createMcpHandler }, createToolServer] = await Promise.all([
      import('@modelcontextprotocol/server'),
      loadToolServer({ version, operations: toolOperations(operations), onFault }),
    ]);
    return (outer, only) => {
      const call: CallOperation = (request) => callInside(match, request, outer);
      return createMcpHandler(() => createToolServer(call, only), {
        keepAliveMs: 0,
        onerror: (error) => log.debug({ reason: error.message }, 'MCP message refused'),
      });
    };
  }

  function loaded(): Promise<CreateHandler> {
    loading ??= load().catch((error: unknown) => {
      // The next message tries again.
      loading = null;
      throw error;
    });
    return loading;
  }

  return {
    async answer({ exchange, requestId }, body) {
      const host = exchange.header('host');
      pages.require(host, exchange.header('origin'));
      const outer: OuterRequest = {
        authorization: exchange.header('authorization') || `Bearer ${exchange.header(API_KEY_HEADER)}`,
        requestId,
        remoteAddress: exchange.remoteAddress(),
        forwardedFor: exchange.header('x-forwarded-for'),
        forwardedProto: exchange.header('x-forwarded-proto'),
        isGone: () => exchange.isGone,
      };
      const headers = new Headers({ 'content-type': 'application/json' });
      for (const name of PROTOCOL_HEADERS) {
        const value = exchange.header(name);
        // A value with other characters is no value of the protocol, and `Headers` would reject it.
        if (PRINTABLE.test(value)) headers.set(name, value);
      }
      let message: unknown;
      try {
        outlineBody(body, MCP_LIMITS.messageValuesMax);
        message = parseJson(body);
      } catch (error) {
        if (error instanceof AssayError) return errorPage(400, PARSE_ERROR, `Parse error: ${error.message}`);
        throw error;
      }
      const refusal = refusalOf(message);
      if (refusal !== null) return refusal;
      const handler = (await loaded())(outer, calledTool(message));
      // The library reads the message from `parsedBody`; the URL is not used.
      const request = new Request('http://localhost/mcp', { method: 'POST', headers, body: '{}' });
      const response = await handler.fetch(request, { parsedBody: message });
      const text = await response.text();
      return messagePage(response.status, text, response.headers.get('content-type') ?? 'application/json');
    },
  };
}
