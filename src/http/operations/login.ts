/** `POST /auth/login`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { CurrentPassword, Email, SessionData } from '../schemas/auth.ts';
import { sessionResponse } from './support/sessions.ts';

export const login = operation({
  id: 'login',
  tag: 'Account',
  method: 'POST',
  path: '/auth/login',
  principal: 'anyone',
  rateClass: 'keys',
  body: Type.Object({ email: Email, password: CurrentPassword }, { title: 'LoginBody' }),
  response: SessionData,
  responseHeaders: ['Set-Cookie', 'Cache-Control'],
  examples: [
    {
      summary: 'With an email address and a password',
      body: { email: 'compliance@example.org', password: '<password>' },
    },
  ],
  summary: 'Log in',
  description:
    'Begins a session of 12 hours, with a cookie that no script can read. Attempts are limited per account and per address.',
  run: async ({ services: { access }, call, body }) =>
    sessionResponse(
      call,
      await access.people().login(body.email, body.password, principalOf(call).actor.from),
    ),
});
