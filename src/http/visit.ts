/**
 * Who comes to the operations that people use: anyone, the owner of a session, or an API key in the place of one. A session is a
 * cookie, so a browser sends it along whoever made it ask; a change is taken only from a page of this very host.
 */
import type { Actor } from '../accounts/audit.ts';
import type { KeyRecord } from '../accounts/keys.ts';
import type { People, Session } from '../accounts/people.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { ClientOrigin } from './proxies.ts';
import { decodeParameter } from './query.ts';
import type { Visitor } from './routes.ts';
import type { Exchange } from './server.ts';

/** What is known of the client of such an operation, taken while its headers can be read. */
export interface Visit {
  /** For the audit log. */
  readonly actor: Actor;
  /** Account that asks; null for anyone. */
  readonly accountId: string | null;
  readonly session: Session | null;
  /** Text of the session; empty where there is none. */
  readonly token: string;
  readonly key: KeyRecord | null;
  /** Whether the client came by TLS. */
  readonly isSecure: boolean;
  /** What the pattern's `{…}` matched, decoded. */
  readonly params: readonly string[];
  /** The Stripe-Signature header. */
  readonly signature: string;
}

export interface VisitDeps {
  readonly people: () => People;
  readonly origin: ClientOrigin;
  /** Host (with port) that this service is known by, beside the one it is asked at. */
  readonly publicHost: string | null;
}

const COOKIE = 'assay_session';

/** The header line that gives a client its session, or takes it away where `token` is empty. */
export function sessionCookie(token: string, isSecure: boolean): string {
  const life = token === '' ? 0 : LIMITS.sessionMs / 1000;
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
  new AssayError('UNAUTHENTICATED', 'This operation needs a session; log in with POST /auth/login.');

/** Admits a client. Throws UNAUTHENTICATED, FORBIDDEN (a change asked for by a page of another host). */
export type AdmitVisitor = (exchange: Exchange, visitor: Visitor, verifyKey: () => KeyRecord) => Visit;

export function createVisits(deps: VisitDeps): AdmitVisitor {
  /** Whether the Origin header names this host. Which one that is, a page of another host cannot choose. */
  function isOwnOrigin(exchange: Exchange, origin: string): boolean {
    if (!URL.canParse(origin)) return false;
    const { host, protocol } = new URL(origin);
    if (deps.origin.isSecure(exchange) && protocol !== 'https:') return false;
    return host === exchange.header('host').toLowerCase() || host === deps.publicHost?.toLowerCase();
  }

  function checkOrigin(exchange: Exchange, isRequired: boolean): void {
    if (exchange.method === 'GET') return;
    const origin = exchange.header('origin');
    if (origin === '' ? !isRequired : isOwnOrigin(exchange, origin)) return;
    throw new AssayError(
      'FORBIDDEN',
      'The Origin header must name this service: changes with a session are taken from its own pages only.',
      { field: 'Origin' },
    );
  }

  return (exchange, visitor, verifyKey) => {
    const from = deps.origin.address(exchange);
    const known = {
      isSecure: deps.origin.isSecure(exchange),
      params: exchange.params.map((param) => decodeParameter(param, 'id')),
      signature: exchange.header('stripe-signature'),
    };
    const byKey = visitor === 'session or key' && exchange.header('authorization') !== '';
    if (byKey) {
      const key = verifyKey();
      return {
        ...known,
        actor: { who: key.id, from },
        accountId: key.accountId,
        session: null,
        token: '',
        key,
      };
    }
    const isOpen = visitor === 'anyone' || visitor === 'signature';
    const token = isOpen ? '' : cookieOf(exchange);
    const session = token === '' ? null : deps.people().session(token);
    if (!isOpen && session === null) throw noSession();
    checkOrigin(exchange, !isOpen);
    const accountId = session?.account.id ?? null;
    return { ...known, actor: { who: accountId ?? 'anyone', from }, accountId, session, token, key: null };
  };
}
