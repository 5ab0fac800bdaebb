/** Account operations: registration, sessions, passwords. */
import type { NewSession } from '../../accounts/people.ts';
import { AssayError } from '../../base/errors.ts';
import type { Call } from '../pipeline/call.ts';
import { type Principal, sessionCookie } from '../pipeline/principal.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

type Deps = Pick<HttpDeps, 'access'>;

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const DONE = bytesOf({ done: true });
const PRIVATE = '\r\nCache-Control: no-store';

/**
 * Returns the authenticated client of an account operation.
 *
 * @throws INTERNAL if the call has none
 */
export function visitOf(call: Call): Principal {
  if (call.principal === null)
    throw new AssayError('INTERNAL', 'An operation of people was reached without a visit.');
  return call.principal;
}

/**
 * Returns the account of an authenticated client.
 *
 * @throws INTERNAL if it has none
 */
export function accountOf(visit: Principal): string {
  if (visit.accountId === null)
    throw new AssayError('INTERNAL', 'An operation of an account was reached without one.');
  return visit.accountId;
}

/** Sets the session cookie. The response has the session's account and expiry, but not its token. */
function answerBegun(call: Call, { token, account, expiresAt }: NewSession): Uint8Array {
  call.lines += sessionCookie(token, visitOf(call).isSecure) + PRIVATE;
  return bytesOf({ account, expiresAt });
}

/** Handles `POST /auth/register`. */
export function registerWork({ access }: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const { email, password } = body as { email: string; password: string };
      await access.people().register(email, password, visitOf(call).actor.from);
      return DONE;
    },
  };
}

/** Handles `POST /auth/verify`. */
export function verifyEmailWork({ access }: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      await access.people().verifyEmail((body as { token: string }).token, visitOf(call).actor.from);
      return DONE;
    },
  };
}

/** Handles `POST /auth/login`. */
export function loginWork({ access }: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const { email, password } = body as { email: string; password: string };
      return answerBegun(call, await access.people().login(email, password, visitOf(call).actor.from));
    },
  };
}

/** Handles `POST /auth/logout`. */
export function logoutWork({ access }: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const { token, actor, isSecure } = visitOf(call);
      await access.people().logout(token, actor.from);
      call.lines += sessionCookie('', isSecure) + PRIVATE;
      return DONE;
    },
  };
}

/** Handles `GET /auth/session`. */
export function sessionWork(): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      call.lines += PRIVATE;
      return bytesOf(visitOf(call).session);
    },
  };
}

/** Handles `POST /auth/password`. */
export function changePasswordWork({ access }: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const { currentPassword, newPassword } = body as { currentPassword: string; newPassword: string };
      const visit = visitOf(call);
      const { from } = visit.actor;
      return answerBegun(
        call,
        await access.people().changePassword(accountOf(visit), currentPassword, newPassword, from),
      );
    },
  };
}

/** Handles `POST /auth/password/forgot`. */
export function forgotPasswordWork({ access }: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      await access.people().forgot((body as { email: string }).email, visitOf(call).actor.from);
      return DONE;
    },
  };
}

/** Handles `POST /auth/password/reset`. */
export function resetPasswordWork({ access }: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const { token, password } = body as { token: string; password: string };
      await access.people().resetPassword(token, password, visitOf(call).actor.from);
      return DONE;
    },
  };
}
