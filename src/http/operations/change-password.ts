/** `POST /auth/password`. */
import { Type } from 'typebox';
import { operation, personOf, principalOf } from '../operation.ts';
import { CurrentPassword, NewPassword, SessionData } from '../schemas/auth.ts';
import { sessionResponse } from './support/sessions.ts';

export const changePassword = operation({
  id: 'changePassword',
  sdk: 'auth.changePassword',
  tag: 'Account',
  method: 'POST',
  path: '/auth/password',
  principal: 'session',
  role: 'auditor',
  rateClass: 'keys',
  body: Type.Object(
    { currentPassword: CurrentPassword, newPassword: NewPassword },
    { title: 'ChangePasswordBody' },
  ),
  response: SessionData,
  responseHeaders: ['Set-Cookie', 'Cache-Control'],
  examples: [
    {
      summary: 'From the old password to a new one',
      body: { currentPassword: '<password>', newPassword: '<new password>' },
    },
  ],
  summary: 'Change the password',
  description: 'Ends all sessions of the person and begins a new one.',
  async run({ services: { access }, call, body }) {
    const principal = principalOf(call);
    const { currentPassword, newPassword } = body;
    return sessionResponse(
      call,
      await access
        .people()
        .changePassword(
          personOf(principal),
          currentPassword,
          newPassword,
          principal.actor.from,
          principal.userAgent,
        ),
    );
  },
});
