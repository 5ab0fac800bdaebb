/**
 * The declared facts of an operation, and what is derived from a list of them: patterns, permissions, and the table in the reference.
 */
import type { TSchema } from 'typebox';
import type { ChargeType } from '../accounts/credits.ts';
import type { Permission } from '../accounts/keys.ts';
import type { QuotaMeterName, RateClass } from '../accounts/plans.ts';
import type { Role } from '../accounts/roles.ts';
import { HTTP_LIMITS } from './limits.ts';

/** Path prefix of the API version. */
export const API_BASE = '/api/v1';

/** Groups of operations in the OpenAPI document, with their descriptions. */
export const TAGS = {
  Labels: 'Entities, raw labels, sanctions checks and verdicts of single addresses.',
  Screening: 'Risk of addresses and transfers, and traces of funds.',
  Receipts: 'Signed receipts of answers, and the keys that verify them.',
  Names: 'Screening of names against sanctions lists, politically exposed persons and adverse media.',
  Monitoring: 'Watched wallets, their alerts, and the delivery of messages.',
  Cases: 'Investigations: their history, links, files and decisions.',
  Jobs: 'Bulk jobs over files of addresses.',
  Account: 'Registration, sessions, API keys, usage and payments.',
  Billing: 'Packages of credits, checkouts, invoices and receipts.',
  People: 'People of an account: invitations, roles and their sessions.',
  Service: 'Probes, metrics and documentation of the service.',
} as const satisfies Readonly<Record<string, string>>;

export type Tag = keyof typeof TAGS;

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: TSchema;
  readonly description: string;
}

/**
 * Authentication with the actor that the operation needs, or that is not a key or session with a permission: a session, a session or an API key,
 * none, or a signed body. A permission beside `session or key` is required of the key.
 */
export type PrincipalKind = 'session' | 'session or key' | 'anyone' | 'signature';

/** A response that does not follow from the other columns. */
export interface StatusRow {
  readonly description: string;
  /** Null if the response has no body. */
  readonly schema: TSchema | null;
  /** Schema of the same response as problem details, if it has more than an error. */
  readonly problem?: TSchema;
}

/**
 * Whether a client may send a request again if its outcome is unknown.
 *
 * - `safe`: a second execution ends in the same state.
 * - `keyed`: the server executes requests with the same Idempotency-Key once.
 * - `unversioned`: `safe` if the body has no `version`. With one, the second execution is rejected although the first was made.
 * - `unsafe`: a second execution takes effect again.
 */
export type Retry = 'safe' | 'keyed' | 'unversioned' | 'unsafe';

/** An example of an operation. */
export interface OperationExample {
  readonly summary: string;
  readonly body?: object;
  /** `data` of the response. */
  readonly data?: object;
}

export interface Route {
  /** Id in the OpenAPI document and anchor in /docs. */
  readonly id: string;
  /**
   * `resource.method` in the SDKs; the Python SDK has the same name in snake case. Null if they leave the operation out: pages for browsers,
   * MCP, the files of the transparency log, and operations that other services call.
   */
  readonly sdk: `${string}.${string}` | null;
  /**
   * What the SDKs do if the outcome of a request is unknown. Default: `keyed` if the operation honours Idempotency-Key, else `unsafe` for POST
   * and `safe` for other methods.
   */
  readonly retry: Retry;
  readonly tag: Tag;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the mount point; `{name}` matches a whole segment. */
  readonly path: string;
  /**
   * Mount point: under the version prefix (`api`), at the root (`root`), or both (probes: the specification and orchestrators
   * expect different paths).
   */
  readonly mount: 'api' | 'root' | 'both';
  /** Nodes that serve the operation: all, or only those with the role `api`. */
  readonly nodes: 'all' | 'api';
  /**
   * Permission that the key needs; if several are listed, one is enough. `any`: any valid key is enough. Null: no key is needed,
   * and then no other requirement applies. A session is accepted in place of the key, and has all permissions.
   */
  readonly permission: Permission | readonly Permission[] | 'any' | null;
  /** Authentication instead of a key with a permission; null if only a key is required. */
  readonly principal: PrincipalKind | null;
  /** Role that a session needs at least; null if the operation accepts no session. */
  readonly role: Role | null;
  readonly rateClass: RateClass | null;
  /** Units of the monthly quota: one per request, or one per address of the body. */
  readonly quota: { readonly meter: QuotaMeterName; readonly per: 'request' | 'address' } | null;
  /** Credits of a successful request; if they depend on the body, the minimum. Such an operation honours Idempotency-Key. */
  readonly credits: number;
  /** Type of the charge in the ledger. */
  readonly chargeType: ChargeType;
  readonly parameters: readonly Parameter[];
  readonly body: TSchema | null;
  /** Media types of a body that is not JSON and may exceed the usual size limit. */
  readonly upload: readonly string[] | null;
  /** Text for the table of operations if `quota` and `credits` cannot express the charge, because it depends on the body. */
  readonly charges: { readonly quota: string; readonly credits: string } | null;
  /** Schema of a whole 200 response, or the media type of a response that is not JSON. */
  readonly response: TSchema | string;
  /** Further media types of a response that is not JSON, between which a parameter chooses. */
  readonly otherTypes: readonly string[];
  /** Responses other than 200 and the errors that follow from the other columns. */
  readonly statuses: Readonly<Record<number, StatusRow>>;
  /** Headers of a successful response beside those that follow from the other columns. */
  readonly responseHeaders: readonly string[];
  readonly examples: readonly OperationExample[];
  /**
   * Whether the OpenAPI document, /docs and the SDKs have the operation: all except pages for browsers, the files of those pages, and MCP,
   * which describes its tools itself.
   */
  readonly isListed: boolean;
  /** Whether the key may also be in the header X-API-Key, as MCP clients send it. */
  readonly takesApiKeyHeader: boolean;
  readonly summary: string;
  readonly description: string;
}

