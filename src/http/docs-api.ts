/**
 * `/docs/api`: the OpenAPI document in a viewer that sends requests. The viewer is a third-party script that ships compressed
 * (data/vendor/scalar-api-reference), and is read from its file for each response, so that it takes no memory.
 */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { shippedData } from '../base/paths.ts';
import { SAMPLE_HOST } from './code-samples.ts';
import type { Coding } from './pipeline/negotiation.ts';
import type { Page } from './pipeline/work.ts';
import { openFileParts } from './server/file-parts.ts';
import type { ByteSource } from './server/port.ts';

/** A file of the page in one coding. */
interface Variant {
  /** Null for the plain bytes. */
  readonly coding: Coding | null;
  /** Strong, so each coding has its own (RFC 9110, section 8.8.3.3). */
  readonly etag: string;
  readonly open: () => Promise<ByteSource>;
}

/** A file of the page. */
export interface Asset {
  readonly contentType: string;
  /**
   * Returns the file in a coding.
   *
   * @param coding - the coding that the client prefers; null if it accepts none
   */
  variant(coding: Coding | null): Variant;
}

/** The page and its files, by their names. */
export interface Viewer {
  readonly page: Page;
  readonly assets: ReadonlyMap<string, Asset>;
}

/** Facts of the vendored script. */
interface Vendored {
  readonly version: string;
  readonly bytes: number;
  readonly sha256: string;
}

const SCRIPT_TYPE = 'text/javascript; charset=utf-8';
/** Hexadecimal digits of a hash in the name of a file: 48 bits distinguish versions. */
const HASH_DIGITS = 12;

/** Options of the viewer: no request to another host, and the key of the reader stays in memory. */
const OPTIONS = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  proxyUrl: '',
  persistAuth: false,
  authentication: { preferredSecurityScheme: 'apiKey' },
  // The samples of the document are in the languages of the SDKs; those of the viewer would be in forty others.
  hiddenClients: true,
  hideModels: true,
  documentDownloadType: 'json',
} as const;

/**
 * Scripts come from this host only, and none is inline or made from text. Styles must be inline: without that, Chromium 150 blocked six
 * <style> elements and five style attributes of the viewer (docs/decisions/api-reference.md). Requests go to this host only.
 */
const VIEWER_HEADERS = [
  "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options: nosniff',
  'Referrer-Policy: no-referrer',
  // The names of the scripts change with the version, so the page itself is not kept.
  'Cache-Control: no-cache',
]
  .map((line) => `\r\n${line}`)
  .join('');

/**
 * Starts the viewer. The document is requested while the viewer still loads. Zod compiles its checks with Function() unless
 * `jitless` is set, which the Content-Security-Policy forbids.
 */
const START_SCRIPT = `globalThis.__zod_globalConfig = { jitless: true };
const loading = fetch('/openapi.json').then((response) => {
  if (!response.ok) throw new Error('status ' + response.status);
  return response.text();
});
addEventListener('DOMContentLoaded', async () => {
  const place = document.getElementById('reference');
  try {
    const content = (await loading).replaceAll(${JSON.stringify(SAMPLE_HOST)}, location.origin);
    place.textContent = '';
    Scalar.createApiReference(place, { ...${JSON.stringify(OPTIONS)}, content });
  } catch (error) {
    place.textContent = '/openapi.json could not be loaded (' + error.message + '). Reload the page.';
  }
});
`;

/** Returns the plain bytes of a gzip file as they are read. */
function gunzipped(path: string, length: number): ByteSource {
  const file = createReadStream(path);
  const plain = file.on('error', (error) => plain.destroy(error)).pipe(createGunzip());
  const pieces = plain[Symbol.asyncIterator]();
  return {
    length,
    async next() {
      const { value, done } = await pieces.next();
      if (done === true) throw new Error(`${path} ends before its ${length} bytes.`);
      return value as Uint8Array;
    },
    async close() {
      file.destroy();
      plain.destroy();
    },
  };
}

/** Returns bytes that are in memory. */
const inMemory = (bytes: Uint8Array): ByteSource => ({
  length: bytes.length,
  next: async () => bytes,
  close: async () => {},
});

const hashOf = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The vendored script: two files in its folder, and their plain bytes for clients that accept no coding. */
function vendoredAsset(folder: string, { bytes, sha256 }: Vendored): Asset {
  const fileIn = (coding: Coding, path: string): Variant => {
    const end = statSync(path).size;
    return { coding, etag: `"${sha256}-${coding}"`, open: () => openFileParts([{ path, start: 0, end }]) };
  };
  const gzipPath = `${folder}/standalone.js.gz`;
  const variants = { br: fileIn('br', `${folder}/standalone.js.br`), gzip: fileIn('gzip', gzipPath) };
  const plain: Variant = {
    coding: null,
    etag: `"${sha256}"`,
    open: async () => gunzipped(gzipPath, bytes),
  };
  return {
    contentType: SCRIPT_TYPE,
    variant: (coding) => (coding === null ? plain : variants[coding]),
  };
}

/** A script of one packet, which is not worth compressing. */
function smallAsset(text: string): Asset {
  const bytes = Buffer.from(text);
  const variant: Variant = { coding: null, etag: `"${hashOf(bytes)}"`, open: async () => inMemory(bytes) };
  return { contentType: SCRIPT_TYPE, variant: () => variant };
}

/**
 * Reads the facts of the vendored script, and returns the page with its files.
 *
 * @param version - of the program
 * @throws if the vendored files are missing
 */
export function createViewer(version: string): Viewer {
  const folder = shippedData('vendor', 'scalar-api-reference');
  const vendored = JSON.parse(readFileSync(`${folder}/vendor.json`, 'utf8')) as Vendored;
  const viewerName = `scalar-${vendored.version}-${vendored.sha256.slice(0, HASH_DIGITS)}.js`;
  const startName = `start-${hashOf(START_SCRIPT).slice(0, HASH_DIGITS)}.js`;
  const body = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Assay ${version}: API</title>
<link rel="icon" href="data:,">
<script defer src="/docs/assets/${startName}"></script>
<script defer src="/docs/assets/${viewerName}"></script></head>
<body><div id="reference">Loading…</div>
<noscript>This page needs scripts. <a href="/docs">/docs</a> has the same operations without them.</noscript></body>
</html>
`;
  return {
    page: { status: 200, contentType: 'text/html; charset=utf-8', lines: VIEWER_HEADERS, body },
    assets: new Map([
      [viewerName, vendoredAsset(folder, vendored)],
      [startName, smallAsset(START_SCRIPT)],
    ]),
  };
}
