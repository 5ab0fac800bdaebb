/** Responses that begin a session. */
import type { NewSession } from '../../../accounts/people.ts';
import { type Call, NO_STORE, principalOf, sessionCookie } from '../../operation.ts';

/** The response says only that the request is done, so that it is the same whether or not the address has an account. */
export const DONE = { done: true } as const;

/** Sets the session cookie. The response has the session's account and expiry, but not its token. */
export function sessionResponse(call: Call, { token, account, expiresAt }: NewSession): object {
  call.lines += sessionCookie(token, principalOf(call).isSecure) + NO_STORE;
  return { account, expiresAt };
}
