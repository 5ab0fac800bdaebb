/**
 * The built dashboard: static files and one document for all of its pages, which a script of the document draws. Requests that match no
 * operation are looked up here, so operations keep their paths.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Awaitable, whenReady } from '../base/awaitable.ts';
import type { Logger } from '../base/log.ts';
import { errorCodeLine } from './pipeline/errors.ts';
import { acceptsHtml } from './pipeline/negotiation.ts';
import type { Page } from './pipeline/work.ts';
import type { Exchange } from './server/port.ts';
import { createRouter, type Router } from './server/router.ts';
import { type BuiltFile, StaticFiles } from './static-files.ts';

/** `manifest.json` of the built dashboard. */
export interface DashboardManifest {
  readonly files: readonly BuiltFile[];
  /** Path of the file that is sent for every page. */
  readonly document: string;
  /** Patterns of the pages, such as `/screening/{chain}/{address}`. */
  readonly pages: readonly string[];
}

/**
 * Scripts, styles and requests of this host only, and none inline. `data:` and `blob:` images are exports that the page itself draws;
 * workers lay out large pictures. Form submissions stay in scripts, so no form may be sent anywhere.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const SECURITY_LINES = [
  `Content-Security-Policy: ${POLICY}`,
  // Links to block explorers must not tell them which address is examined here.
  'Referrer-Policy: no-referrer',
  'X-Content-Type-Options: nosniff',
  'Cross-Origin-Opener-Policy: same-origin',
  'Cross-Origin-Resource-Policy: same-origin',
  'Permissions-Policy: camera=(), geolocation=(), microphone=(), payment=(), usb=()',
]
  .map((line) => `\r\n${line}`)
  .join('');

/** Browsers then reach the host by TLS only, for a year. */
const TLS_ONLY = '\r\nStrict-Transport-Security: max-age=31536000';

/** First segments of paths that belong to programs: what they do not have is an error of the API, never a page. */
const RESERVED: ReadonlySet<string> = new Set([
  'api',
  'docs',
  'openapi.json',
  'health',
  'ready',
  'metrics',
  'mcp',
  'log',
  '.well-known',
]);

/** Returns the page that browsers get if the build has no dashboard: the API works without it. */
const notBuilt = (securityLines: string): Page => ({
  status: 200,
  contentType: 'text/plain; charset=utf-8',
  lines: `\r\nCache-Control: no-store${securityLines}`,
  body: 'The dashboard is not part of this build. The API is at /api/v1, and its reference at /docs.\n',
});

/** Returns the document with the status of a path that no page has. Its script shows the same as a page. */
const notFound = (document: Page): Page => ({
  ...document,
  status: 404,
  lines: `${document.lines ?? ''}${errorCodeLine('NOT_FOUND')}`,
});

/** Answers requests for the pages and files of the dashboard. */
export class Dashboard {
  readonly #files: StaticFiles;
  readonly #document: string | null;
  readonly #pages: Router<true>;
  readonly #notBuilt: Page;

  private constructor(
    files: StaticFiles,
    document: string | null,
    pages: readonly string[],
    securityLines: string,
  ) {
    this.#files = files;
    this.#document = document;
    this.#notBuilt = notBuilt(securityLines);
    this.#pages = createRouter(pages.map((pattern) => ({ method: 'GET', pattern, value: true })));
  }

  /** Returns a dashboard without pages. */
  static notBuilt(securityLines: string): Dashboard {
    return new Dashboard(StaticFiles.none, null, [], securityLines);
  }

  /**
   * Reads the files of a folder.
   *
   * @param folder - output of dashboard/build.mjs
   * @param securityLines - header lines of every response, each preceded by its line break
   */
  static read(folder: string, securityLines: string): Dashboard {
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as DashboardManifest;
    const { files, document, pages } = manifest;
    // The document names the files of one build: a cached one would ask for files that are gone.
    const options = { securityLines, cacheControl: 'no-cache' };
    return new Dashboard(StaticFiles.read(folder, files, options), document, pages, securityLines);
  }

  /**
   * Returns the response to a request that matches no operation; null if it is not for the dashboard.
   *
   * @param exchange - must still be readable
   */
  answer(exchange: Exchange): Awaitable<Page> | null {
    const { method, path } = exchange;
    if (method !== 'GET' && method !== 'HEAD') return null;
    const coding = exchange.header('accept-encoding');
    const send = (file: string): Awaitable<Page> | null =>
      this.#files.page(file, coding, exchange.header('if-none-match'));
    const isDocument = path === this.#document;
    const file = isDocument ? null : send(path);
    if (file !== null) return file;
    // The document has no path of its own: its address is that of a page.
    if (isDocument || RESERVED.has(path.slice(1).split('/', 1)[0] ?? '')) return null;
    const accepts = acceptsHtml(exchange.header('accept'));
    if (this.#document === null) {
      if (path === '/') return accepts === 'no' ? null : this.#notBuilt;
      // Links of emails lead to pages.
      return accepts === 'named' ? notFound(this.#notBuilt) : null;
    }
    if (this.#pages.match('GET', path, []) !== null) return accepts === 'no' ? null : send(this.#document);
    // People see a page that says so; programs, which do not name HTML, get the error as JSON.
    const document = accepts === 'named' ? this.#files.page(this.#document, coding, undefined) : null;
    return document && whenReady(document, notFound);
  }
}

/**
 * Opens the built dashboard. If the folder has none, a warning is logged, and `/` says so.
 *
 * @param folder - output of dashboard/build.mjs
 * @param isTlsOnly - tell browsers to reach the host by TLS only
 */
export function openDashboard(folder: string, isTlsOnly: boolean, log: Logger): Dashboard {
  const securityLines = isTlsOnly ? SECURITY_LINES + TLS_ONLY : SECURITY_LINES;
  if (existsSync(join(folder, 'manifest.json'))) return Dashboard.read(folder, securityLines);
  log.warn({ folder }, 'dashboard was not built');
  return Dashboard.notBuilt(securityLines);
}