/** Returns the absolute patterns of a route. */
export function patternsOf(route: Pick<Route, 'mount' | 'path'>): readonly string[] {
  const places = { api: [API_BASE], root: [''], both: ['', API_BASE] } as const;
  return places[route.mount].map((base) => `${base}${route.path}`);
}

/** Returns the path that documents show: at the root if the operation is mounted there. */
export const shownPath = ({ mount, path }: Pick<Route, 'mount' | 'path'>): string =>
  mount === 'api' ? `${API_BASE}${path}` : path;

/** Returns the maximum length of a body that is read whole. */
export const bodyBytesMaxOf = ({ principal }: Pick<Route, 'principal'>): number =>
  principal === 'anyone' ? HTTP_LIMITS.openBodyBytesMax : HTTP_LIMITS.bodyBytesMax;

/** Returns the permissions of which an operation requires one; empty if it requires none. */
export const permissionsOf = ({ permission }: Pick<Route, 'permission'>): readonly Permission[] => {
  if (permission === null || permission === 'any') return [];
  return typeof permission === 'string' ? [permission] : permission;
};

type Admission = Pick<Route, 'permission' | 'principal' | 'takesApiKeyHeader'>;

/** Whether a session may take the place of the key, or is the only authentication. MCP clients have no session. */
export function acceptsSession({ permission, principal, takesApiKeyHeader }: Admission): boolean {
  if (principal !== null) return principal === 'session' || principal === 'session or key';
  return permission !== null && !takesApiKeyHeader;
}

/** Whether a key is accepted. */
export const acceptsKey = ({ permission, principal }: Admission): boolean =>
  principal === 'session or key' || (principal === null && permission !== null);

/** Whether a request may leave the body out: a DELETE with optional fields only. Other methods always have a body if they declare one. */
export function hasOptionalBody({ method, body }: Pick<Route, 'method' | 'body'>): boolean {
  if (method !== 'DELETE' || body === null) return false;
  const { required = [] }: { readonly required?: readonly string[] } = body;
  return required.length === 0;
}

/**
 * Returns the role that a session needs at least, unless the operation declares another one: an auditor only reads.
 *
 * @returns null if the operation accepts no session
 */
export function standardRole(route: Admission & Pick<Route, 'method'>): Role | null {
  if (!acceptsSession(route)) return null;
  return route.method === 'GET' ? 'auditor' : 'analyst';
}

/** Whether successful requests can cost credits or several units of a quota. */
export const isCharged = ({ credits, charges }: Pick<Route, 'credits' | 'charges'>): boolean =>
  credits > 0 || charges !== null;

/** Returns whether a request may be sent again, unless the operation declares it. */
export function standardRetry(
  route: Pick<Route, 'method' | 'credits' | 'charges' | 'parameters'>,
): Exclude<Retry, 'unversioned'> {
  if (isCharged(route) || route.parameters.some(({ name }) => name === 'Idempotency-Key')) return 'keyed';
  return route.method === 'POST' ? 'unsafe' : 'safe';
}

/** Whether a client without a key may pay for a single request, if the operator accepts that: it is charged, and belongs to no account. */
export const isPayable = ({
  credits,
  body,
  permission,
  principal,
}: Pick<Route, 'credits' | 'body' | 'permission' | 'principal'>): boolean =>
  credits > 0 && body !== null && permission !== null && principal === null;

/** Describes the required authentication in a few words. */
export function admissionOf(route: Route): string {
  const { permission, principal, role } = route;
  const session = role === 'owner' ? 'session of an owner' : 'session';
  if (principal === 'anyone') return 'no key';
  if (principal === 'signature') return principal;
  if (!acceptsKey(route)) return acceptsSession(route) ? session : 'no key';
  const key = permission === null || permission === 'any' ? 'any key' : permissionsOf(route).join(' or ');
  return acceptsSession(route) ? `${key}, or ${session}` : key;
}

/** Returns the table of operations in the reference, in Markdown. */
export function routesMarkdown(routes: readonly Route[]): string {
  const rows = routes.map((route) => {
    const cells = [
      `\`${route.method} ${shownPath(route)}\``,
      route.summary,
      admissionOf(route),
      route.rateClass ?? 'none',
      route.charges?.quota ??
        (route.quota
          ? `${route.quota.meter}, one ${route.quota.per === 'address' ? 'an address' : 'a request'}`
          : 'none'),
      route.charges?.credits ?? String(route.credits),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head = '| Operation | What it answers | Permission | Rate limit | Quota | Credits |';
  return [head, '|---|---|---|---|---|---|', ...rows].join('\n');
}
