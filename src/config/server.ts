/** Settings: the HTTP server, its threads and its logs. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { LIMITS } from '../base/limits.ts';
import type { LogFormat, LogLevel } from '../base/log.ts';
import { projectRoot } from '../base/paths.ts';
import {
  folder,
  hostName,
  number,
  oneOf,
  optionalFolder,
  optionalHost,
  optionalKey,
  optionalUrl,
  origins,
  ranges,
} from './readers.ts';
import { setting } from './setting.ts';

export const serverSettings = {
  host: setting('ASSAY_HOST', '127.0.0.1', hostName, 'Address to listen on.'),
  port: setting('ASSAY_PORT', '8080', number(0, 65_535), 'Port to listen on; 0 picks a free one.'),
  httpBackend: setting(
    'ASSAY_HTTP_BACKEND',
    'auto',
    oneOf('auto', 'uws', 'node'),
    '`uws` (uWebSockets.js), `node` (node:http) or `auto` (uws if its binary loads).',
  ),
  httpKeepAliveSeconds: setting(
    'ASSAY_HTTP_KEEP_ALIVE_SECONDS',
    String(LIMITS.keepAliveSeconds),
    number(1, 3_600),
    'Seconds for which the back end `node` keeps an idle connection open. With `uws` it is fixed: 8 to 12.',
  ),
  tlsKey: setting(
    'ASSAY_TLS_KEY',
    '',
    String,
    'PEM file of the private key. Together with `ASSAY_TLS_CERT` it enables TLS. If both files are replaced, the server uses them within a minute.',
  ),
  tlsCert: setting('ASSAY_TLS_CERT', '', String, 'PEM file of the certificate chain.'),
  publicHost: setting(
    'ASSAY_PUBLIC_HOST',
    '',
    optionalHost,
    'Host (with a port, if it is not the standard one) under which clients reach this service: requests for www.… are redirected to it, and the links in emails lead to it. Required for the links in emails unless the server listens on an address that people can open; `/ready` says so if it is missing.',
  ),
  trustedProxies: setting(
    'ASSAY_TRUSTED_PROXIES',
    '',
    ranges,
    'Addresses or CIDR ranges of trusted proxies. Their X-Forwarded-* headers are used.',
  ),
  acceptors: setting(
    'ASSAY_ACCEPTORS',
    '1',
    number(1, LIMITS.acceptorsMax),
    'Threads that accept connections and answer the oracle and `POST /screen/bulk`. With 1, the main thread does. More need Linux, uWebSockets.js and no Redis.',
  ),
  workers: setting(
    'ASSAY_WORKERS',
    String(Math.max(1, availableParallelism() - 1)),
    number(1, 64),
    'Threads of the worker pool. Default: number of cores minus one.',
  ),
  logLevel: setting(
    'ASSAY_LOG_LEVEL',
    'info',
    oneOf<LogLevel>('debug', 'info', 'warn', 'error', 'silent'),
    '`debug`, `info`, `warn`, `error` or `silent`. Logs are written to stderr.',
  ),
  logFormat: setting(
    'ASSAY_LOG_FORMAT',
    'auto',
    oneOf<LogFormat>('auto', 'text', 'json'),
    '`text` (lines for people), `json` (JSON lines for programs) or `auto` (text if stderr is a terminal, otherwise JSON).',
  ),
  dataDir: setting(
    'ASSAY_DATA_DIR',
    join(projectRoot, 'data', 'store'),
    folder,
    'Folder of all state: labels, snapshots, transfers, keys. Default: data/store of the project.',
  ),
  jobsDir: setting(
    'ASSAY_JOBS_DIR',
    '',
    optionalFolder,
    'Folder of the files of bulk jobs, shared by nodes that share a Redis. Default: `jobs` in `ASSAY_DATA_DIR`.',
  ),
  mcpOrigins: setting(
    'ASSAY_MCP_ORIGINS',
    '',
    origins,
    'Origins, separated by commas, of web pages that may send requests to `POST /mcp`, and whose hosts may be its Host.',
  ),
  apiKey: setting(
    'ASSAY_API_KEY',
    '',
    optionalKey,
    'API key that `assay bulk --remote` and `assay mcp` send to a server.',
  ),
  baseUrl: setting('ASSAY_BASE_URL', '', optionalUrl, 'URL of the server to which `assay mcp` connects.'),
} as const;
