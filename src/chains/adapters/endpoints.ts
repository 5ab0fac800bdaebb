/** Endpoints as data: how a setting or a row of data/endpoints.json names one, and what of it may be shown. */
import { readFileSync } from 'node:fs';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { shippedData } from '../../base/paths.ts';
import { type ChainId, parseChainId } from '../registry.ts';

/** `rpc`: a node of the chain. `history`: an explorer or indexer that knows what an address did. */
export type EndpointRole = 'rpc' | 'history';

export interface EndpointSpec {
  /** The protocol spoken there (`json-rpc`, `blockscout`, `esplora` …); what a URL's prefix `layout+` names. */
  readonly layout: string;
  /** http, https, ws or wss; without credentials. May hold an API key: only `source` is shown to anyone. */
  readonly url: string;
  /** Sent with every request, from user:password of the URL; null where it had none. */
  readonly authorization: string | null;
  /** As answers and logs name it: layout and host. */
  readonly source: string;
  /** Named by the operator: may be on this machine or a private network, and may speak plain http. */
  readonly own: boolean;
  readonly requestsPerSecond: number;
}

const PROTOCOLS = new Set(['http:', 'https:', 'ws:', 'wss:']);

/**
 * Reads one endpoint: `[layout+]URL`, as in `blockscout+https://eth.blockscout.com` or `http://user:secret@127.0.0.1:8332`.
 * Throws INVALID_CONFIG naming `field`; the text is not repeated, since it may hold a secret.
 */
export function parseEndpoint(
  text: string,
  options: { readonly field: string; readonly defaultLayout: string; readonly own: boolean },
): EndpointSpec {
  const [, prefix, rest = ''] = /^(?:([a-z][a-z0-9-]*)\+)?(.*)$/s.exec(text.trim()) ?? [];
  const invalid = (reason: string): AssayError =>
    new AssayError('INVALID_CONFIG', `${options.field} ${reason}.`, { field: options.field });
  if (!URL.canParse(rest)) throw invalid('holds something that is no URL');
  const url = new URL(rest);
  if (!PROTOCOLS.has(url.protocol)) throw invalid('holds a URL that is none of http, https, ws and wss');
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
    requestsPerSecond: options.own ? LIMITS.endpointOwnPerSecond : LIMITS.endpointPublicPerSecond,
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

/** The public endpoints that ship, by role and chain, in the order of the file. */
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

/** A path below an endpoint's URL, its query kept (API keys stand there) and `query` added. */
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
