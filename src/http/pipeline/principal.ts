/**
 * Authentication by session: most operations accept a session in place of an API key, some need one, and some are open to anyone. A browser
 * attaches the session cookie to the requests of any page, so a change with a session is accepted only from a page of this host.
 */

import type { Actor } from '../../accounts/audit.ts';
import type { KeyRecord } from '../../accounts/keys.ts';
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import type { People, Session } from '../../accounts/people.ts';
import { AssayError } from '../../base/errors.ts';
import { isUrl } from '../../base/url.ts';
import { acceptsKey, acceptsSession, type Route } from '../routes.ts';
import type { ClientOrigin } from '../server/client-origin.ts';
import type { Exchange } from '../server/port.ts';

/** The client of a request. It is created while the request headers can be read. */
export interface Principal {
  /** Actor in the audit log. */
  readonly actor: Actor;
  /** Account of the session or key; null if the operation needs neither. */
  readonly accountId: string | null;
  readonly session: Session | null;
  /** Session token; empty without a session. */
  readonly token: string;
  readonly key: KeyRecord | null;
  /** Whether the client connected by TLS. */
  readonly isSecure: boolean;
  /** The User-Agent header; empty if missing. */
  readonly userAgent: string;
}

export interface PrincipalDeps {
  readonly people: () => People;
  readonly origin: ClientOrigin;
  /** Public host (with port) of this service, accepted in Origin in addition to the request's Host. */
  readonly publicHost: string | null;
}

/** Name of the session cookie over plain HTTP: browsers accept the prefix below only from TLS. */
const PLAIN_COOKIE = 'assay_session';
/** Name over TLS. Browsers accept the prefix only from this host itself, so another host of the same site cannot set the cookie. */
const SECURE_COOKIE = '__Host-assay_session';

const cookieName = (isSecure: boolean): string => (isSecure ? SECURE_COOKIE : PLAIN_COOKIE);

/** Whether a request has a session cookie, valid or not. */
export const hasSessionCookie = (exchange: Exchange, isSecure: boolean): boolean =>
  cookieOf(exchange, isSecure) !== '';

/** Returns the header line that sets the session cookie or, if `token` is empty, deletes it. */
export function sessionCookie(token: string, isSecure: boolean): string {
  const life = token === '' ? 0 : ACCOUNT_LIMITS.sessionMs / 1000;
  const secure = isSecure ? '; Secure' : '';
  return `\r\nSet-Cookie: ${cookieName(isSecure)}=${token}; Path=/; Max-Age=${life}; HttpOnly; SameSite=Strict${secure}`;
}

function cookieOf(exchange: Exchange, isSecure: boolean): string {
  const wanted = cookieName(isSecure);
  for (const pair of exchange.header('cookie').split(';')) {
    const [name, value = ''] = pair.trim().split('=', 2);
    if (name === wanted) return value;
  }
  return '';
}

const noSession = (): AssayError =>
  new AssayError('UNAUTHENTICATED', 'A session is required; log in with POST /auth/login.');

export interface PrincipalAuthenticator {
  /**
   * Authenticates the client of an operation.
   *
   * @throws UNAUTHENTICATED
   */
  authenticate(exchange: Exchange, route: Route, verifyKey: () => KeyRecord): Principal;
  /**
   * Checks that a request with a session, or a change, does not come from a page of another host. It is a step of its own, because a refused request counts against
   * the rate limit of its client.
   *
   * @throws FORBIDDEN
   */
  requireOwnOrigin(exchange: Exchange, route: Route, principal: Principal): void;
}

/** Whether a browser says that a page of another host sent the request. Reads of the own pages have no Origin. */
const isOtherSite = (exchange: Exchange): boolean =>
  ['cross-site', 'same-site'].includes(exchange.header('sec-fetch-site'));

/** Whether an operation is for clients without a session or a key. */
const isOpen = (route: Route): boolean => !acceptsSession(route) && !acceptsKey(route);

/** Creates the authentication of the account operations. */
export function createPrincipalAuthenticator(deps: PrincipalDeps): PrincipalAuthenticator {
  /** Whether the Origin header names this host. A page of another host cannot choose the Host header. */
  function isOwnOrigin(exchange: Exchange, origin: string): boolean {
    if (!isUrl(origin)) return false;
    const { host, protocol } = new URL(origin);
    if (deps.origin.isSecure(exchange) && protocol !== 'https:') return false;
    return host === exchange.header('host').toLowerCase() || host === deps.publicHost?.toLowerCase();
  }

  return {
    authenticate(exchange, route, verifyKey) {
      const from = deps.origin.address(exchange);
      const isSecure = deps.origin.isSecure(exchange);
      const userAgent = exchange.header('user-agent');
      if (acceptsKey(route) && exchange.header('authorization') !== '') {
        const key = verifyKey();
        const { accountId } = key;
        return {
          isSecure,
          userAgent,
          actor: { who: key.id, from },
          accountId,
          session: null,
          token: '',
          key,
        };
      }
      const token = isOpen(route) ? '' : cookieOf(exchange, isSecure);
      const session = token === '' ? null : deps.people().session(token);
      if (!isOpen(route) && session === null) throw noSession();
      const accountId = session?.account.id ?? null;
      const who = session?.person.id ?? 'anyone';
      return { isSecure, userAgent, actor: { who, from }, accountId, session, token, key: null };
    },
    requireOwnOrigin(exchange, route, { key, session }) {
      // A page of another host cannot send a key that it does not know.
      if (key !== null) return;
      const origin = exchange.header('origin');
      if (exchange.method === 'GET' || exchange.method === 'HEAD') {
        // Other hosts of the same site send the cookie too, and a WebSocket may be opened from any of them.
        if (session === null) return;
        if (origin === '' ? !isOtherSite(exchange) : isOwnOrigin(exchange, origin)) return;
      } else if (origin === '' ? isOpen(route) : isOwnOrigin(exchange, origin)) return;
      throw new AssayError(
        'FORBIDDEN',
        'Origin: must be this service, because only its own pages may use a session.',
        { field: 'Origin' },
      );
    },
  };
}
