/** Reads endpoints from settings and from data/endpoints.json, and defines which of their parts may be shown. */

import { readFileSync } from 'node:fs';
import { AssayError } from '../../base/errors.ts';
import { shippedData } from '../../base/paths.ts';
import { isUrl } from '../../base/url.ts';
import { type ChainId, parseChainId } from '../registry.ts';
import { ENDPOINT_LIMITS } from './limits.ts';

/** `rpc`: a node of the chain. `history`: an explorer or indexer with the histories of addresses. */
export type EndpointRole = 'rpc' | 'history';

export interface EndpointSpec {
  /** The protocol of the endpoint (`json-rpc`, `blockscout`, `esplora` …); a URL sets it with the prefix `layout+`. */
  readonly layout: string;
  /** http, https, ws or wss; without credentials. May contain an API key: only `source` is ever shown. */
  readonly url: string;
  /** Authorization header of every request, from user:password in the URL; null if the URL has none. */
  readonly authorization: string | null;
  /** Layout and host, as responses and logs show them. */
  readonly source: string;
  /** True if the operator configured it: it may be on this machine or in a private network, and may use plain http. */
  readonly own: boolean;
  readonly requestsPerSecond: number;
}

const PROTOCOLS = new Set(['http:', 'https:', 'ws:', 'wss:']);

/**
 * Parses one endpoint: `[layout+]URL`, as in `blockscout+https://eth.blockscout.com` or `http://user:secret@127.0.0.1:8332`.
 *
 * @throws INVALID_CONFIG with the name of `field`; the text is not repeated because it may contain a secret
 */
export function parseEndpoint(
  text: string,
  options: { readonly field: string; readonly defaultLayout: string; readonly own: boolean },
): EndpointSpec {
  const [, prefix, rest = ''] = /^(?:([a-z][a-z0-9-]*)\+)?(.*)$/s.exec(text.trim()) ?? [];
  const invalid = (reason: string): AssayError =>
    new AssayError('INVALID_CONFIG', `${options.field}: ${reason}.`, { field: options.field });
  if (!isUrl(rest)) throw invalid('must be a URL, with an optional prefix "layout+"');
  const url = new URL(rest);
  if (!PROTOCOLS.has(url.protocol))
    throw invalid(`protocol must be one of http, https, ws, wss (got "${url.protocol.slice(0, 16)}")`);
  const authorization =
    url.username === '' && url.password === ''
      ? null
      : `Basic ${Buffer.from(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`).toString('base64')}`;
  url.username = '';
  url.password = '';
  url.hash = '';
  const layout = prefix ?? options.defaultLayout;
  return {
    layout,
    url: url.href,
    authorization,
    source: `${layout} ${url.host}`,
    own: options.own,
    requestsPerSecond: options.own
      ? ENDPOINT_LIMITS.endpointOwnPerSecond
      : ENDPOINT_LIMITS.endpointPublicPerSecond,
  };
}

/** A row of data/endpoints.json. */
interface EndpointRow {
  readonly chain: string;
  readonly role: EndpointRole;
  readonly layout: string;
  readonly url: string;
}

export type EndpointsByRole = Readonly<Record<EndpointRole, ReadonlyMap<ChainId, readonly EndpointSpec[]>>>;

/** Returns the built-in public endpoints, by role and chain, in file order. */
export function publicEndpoints(): EndpointsByRole {
  const { endpoints } = JSON.parse(readFileSync(shippedData('endpoints.json'), 'utf8')) as {
    endpoints: readonly EndpointRow[];
  };
  const found = { rpc: new Map<ChainId, EndpointSpec[]>(), history: new Map<ChainId, EndpointSpec[]>() };
  for (const { chain: id, role, layout, url } of endpoints) {
    const chain = parseChainId(id);
    const spec = parseEndpoint(url, { field: 'data/endpoints.json', defaultLayout: layout, own: false });
    found[role].set(chain, [...(found[role].get(chain) ?? []), spec]);
  }
  return found;
}

/** Returns the URL of a path below the endpoint, with the endpoint's own query (it may contain an API key) and with `query` added. */
export function endpointUrl(
  spec: EndpointSpec,
  path: string,
  query: Readonly<Record<string, string>> = {},
): string {
  const url = new URL(spec.url);
  if (path !== '') url.pathname = `${url.pathname.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}
