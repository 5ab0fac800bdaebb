/** `POST /auth/password/forgot`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { Done, Email } from '../schemas/auth.ts';
import { DONE } from './support/sessions.ts';

export const forgotPassword = operation({
  id: 'forgotPassword',
  sdk: 'auth.forgotPassword',
  tag: 'Account',
  method: 'POST',
  path: '/auth/password/forgot',
  principal: 'anyone',
  rateClass: 'keys',
  body: Type.Object({ email: Email }, { title: 'ForgotPasswordBody' }),
  response: Done,
  summary: 'Request a password reset',
  description: 'Sends an email if the address has an account; the response is the same if it has none.',
  async run({ services: { access }, call, body }) {
    await access.people().forgot(body.email, principalOf(call).actor.from);
    return DONE;
  },
});
