/**
 * Admits a request: authenticates its session or API key, checks the permission, and calls the gate, which counts the request and
 * takes its quota and credits.
 */
import { clientUnit } from '../../accounts/attempts.ts';
import type { Admission, GateRequest } from '../../accounts/gate.ts';
import { type KeyRecord, PAY_PER_CALL_ACCOUNT, PERMISSIONS } from '../../accounts/keys.ts';
import type { Session } from '../../accounts/people.ts';
import { rateLimited, sessionSubject } from '../../accounts/rate-limit.ts';
import { includesRole } from '../../accounts/roles.ts';
import type { Awaitable } from '../../base/awaitable.ts';
import { AssayError } from '../../base/errors.ts';
import type { CallerAccess } from '../ports.ts';
import { acceptsSession, permissionsOf, type Route } from '../routes.ts';
import type { ClientOrigin } from '../server/client-origin.ts';
import type { Exchange } from '../server/port.ts';
import type { Call, Caller } from './call.ts';
import { QUOTA_HEADER, quotaHeaderLine } from './limit-lines.ts';
import { isUnserved } from './outage.ts';
import { createPrincipalAuthenticator, hasSessionCookie, type PrincipalAuthenticator } from './principal.ts';
import type { Responder } from './reply.ts';
import type { Endpoint } from './work.ts';

/** An operation of the table of routes. */
export interface RouteEndpoint extends Endpoint {
  readonly route: Route;
}

/** Stored response and credits that a charged request needs from the gate. */
export type ChargeNeeds = Pick<GateRequest, 'slot' | 'credits'>;

const BEARER = /^bearer +/i;
const FAST_BEARER = 'Bearer ';

/** Admission of an operation without a rate limit, quota or credits. */
const UNLIMITED: Admission = {
  rate: null,
  storedAnswer: null,
  quota: null,
  reservation: null,
  refused: null,
};
/** Header with the API key in requests of MCP clients. */
export const API_KEY_HEADER = 'x-api-key';
const NO_CHARGE: ChargeNeeds = { slot: null, credits: null };

/** Returns the API key of an Authorization header; empty if it has none. */
export function tokenOf(authorization: string): string {
  if (authorization.startsWith(FAST_BEARER) && authorization[FAST_BEARER.length] !== ' ')
    return authorization.slice(FAST_BEARER.length);
  return BEARER.test(authorization) ? authorization.replace(BEARER, '') : '';
}

/** Returns the error of a key without the permission, or of a person without the role. */
function lacksPermission(call: Call, route: Route): AssayError {
  const role = call.principal?.session?.person.role;
  return role === undefined
    ? new AssayError(
        'FORBIDDEN',
        `This API key lacks the permission '${permissionsOf(route).join("' or '")}'.`,
        { field: 'permission' },
      )
    : new AssayError(
        'FORBIDDEN',
        `role: this operation needs the role '${route.role}' (yours is '${role}').`,
        {
          field: 'role',
        },
      );
}

/** Returns the person of a session as a caller: a session has all permissions, and its role limits it. */
const personOf = ({ account, person }: Session): Caller => ({
  id: person.id,
  accountId: account.id,
  permissions: PERMISSIONS,
});

/** Whether a key has a permission that the operation accepts. */
function isPermitted(route: Route, { permissions }: KeyRecord): boolean {
  // Most operations accept one permission; this form allocates nothing for them.
  if (typeof route.permission === 'string' && route.permission !== 'any')
    return permissions.includes(route.permission);
  const accepted = permissionsOf(route);
  return accepted.length === 0 || accepted.some((one) => permissions.includes(one));
}

/**
 * Records the admission in the call.
 *
 * @throws the error that refuses the request: FORBIDDEN, RATE_LIMITED, QUOTA_EXHAUSTED, CREDITS_EXHAUSTED
 */
function authorize(call: Call, route: Route, units: number, admission: Admission): Admission {
  const { rate, quota, refused } = admission;
  call.isCounted = true;
  call.rate = rate;
  call.rateClass = route.rateClass;
  call.limits = rate;
  if (!call.isPermitted) throw lacksPermission(call, route);
  if (refused !== null) {
    if (quota !== null && route.responseHeaders.includes(QUOTA_HEADER))
      call.extraHead += quotaHeaderLine(quota);
    throw refused;
  }
  if (quota !== null && route.quota !== null) {
    call.quotaMeter = route.quota.meter;
    call.quotaTaken = units;
    call.quota = quota;
  }
  return admission;
}

