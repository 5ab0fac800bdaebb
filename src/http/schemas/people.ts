/** Schemas of the operations of people: members of an account, their sessions, and second factors. */
import { Type } from 'typebox';
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import { CurrentPassword, Email, NewPassword, RoleSchema } from './auth.ts';
import { count, flag, listOf, nullable, oneOf, pageFields, text, time } from './fields.ts';

export const PersonView = Type.Object(
  {
    id: text(),
    email: text(),
    role: RoleSchema,
    status: oneOf(['ACTIVE', 'INVITED'], 'INVITED: the invitation was not accepted yet.'),
    emailVerified: flag('Whether the person has confirmed the address.'),
    secondFactor: flag('Whether a login asks for a code.'),
    createdAt: time(),
    invitedBy: nullable(text(), 'Id of the person who sent the invitation; null for an active person.'),
    expiresAt: nullable(time(), 'When the invitation expires; null for an active person.'),
  },
  { title: 'PersonView', description: 'A person of the account, or an invitation to it.' },
);

export const PeopleList = Type.Object(
  {
    people: listOf(PersonView, 'People, and then pending invitations, each oldest first.'),
    total: count(),
    ...pageFields,
  },
  { title: 'PeopleList' },
);

export const OnePerson = Type.Object({ person: PersonView }, { title: 'OnePerson' });

const ownPassword = (needed: string) =>
  Type.String({
    minLength: 1,
    maxLength: ACCOUNT_LIMITS.passwordCharsMax,
    description: `The password of the person of this session. ${needed}`,
  });

/** Of an operation that may make, change or remove an owner. */
const OwnPassword = Type.Optional(ownPassword('Required if the person is or becomes an owner.'));

export const InvitationBody = Type.Object(
  { email: Email, role: RoleSchema, currentPassword: OwnPassword },
  { title: 'InvitationBody' },
);

export const AddPersonBody = Type.Object(
  { email: Email, role: RoleSchema, password: NewPassword, currentPassword: OwnPassword },
  { title: 'AddPersonBody' },
);

export const RoleBody = Type.Object(
  { role: RoleSchema, currentPassword: OwnPassword },
  { title: 'RoleBody' },
);

export const RemovalBody = Type.Object({ currentPassword: OwnPassword }, { title: 'RemovalBody' });

export const DiscardTotpBody = Type.Object(
  { currentPassword: ownPassword('Always required.') },
  { title: 'DiscardTotpBody' },
);

export const AuditEntryView = Type.Object(
  {
    id: text('Number of the entry in the account, from 1.'),
    at: time(),
    who: text('Id of a person or a key; `operator`, `stripe`, or `unknown` for a refused login.'),
    from: text('Address of the client; `command line` or `webhook`.'),
    action: text('Such as `key.create` or `person.role`.'),
    subject: nullable(text(), 'Id of the changed object; null if it is the account.'),
    detail: nullable(text()),
  },
  { title: 'AuditEntryView', description: 'One entry of the audit log.' },
);

export const AuditPage = Type.Object(
  { entries: listOf(AuditEntryView, 'Newest first.'), ...pageFields },
  { title: 'AuditPage' },
);

export const SessionView = Type.Object(
  {
    id: text('Not the token of the session.'),
    userAgent: nullable(text(), 'User-Agent header of the login.'),
    address: nullable(text(), 'Client address of the login.'),
    createdAt: time(),
    lastUsedAt: time('Up to five minutes old.'),
    expiresAt: time(),
    current: flag('Whether it is the session of this request.'),
  },
  { title: 'SessionView', description: 'A session of the person.' },
);

export const SessionList = Type.Object(
  { sessions: listOf(SessionView, 'Newest first.'), total: count(), ...pageFields },
  { title: 'SessionList' },
);

export const EndedSessions = Type.Object(
  { ended: count('Number of sessions that were ended.') },
  { title: 'EndedSessions' },
);

export const Code = Type.String({
  minLength: 6,
  maxLength: 32,
  description: 'Code of the authenticator app, six digits.',
});

/** Of a login, and of changes of the second factor: there, a recovery code is accepted, too. */
export const CodeOrRecovery = Type.String({
  minLength: 6,
  maxLength: 32,
  description: 'Code of the authenticator app, six digits, or a recovery code.',
});

export const PasswordBody = Type.Object({ password: CurrentPassword }, { title: 'PasswordBody' });
export const CodeBody = Type.Object({ code: Code }, { title: 'CodeBody' });
export const PasswordAndCodeBody = Type.Object(
  { password: CurrentPassword, code: CodeOrRecovery },
  { title: 'PasswordAndCodeBody' },
);

export const TotpEnrolment = Type.Object(
  {
    secret: text('Base32, to type into an app. Shown only once.'),
    uri: text('`otpauth://totp/…`: the text of a QR code.'),
  },
  { title: 'TotpEnrolment' },
);

export const RecoveryCodes = Type.Object(
  {
    recoveryCodes: listOf(
      text(),
      `${ACCOUNT_LIMITS.recoveryCodes} codes, each accepted once in place of a code of the app. Shown only once.`,
    ),
  },
  { title: 'RecoveryCodes' },
);
