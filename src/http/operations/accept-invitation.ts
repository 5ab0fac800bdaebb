/** `POST /auth/invitation`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { EmailToken, NewPassword, SessionData } from '../schemas/auth.ts';
import { clientOfSession, sessionResponse } from './support/sessions.ts';

export const acceptInvitation = operation({
  id: 'acceptInvitation',
  sdk: 'auth.acceptInvitation',
  tag: 'Account',
  method: 'POST',
  path: '/auth/invitation',
  principal: 'anyone',
  rateClass: 'keys',
  body: Type.Object({ token: EmailToken, password: NewPassword }, { title: 'AcceptInvitationBody' }),
  response: SessionData,
  responseHeaders: ['Set-Cookie', 'Cache-Control'],
  examples: [
    { summary: 'The token of the email, and a password', body: { token: '<token>', password: '<password>' } },
  ],
  summary: 'Accept an invitation',
  description:
    'With the token of the email, once and within seven days. Adds the person with the role of the invitation, and begins a session.',
  async run({ services: { access }, call, body: { token, password } }) {
    const client = clientOfSession(principalOf(call));
    return sessionResponse(call, await access.people().acceptInvitation(token, password, client));
  },
});
