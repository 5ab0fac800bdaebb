/**
 * `assay mcp`: the tools of a running server for an MCP client that starts a program. Standard output carries the protocol and nothing
 * else. The tools are those of `POST /mcp`; here they call the operations of the server over HTTP.
 */

import type { Command } from 'commander';
import type { Agent, Dispatcher } from 'undici';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { createOutboundAgent } from '../base/outbound.ts';
import { isUrl } from '../base/url.ts';
import { MCP_LIMITS } from '../mcp/limits.ts';
import type { CallOperation, OperationRequest, ToolOperation } from '../mcp/operations.ts';
import { keyOfFile, keyOfText } from './bulk-remote.ts';
import { printableLine, type Terminal } from './context.ts';
import { refusedBy, sentenceOf } from './remote-error.ts';

export interface McpSettings {
  /** URL of the server in the settings; null if it is not set. */
  readonly baseUrl: () => string | null;
  readonly apiKey: () => string | null;
  /** The operations that this version of the program knows. */
  readonly operations: () => Promise<readonly ToolOperation[]>;
  readonly version: string;
}

interface McpOptions {
  readonly url?: string;
  readonly apiKey?: string;
  readonly keyFile?: string;
}

/** Calls at the same time: a model rarely makes more than a few at once. */
const CONNECTIONS = 4;

const refuse = (sentence: string): AssayError => new AssayError('INVALID_REQUEST', sentence);

/** Returns the URL of the server without a slash at its end. */
function baseOf(text: string | null): URL {
  if (text === null)
    throw refuse('--url: is missing. Give the URL of a running server, or set ASSAY_BASE_URL.');
  if (!isUrl(text) || !/^https?:$/.test(new URL(text).protocol))
    throw refuse(`--url: must be an http or https URL (got '${printableLine(text)}').`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw refuse(
      '--url: must not carry a name or a password. Give the API key by ASSAY_API_KEY or --key-file.',
    );
  return url;
}

async function keyOf({ apiKey, keyFile }: McpOptions, ofSettings: string | null): Promise<string> {
  if (apiKey !== undefined) return keyOfText(apiKey, '--api-key:');
  if (keyFile !== undefined) return keyOfFile(keyFile);
  if (ofSettings !== null) return ofSettings;
  throw refuse('--api-key: is missing. Set ASSAY_API_KEY, or give the file of a key by --key-file.');
}

/** Reads a whole response. */
async function bytesOf({ body }: Dispatcher.ResponseData, origin: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    length += piece.length;
    if (length > MCP_LIMITS.toolResponseBytesMax)
      throw new AssayError('SOURCE_UNAVAILABLE', `${origin} sent a response that is too large.`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

const headerOf = (value: string | string[] | undefined): string => (typeof value === 'string' ? value : '');

interface Remote {
  readonly send: (request: OperationRequest) => Promise<Dispatcher.ResponseData>;
  readonly call: CallOperation;
}

function connect(agent: Agent, base: URL, key: string, signal: AbortSignal): Remote {
  const root = base.pathname.replace(/\/$/, '');
  const send: Remote['send'] = async ({ method, path, query, body, idempotencyKey }) => {
    try {
      return await agent.request({
        origin: base.origin,
        path: `${root}${path}${query === '' ? '' : `?${query}`}`,
        method: method as Dispatcher.HttpMethod,
        headers: {
          authorization: `Bearer ${key}`,
          accept: 'application/problem+json',
          ...(body === null ? {} : { 'content-type': 'application/json' }),
          ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body,
        signal,
      });
    } catch (cause) {
      signal.throwIfAborted();
      const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
      throw new AssayError(
        'SOURCE_UNAVAILABLE',
        `${base.origin} cannot be reached: ${printableLine(reason)}.`,
        {
          cause,
        },
      );
    }
  };
  return {
    send,
    async call(request) {
      const response = await send(request);
      const { headers, statusCode } = response;
      const retryAfter = Number(headerOf(headers['retry-after']) || Number.NaN);
      return {
        status: statusCode,
        body: await bytesOf(response, base.origin),
        requestId: headerOf(headers['x-request-id']),
        isReplayed: headers['idempotency-replayed'] === 'true',
        retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : null,
      };
    },
  };
}

/**
 * Sends a request with the key, so that a wrong URL or key is an error of the command and not of the first tool.
 *
 * @throws SOURCE_UNAVAILABLE, FORBIDDEN
 */
async function checkServer({ send }: Remote, origin: string): Promise<void> {
  const response = await send({
    method: 'GET',
    path: '/api/v1/usage',
    query: 'limit=1',
    body: null,
    idempotencyKey: null,
  });
  const { statusCode } = response;
  // A rate limit passes; the first tool says if it does not.
  if (statusCode === 200 || statusCode === 429) return response.body.dump();
  throw refusedBy(`${origin} answered ${statusCode}: ${await sentenceOf(response)}`);
}

/** Resolves when the client has closed the standard input, or the command is told to stop. */
const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => resolve();
    for (const event of ['end', 'close', 'error']) process.stdin.once(event, done);
    if (signal.aborted) done();
    else signal.addEventListener('abort', done, { once: true });
  });

async function serve(options: McpOptions, settings: McpSettings, { signal, err }: Terminal): Promise<void> {
  const base = baseOf(options.url ?? settings.baseUrl());
  const key = await keyOf(options, settings.apiKey());
  const agent = createOutboundAgent({
    // The user has named the server, so a private address is allowed.
    policy: { trustedHosts: new Set([base.hostname]) },
    timeouts: {
      connectMs: LIMITS.downloadConnectMs,
      headersMs: MCP_LIMITS.toolCallMsMax,
      stallMs: LIMITS.downloadStallMs,
    },
    connections: CONNECTIONS,
  });
  try {
    const remote = connect(agent, base, key, signal);
    await checkServer(remote, base.origin);
    const { loadToolServer } = await import('../mcp/server.ts');
    const createToolServer = await loadToolServer({
      version: settings.version,
      operations: await settings.operations(),
    });
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
    const end = ended(signal);
    const handle = serveStdio(() => createToolServer(remote.call), {
      onerror: (error) => void err.write(`assay: ${printableLine(error.message)}\n`),
    });
    await end;
    await handle.close();
  } finally {
    await agent.destroy();
  }
}

/**
 * Adds `assay mcp`.
 *
 * @param settings - read when the command runs
 */
export function addMcpCommand(program: Command, terminal: Terminal, settings: McpSettings): void {
  program
    .command('mcp')
    .description('serve the tools of a running server to an MCP client, over standard input and output')
    .option('--url <url>', 'URL of the server (default: ASSAY_BASE_URL)')
    .option('--key-file <file>', 'file with the API key (default: ASSAY_API_KEY)')
    .option('--api-key <key>', 'the API key itself; visible in the process list')
    .action((options: McpOptions) => serve(options, settings, terminal));
}
