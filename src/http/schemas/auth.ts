/** Schemas of the account operations: registration, sessions, passwords. */
import { Type } from 'typebox';
import { PLAN_NAMES } from '../../accounts/plans.ts';
import { LIMITS } from '../../base/limits.ts';
import { flag, oneOf, text } from './common.ts';

const Email = Type.String({ minLength: 3, maxLength: LIMITS.emailCharsMax, description: 'Mail address.' });
const NewPassword = Type.String({
  minLength: LIMITS.passwordCharsMin,
  maxLength: LIMITS.passwordCharsMax,
  description: 'The new password.',
});
const GivenPassword = Type.String({ minLength: 1, maxLength: LIMITS.passwordCharsMax });
const Token = Type.String({ minLength: 1, maxLength: 64, description: 'The token of the letter.' });

export const RegisterBody = Type.Object({ email: Email, password: NewPassword });
export const LoginBody = Type.Object({ email: Email, password: GivenPassword });
export const TokenBody = Type.Object({ token: Token });
export const PasswordBody = Type.Object({ currentPassword: GivenPassword, newPassword: NewPassword });
export const ForgotBody = Type.Object({ email: Email });
export const ResetBody = Type.Object({ token: Token, password: NewPassword });

export const AccountView = Type.Object(
  {
    id: text(),
    email: text(),
    emailVerified: flag('Free credits come with a verified address.'),
    plan: oneOf(PLAN_NAMES),
    createdAt: text(),
  },
  { description: 'The account of a person.' },
);

export const SessionData = Type.Object(
  { account: AccountView, expiresAt: text('When the session ends, ISO 8601 UTC.') },
  { description: 'A session. Its text is in the cookie alone.' },
);

/** The response says only that the request is done, so that it is the same whether or not the address has an account. */
export const Done = Type.Object({ done: Type.Literal(true) });