export interface AdmitterDeps {
  readonly access: Pick<CallerAccess, 'verify' | 'gate' | 'people'>;
  readonly origin: ClientOrigin;
  readonly publicHost: string | null;
  readonly responder: Responder;
}

/** Authenticates, authorizes and counts the requests of the pipeline. */
export class Admitter {
  readonly #access: AdmitterDeps['access'];
  readonly #responder: Responder;
  readonly #origin: ClientOrigin;
  readonly #principals: PrincipalAuthenticator;
  readonly #publicHost: string | null;

  constructor({ access, origin, publicHost, responder }: AdmitterDeps) {
    this.#access = access;
    this.#responder = responder;
    this.#origin = origin;
    this.#publicHost = publicHost;
    this.#principals = createPrincipalAuthenticator({
      people: () => access.people(),
      origin,
      publicHost,
    });
  }

  /**
   * Authenticates the session or key that the operation requires, if any. A missing permission is recorded in the call: the request
   * is counted before it is refused.
   *
   * @param mayPay - a client without either is admitted, to pay for the request
   * @throws UNAUTHENTICATED, FORBIDDEN
   */
  authenticate(call: Call, route: Route, mayPay = false): void {
    const { exchange } = call;
    if (route.principal !== null) {
      this.#takePrincipal(call, route);
    } else if (route.permission !== null) {
      const authorization = exchange.header('authorization');
      if (authorization === '' && acceptsSession(route) && this.#hasSession(exchange))
        this.#takePrincipal(call, route);
      else if (authorization === '' && mayPay) this.#takePayer(call, route);
      else this.#takeKey(call, route, authorization);
    }
  }

  #hasSession(exchange: Exchange): boolean {
    return hasSessionCookie(exchange, this.#origin.isSecure(exchange));
  }

  /** Admits a client that pays for its request. It is limited by its address. */
  #takePayer(call: Call, route: Route): void {
    const { exchange } = call;
    const { method, path } = exchange;
    const client = clientUnit(this.#origin.address(exchange));
    const scheme = this.#origin.isSecure(exchange) ? 'https' : 'http';
    const host = this.#publicHost ?? exchange.header('host');
    call.payer = {
      ...{ client, method, path, url: `${scheme}://${host}${path}`, query: exchange.query() },
      payment: exchange.header('payment-signature'),
    };
    call.caller = { id: PAY_PER_CALL_ACCOUNT, accountId: PAY_PER_CALL_ACCOUNT, permissions: PERMISSIONS };
    if (route.rateClass !== null) call.subject = `address ${client}`;
  }

  #takeKey(call: Call, route: Route, authorization: string): void {
    const caller = this.#verifyKey(call, route, authorization);
    call.caller = caller;
    if (route.rateClass !== null) call.subject = caller.id;
    call.isPermitted = isPermitted(route, caller);
  }

  /** Authenticates a client that may have a session: records who it is, what it may do, what its limits count, and which balance pays. */
  #takePrincipal(call: Call, route: Route): void {
    const principal = this.#principals.authenticate(call.exchange, route, () => this.#verifyKey(call, route));
    const { key, session, actor } = principal;
    call.principal = principal;
    call.caller = key ?? (session === null ? null : personOf(session));
    if (session !== null) call.pool = 'dashboard';
    if (route.rateClass !== null)
      call.subject =
        key?.id ??
        (session === null
          ? `address ${clientUnit(actor.from)}`
          : sessionSubject(session.account.id, session.id));
    this.#principals.requireOwnOrigin(call.exchange, route, principal);
    if (key !== null) call.isPermitted = isPermitted(route, key);
    else if (session !== null && route.role !== null)
      call.isPermitted = includesRole(session.person.role, route.role);
  }

  /**
   * Like `authenticate`, before a body is read.
   *
   * @throws RATE_LIMITED if the limit is already exhausted; FORBIDDEN, after which the request is still counted
   */
  authenticateBeforeBody(call: Call, route: Route, mayPay = false): void {
    this.authenticate(call, route, mayPay);
    if (!call.isPermitted) throw lacksPermission(call, route);
    this.requireRate(call, route);
  }

  /**
   * Refuses a request whose limit is exhausted, without counting it.
   *
   * @throws RATE_LIMITED
   */
  requireRate(call: Call, route: Route): void {
    if (call.subject === null || route.rateClass === null) return;
    const rate = this.#access.gate.refuses(call.subject, route.rateClass, call.startedMs);
    if (rate === null) return;
    call.isCounted = true;
    call.limits = rate;
    throw rateLimited(rate);
  }

  /**
   * Resolves when the gate has admitted the request.
   *
   * @throws the error that refuses the request
   */
  async admitted(call: Call, route: Route, needs: ChargeNeeds = NO_CHARGE): Promise<Admission> {
    return authorize(call, route, 0, await this.#admit(call, route, 0, needs));
  }

  /**
   * Calls `run` after the gate has admitted the request. If the gate decides synchronously, `run` is called synchronously, and a
   * refusal is thrown.
   *
   * @param units - units of the route's quota that the request takes
   * @param isOpen - the handler has not returned yet, so the parts of the request that are needed later must be kept
   * @param input - passed to `run`, so that no closure is created for each request
   */
  whenAdmitted<T>(
    call: Call,
    endpoint: RouteEndpoint,
    units: number,
    isOpen: boolean,
    run: (call: Call, input: T) => void,
    input: T,
  ): void {
    const { route } = endpoint;
    const admission = this.#admit(call, route, units, NO_CHARGE);
    if (!(admission instanceof Promise)) {
      authorize(call, route, units, admission);
      run(call, input);
      return;
    }
    if (isOpen) {
      call.exchange.keep();
      call.accept = call.exchange.header('accept');
    }
    admission
      .then((decided) => {
        authorize(call, route, units, decided);
        run(call, input);
      })
      .catch((error: unknown) => this.#responder.fail(call, endpoint, error));
  }

  /**
   * Fails a request that has not reached the gate. It is counted like any other, and if the gate refuses it, that refusal is the
   * response. A request that could not be served is not counted.
   */
  failCounted(call: Call, endpoint: RouteEndpoint, error: unknown): void {
    const responder = this.#responder;
    if (call.isCounted || call.subject === null || isUnserved(error)) {
      responder.fail(call, endpoint, error);
      return;
    }
    const respond = (admission: Admission): void => {
      call.isCounted = true;
      call.limits = admission.rate;
      responder.fail(call, endpoint, call.isPermitted ? (admission.refused ?? error) : error);
    };
    try {
      const admission = this.#admit(call, endpoint.route, 0, NO_CHARGE);
      if (!(admission instanceof Promise)) respond(admission);
      else admission.then(respond).catch((second: unknown) => responder.fail(call, endpoint, second));
    } catch (second) {
      responder.fail(call, endpoint, second);
    }
  }

  /** Calls the gate for `units` of the route's quota. A request without permission is counted, but takes no quota. */
  #admit(call: Call, route: Route, units: number, needs: ChargeNeeds): Awaitable<Admission> {
    const { subject, caller, isPermitted } = call;
    const { rateClass, quota } = route;
    const accountId = isPermitted && caller !== null ? caller.accountId : null;
    const meter = accountId === null || quota === null || units === 0 ? null : quota.meter;
    if (subject === null && meter === null && needs.credits === null) return UNLIMITED;
    return this.#access.gate.admit(
      {
        rate: subject === null || rateClass === null ? null : { subject, rateClass },
        accountId,
        pool: call.pool,
        slot: needs.slot,
        quota: meter === null ? null : { meter, units },
        credits: accountId === null ? null : needs.credits,
      },
      call.startedMs,
      caller?.memo,
    );
  }

  /**
   * Verifies the API key.
   *
   * @throws UNAUTHENTICATED
   */
  #verifyKey(
    { exchange }: Call,
    { takesApiKeyHeader }: Route,
    authorization = exchange.header('authorization'),
  ): KeyRecord {
    // MCP clients that cannot set a bearer token set a header of their own choice.
    const isInOwnHeader = takesApiKeyHeader && authorization === '';
    const token = isInOwnHeader ? exchange.header(API_KEY_HEADER) : tokenOf(authorization);
    const caller = token === '' ? null : this.#access.verify(token);
    if (caller === null) {
      throw new AssayError(
        'UNAUTHENTICATED',
        authorization === '' && token === ''
          ? 'The Authorization header is missing. It must be: Bearer <API key>.'
          : 'The API key is invalid or was revoked.',
      );
    }
    return caller;
  }
}
