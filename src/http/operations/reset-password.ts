/** `POST /auth/password/reset`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { Done, EmailToken, NewPassword } from '../schemas/auth.ts';
import { DONE } from './support/sessions.ts';

export const resetPassword = operation({
  id: 'resetPassword',
  sdk: 'auth.resetPassword',
  tag: 'Account',
  method: 'POST',
  path: '/auth/password/reset',
  principal: 'anyone',
  rateClass: 'keys',
  body: Type.Object({ token: EmailToken, password: NewPassword }, { title: 'ResetPasswordBody' }),
  response: Done,
  examples: [
    {
      summary: 'The token of the email, and a new password',
      body: { token: '<token>', password: '<new password>' },
    },
  ],
  summary: 'Set a new password',
  description: 'With the token of the email, once and within an hour. Ends all sessions of the account.',
  async run({ services: { access }, call, body }) {
    await access.people().resetPassword(body.token, body.password, principalOf(call).actor.from);
    return DONE;
  },
});
