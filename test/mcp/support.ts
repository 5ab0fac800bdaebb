/** Clients of the MCP server: the official package over HTTP, and over the standard streams of a real `assay mcp`. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { PROGRAM } from '../setup/program-path.ts';

/** Ways to choose a version of the protocol, and the version that this server then speaks. */
export const VERSIONS = [
  ['2025-11-25', 'legacy'],
  ['2026-07-28', { pin: '2026-07-28' }],
] as const;
export type Mode = (typeof VERSIONS)[number][1];

export { PROGRAM };

/** A program takes a minute to start on a machine that is busy enough. */
const TIMEOUT_MS = 150_000;

const newClient = (mode: Mode): Client =>
  new Client(
    { name: 'assay-test', version: '1.0.0' },
    { versionNegotiation: { mode, probe: { timeoutMs: TIMEOUT_MS } } },
  );

export async function overHttp(
  url: string,
  headers: Readonly<Record<string, string>>,
  mode: Mode,
): Promise<Client> {
  const client = newClient(mode);
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { ...headers } },
  });
  await client.connect(transport);
  return client;
}

/** Environment of the program: nothing of the developer's own. */
export const environment = (settings: Readonly<Record<string, string>>): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  ...settings,
});

export async function overStdio(url: string, key: string, mode: Mode): Promise<Client> {
  const client = newClient(mode);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp'],
    env: environment({ ASSAY_BASE_URL: url, ASSAY_API_KEY: key }),
    stderr: 'inherit',
  });
  await client.connect(transport, { timeout: TIMEOUT_MS });
  return client;
}

/** The parts of a result that tests read. */
export interface Answer {
  readonly isError?: boolean;
  readonly text: string;
  readonly bytes: number;
  readonly structured: {
    readonly data?: Record<string, unknown>;
    readonly notes?: readonly string[];
    readonly truncated?: readonly { field: string; shown: number; total: number; cursor?: string }[];
    readonly omitted?: readonly string[];
    readonly more?: string;
    readonly charge?: { creditsRemaining?: number; replayed: boolean };
    readonly error?: { code: string; message: string; field?: string; requestId?: string };
  };
}

export async function callTool(client: Client, name: string, args: object = {}): Promise<Answer> {
  const result = await client.callTool({ name, arguments: { ...args } });
  const [first] = result.content as readonly { readonly type: string; readonly text: string }[];
  return {
    ...(result.isError === undefined ? {} : { isError: result.isError as boolean }),
    text: first?.text ?? '',
    bytes: Buffer.byteLength(JSON.stringify(result)),
    structured: (result.structuredContent ?? {}) as Answer['structured'],
  };
}
