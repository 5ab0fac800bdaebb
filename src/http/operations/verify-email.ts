/** `POST /auth/verify`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { Done, EmailToken } from '../schemas/auth.ts';
import { DONE } from './support/sessions.ts';

export const verifyEmail = operation({
  id: 'verifyEmail',
  sdk: 'auth.verify',
  tag: 'Account',
  method: 'POST',
  path: '/auth/verify',
  principal: 'anyone',
  rateClass: 'keys',
  body: Type.Object({ token: EmailToken }, { title: 'VerifyEmailBody' }),
  response: Done,
  examples: [{ summary: 'The token of the email', body: { token: '<token>' } }],
  summary: 'Verify an email address',
  description: 'With the token of the email. A verified address gets free credits.',
  async run({ services: { access }, call, body }) {
    await access.people().verifyEmail(body.token, principalOf(call).actor.from);
    return DONE;
  },
});
