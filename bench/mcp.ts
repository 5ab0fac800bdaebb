/**
 * A tool call over `POST /mcp` beside the same operation over HTTP, one after the other on one connection each, in both versions of the
 * protocol. Run: node dist/bench/mcp.js [--calls N] [--no-save]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { projectRoot } from '../src/base/paths.ts';
import { argument, type BenchReport, type BenchRow, publish, report, row } from './harness.ts';
import type { RegisterServerReady } from './registers-server.ts';

export interface McpBenchOptions {
  /** Calls of each kind. */
  readonly calls: number;
}

const DEFAULTS: McpBenchOptions = { calls: 500 };
/** Milliseconds that a tool call may take above its operation. */
const ABOVE_MS_MAX = 3;
const TOOL = 'exchange_registrations';
const MODERN = '2026-07-28';
const ARGS = { name: 'Kraken', jurisdiction: 'US' };

const message = (meta: object) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: TOOL, arguments: ARGS, ...meta },
  });

const ENVELOPE = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
};

type Ask = () => Promise<void>;

/** The kinds of requests, by name: the operation itself first. */
async function kindsOf({ port, key }: RegisterServerReady): Promise<Readonly<Record<string, Ask>>> {
  const url = `http://127.0.0.1:${port}`;
  const authorization = `Bearer ${key}`;
  async function read(path: string, init: RequestInit, isRight: RegExp): Promise<void> {
    const response = await fetch(`${url}${path}`, init);
    const text = await response.text();
    if (response.status !== 200 || !isRight.test(text)) throw new Error(`${response.status}: ${text}`);
  }
  const post = (body: string, headers: Readonly<Record<string, string>>): Ask => {
    const init = {
      method: 'POST',
      headers: {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body,
    };
    return () => read('/mcp', init, /"structuredContent":\{"data"/);
  };
  const client = new Client(
    { name: 'bench', version: '1' },
    { versionNegotiation: { mode: { pin: MODERN } } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers: { authorization } } }),
  );
  await client.listTools();
  const query = new URLSearchParams(ARGS).toString();
  return {
    operation: () =>
      read(`/api/v1/exchange-status?${query}`, { headers: { authorization } }, /"success":true/),
    [MODERN]: post(message(ENVELOPE), {
      'mcp-protocol-version': MODERN,
      'mcp-method': 'tools/call',
      'mcp-name': TOOL,
    }),
    '2025-11-25': post(message({}), { 'mcp-protocol-version': '2025-11-25' }),
    client: async () => {
      const { isError } = await client.callTool({ name: TOOL, arguments: ARGS });
      if (isError === true) throw new Error('The tool call failed.');
    },
  };
}

/** Calls each kind in turn, so that a busy moment of the machine meets all of them. Returns the sorted times in ms. */
async function timesOf(
  kinds: Readonly<Record<string, Ask>>,
  calls: number,
): Promise<Readonly<Record<string, readonly number[]>>> {
  const times: Record<string, number[]> = Object.fromEntries(Object.keys(kinds).map((name) => [name, []]));
  for (let call = 0; call < calls; call++)
    for (const [name, ask] of Object.entries(kinds)) {
      const from = systemClock.monotonic();
      await ask();
      times[name]?.push(systemClock.monotonic() - from);
    }
  for (const list of Object.values(times)) list.sort((a, b) => a - b);
  return times;
}

const at = (times: readonly number[] | undefined, share: number): number =>
  times?.[Math.floor(times.length * share)] ?? Number.NaN;

/** Measures with the client on the same cores. */
export async function benchMcp(options: Partial<McpBenchOptions> = {}): Promise<BenchReport> {
  const { calls } = { ...DEFAULTS, ...options };
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-mcp-'));
  const server: ChildProcess = fork(join(projectRoot, 'dist', 'bench', 'registers-server.js'), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const ready = await new Promise<RegisterServerReady>((resolve, reject) => {
      server.once('exit', (code) => reject(new Error(`The server of the benchmark ended with ${code}.`)));
      server.once('message', (answer) => resolve(answer as RegisterServerReady));
      server.send(folder);
    });
    const kinds = await kindsOf(ready);
    await timesOf(kinds, Math.min(calls, 100));
    const times = await timesOf(kinds, calls);
    const operation = at(times.operation, 0.5);
    const rows: BenchRow[] = [row('operation over HTTP, p50', operation, 'ms')];
    for (const version of [MODERN, '2025-11-25']) {
      const p50 = at(times[version], 0.5);
      rows.push(row(`tool call, ${version}, p50`, p50, 'ms', null, operation));
      rows.push(row(`above the operation, ${version}`, p50 - operation, 'ms', { atMost: ABOVE_MS_MAX }));
      rows.push(
        row(`tool call, ${version}, p99`, at(times[version], 0.99), 'ms', null, at(times.operation, 0.99)),
      );
    }
    rows.push(row('tool call by the official client, p50', at(times.client, 0.5), 'ms', null, operation));
    return report('mcp', startedAt, { calls, tool: TOOL }, rows);
  } finally {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  publish(await benchMcp({ calls: argument('--calls', DEFAULTS.calls) }));
