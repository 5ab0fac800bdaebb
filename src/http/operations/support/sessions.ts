/** Responses that begin a session. */
import type { NewSession } from '../../../accounts/people.ts';
import type { SessionClient } from '../../../accounts/people-records.ts';
import { type Call, NO_STORE, type Principal, principalOf, sessionCookie } from '../../operation.ts';

/** The response says only that the request is done, so that it is the same whether or not the address has an account. */
export const DONE = { done: true } as const;

/** Returns the client that begins a session, for the list of sessions. */
export const clientOfSession = ({ actor, userAgent }: Principal): SessionClient => ({
  from: actor.from,
  userAgent,
});

/** Sets the session cookie. The response has the session, but not its token. */
export function sessionResponse(call: Call, { token, ...session }: NewSession): object {
  call.lines += sessionCookie(token, principalOf(call).isSecure) + NO_STORE;
  return session;
}
