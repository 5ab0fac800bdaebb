/** Schemas of the account operations: registration, sessions, passwords. */
import { Type } from 'typebox';
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import { PLAN_NAMES } from '../../accounts/plans.ts';
import { ROLES } from '../../accounts/roles.ts';
import { flag, oneOf, text, time } from './fields.ts';

export const Email = Type.String({
  minLength: 3,
  maxLength: ACCOUNT_LIMITS.emailCharsMax,
  description: 'Email address.',
});
export const NewPassword = Type.String({
  minLength: ACCOUNT_LIMITS.passwordCharsMin,
  maxLength: ACCOUNT_LIMITS.passwordCharsMax,
  description: 'The new password.',
});
export const CurrentPassword = Type.String({ minLength: 1, maxLength: ACCOUNT_LIMITS.passwordCharsMax });
export const EmailToken = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'The token of the email.',
});

export const AccountView = Type.Object(
  {
    id: text(),
    email: text(),
    emailVerified: flag('A verified address gets free credits.'),
    plan: oneOf(PLAN_NAMES),
    createdAt: time(),
  },
  { title: 'AccountView', description: 'The account of a person.' },
);

export const RoleSchema = oneOf(
  ROLES,
  'owner: everything, also keys, people and billing. analyst: everything that a key can do. auditor: reads only, and spends no credits.',
  { title: 'Role' },
);

export const SessionData = Type.Object(
  {
    id: text('Id of the session. It is not the token.'),
    account: AccountView,
    person: Type.Object(
      {
        id: text(),
        role: RoleSchema,
        secondFactor: flag('Whether a login asks for a code.'),
      },
      { title: 'SessionPerson', description: 'The person who logged in.' },
    ),
    operator: flag('Whether the person may read the state of the whole installation.'),
    expiresAt: time('Time at which the session ends, ISO 8601 UTC.'),
  },
  { title: 'SessionData', description: 'A session. Its token is only in the cookie.' },
);

/** The response says only that the request is done, so that it is the same whether or not the address has an account. */
export const Done = Type.Object({ done: Type.Literal(true) }, { title: 'Done' });
