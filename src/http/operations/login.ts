/** `POST /auth/login`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { CurrentPassword, Email, SessionData } from '../schemas/auth.ts';
import { CodeOrRecovery } from '../schemas/people.ts';
import { sessionResponse } from './support/sessions.ts';

export const login = operation({
  id: 'login',
  sdk: 'auth.login',
  tag: 'Account',
  method: 'POST',
  path: '/auth/login',
  principal: 'anyone',
  rateClass: 'keys',
  body: Type.Object(
    { email: Email, password: CurrentPassword, code: Type.Optional(CodeOrRecovery) },
    { title: 'LoginBody' },
  ),
  response: SessionData,
  responseHeaders: ['Set-Cookie', 'Cache-Control'],
  examples: [
    {
      summary: 'With an email address and a password',
      body: { email: 'compliance@example.org', password: '<password>' },
    },
    {
      summary: 'With a second factor',
      body: { email: 'compliance@example.org', password: '<password>', code: '<code>' },
    },
  ],
  summary: 'Log in',
  description:
    'Begins a session of 12 hours, with a cookie that no script can read. If the person has a second factor and the body has no `code`, the response is 401 with the error code SECOND_FACTOR_REQUIRED: send the same body with `code`. Attempts are limited per account and per address.',
  async run({ services: { access }, call, body: { email, password, code } }) {
    const { actor, userAgent } = principalOf(call);
    const people = access.people();
    return sessionResponse(call, await people.login(email, password, actor.from, { code, userAgent }));
  },
});
