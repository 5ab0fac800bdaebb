/** The emails to people. Their links lead to pages of the dashboard; the token is in the fragment, which no server receives or logs. */
import { ACCOUNT_LIMITS } from './limits.ts';

/** Paths of the pages that take the token of an email. */
export const EMAIL_PAGES = { confirm: '/confirm', reset: '/reset', invite: '/invite' } as const;
export type EmailPage = keyof typeof EMAIL_PAGES;

/** Returns the URL of this service as clients reach it, without a slash at its end; null if it is not known. */
export type PublicUrl = () => string | null;

/**
 * Returns the paragraph with the link of an email.
 *
 * @param base - URL of this service; if null, the person has to add it
 */
export function linkTo(base: string | null, page: EmailPage, token: string): string {
  const path = `${EMAIL_PAGES[page]}#token=${token}`;
  return base === null
    ? `Open ${EMAIL_PAGES[page]} of the service, and paste the token below.`
    : `${base}${path}`;
}

/** Emails end with the token on a line of its own, for programs and for readers that cannot open the link. */
export const EMAILS = {
  known: {
    subject: 'You already have an account',
    text: `A registration was requested with this email address, which already has
an account. If it was you and you forgot your password, request a
password reset. Otherwise you can ignore this email.
`,
  },
  confirm: (base: string | null, token: string) => ({
    subject: 'Confirm your email address',
    text: `Your account was created. To receive free credits, confirm your email
address within 24 hours. Open this page:

${linkTo(base, 'confirm', token)}

A program sends the token to POST /api/v1/auth/verify instead:

${token}
`,
  }),
  reset: (base: string | null, token: string) => ({
    subject: 'Reset your password',
    text: `A password reset was requested for this account. If it was you, open
this page within an hour. Otherwise you can ignore this email.

${linkTo(base, 'reset', token)}

A program sends the token to POST /api/v1/auth/password/reset instead:

${token}
`,
  }),
  invite: (base: string | null, token: string, by: string) => ({
    subject: 'You are invited to Assay',
    text: `You are invited to an account of Assay, a service that screens wallets.
The invitation was sent for ${by}.
To accept it, open this page within seven days, and choose a password.
If you do not know the sender, you can ignore this email.

${linkTo(base, 'invite', token)}

A program sends the token to POST /api/v1/auth/invitation instead:

${token}
`,
  }),
  invitedElsewhere: {
    subject: 'You are invited to Assay',
    text: `You are invited to an account of Assay, but this email address already
has an account. An email address belongs to one account: to join the
other one, ask for an invitation to another address.
`,
  },
  changed: {
    subject: 'Your password was changed',
    text: `The password of your account was changed, and all sessions were ended.
`,
  },
  factorOff: {
    subject: 'Your second factor was disabled',
    text: `The second factor of your account was disabled. If it was not you, change
your password now.
`,
  },
  codesLocked: {
    subject: 'Somebody is guessing codes of your account',
    text: `Somebody who knows your password, or uses one of your sessions, has sent
${ACCOUNT_LIMITS.codesPerAccountMax} wrong codes of the authenticator app. Codes of the app are refused until
24 hours after the first of them; a recovery code is still accepted. If it
was not you, change your password now.
`,
  },
} as const;
