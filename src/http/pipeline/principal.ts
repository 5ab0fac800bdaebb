/**
 * Authentication of the account operations: some are open to anyone, some need a session, some a session or an API key. A browser
 * attaches the session cookie to the requests of any page, so a change with a session is accepted only from a page of this host.
 */
import type { Actor } from '../../accounts/audit.ts';
import type { KeyRecord } from '../../accounts/keys.ts';
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import type { People, Session } from '../../accounts/people.ts';
import { AssayError } from '../../base/errors.ts';
import type { PrincipalKind } from '../routes.ts';
import type { ClientOrigin } from '../server/client-origin.ts';
import type { Exchange } from '../server/port.ts';

/** The client of such an operation. It is created while the request headers can be read. */
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
}

export interface PrincipalDeps {
  readonly people: () => People;
  readonly origin: ClientOrigin;
  /** Public host (with port) of this service, accepted in Origin in addition to the request's Host. */
  readonly publicHost: string | null;
}

const COOKIE = 'assay_session';

/** Returns the header line that sets the session cookie or, if `token` is empty, deletes it. */
export function sessionCookie(token: string, isSecure: boolean): string {
  const life = token === '' ? 0 : ACCOUNT_LIMITS.sessionMs / 1000;
  const secure = isSecure ? '; Secure' : '';
  return `\r\nSet-Cookie: ${COOKIE}=${token}; Path=/; Max-Age=${life}; HttpOnly; SameSite=Strict${secure}`;
}

function cookieOf(exchange: Exchange): string {
  for (const pair of exchange.header('cookie').split(';')) {
    const [name, value = ''] = pair.trim().split('=', 2);
    if (name === COOKIE) return value;
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
  authenticate(exchange: Exchange, required: PrincipalKind, verifyKey: () => KeyRecord): Principal;
  /**
   * Checks that a change does not come from a page of another host. It is a step of its own, because a refused request counts against
   * the rate limit of its client.
   *
   * @throws FORBIDDEN
   */
  requireOwnOrigin(exchange: Exchange, required: PrincipalKind, principal: Principal): void;
}

/** Kinds of clients without a session or a key. */
const isOpen = (required: PrincipalKind): boolean => required === 'anyone' || required === 'signature';

/** Creates the authentication of the account operations. */
export function createPrincipalAuthenticator(deps: PrincipalDeps): PrincipalAuthenticator {
  /** Whether the Origin header names this host. A page of another host cannot choose the Host header. */
  function isOwnOrigin(exchange: Exchange, origin: string): boolean {
    if (!URL.canParse(origin)) return false;
    const { host, protocol } = new URL(origin);
    if (deps.origin.isSecure(exchange) && protocol !== 'https:') return false;
    return host === exchange.header('host').toLowerCase() || host === deps.publicHost?.toLowerCase();
  }

  return {
    authenticate(exchange, required, verifyKey) {
      const from = deps.origin.address(exchange);
      const isSecure = deps.origin.isSecure(exchange);
      if (required === 'session or key' && exchange.header('authorization') !== '') {
        const key = verifyKey();
        const { accountId } = key;
        return { isSecure, actor: { who: key.id, from }, accountId, session: null, token: '', key };
      }
      const token = isOpen(required) ? '' : cookieOf(exchange);
      const session = token === '' ? null : deps.people().session(token);
      if (!isOpen(required) && session === null) throw noSession();
      const accountId = session?.account.id ?? null;
      return { isSecure, actor: { who: accountId ?? 'anyone', from }, accountId, session, token, key: null };
    },
    requireOwnOrigin(exchange, required, { key }) {
      // A page of another host cannot send a key that it does not know.
      if (exchange.method === 'GET' || exchange.method === 'HEAD' || key !== null) return;
      const origin = exchange.header('origin');
      if (origin === '' ? isOpen(required) : isOwnOrigin(exchange, origin)) return;
      throw new AssayError(
        'FORBIDDEN',
        'Origin: must be this service, because only its own pages may change data with a session.',
        { field: 'Origin' },
      );
    },
  };
}
