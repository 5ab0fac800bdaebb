/** `POST /auth/logout`. */
import { NO_STORE, operation, principalOf, sessionCookie } from '../operation.ts';
import { Done } from '../schemas/auth.ts';
import { DONE } from './support/sessions.ts';

export const logout = operation({
  id: 'logout',
  sdk: 'auth.logout',
  retry: 'safe',
  tag: 'Account',
  method: 'POST',
  path: '/auth/logout',
  principal: 'session',
  role: 'auditor',
  rateClass: 'keys',
  response: Done,
  responseHeaders: ['Set-Cookie', 'Cache-Control'],
  summary: 'Log out',
  description: 'Ends the session at once, in every process.',
  async run({ services: { access }, call }) {
    const { token, actor, isSecure } = principalOf(call);
    await access.people().logout(token, actor.from);
    call.lines += sessionCookie('', isSecure) + NO_STORE;
    return DONE;
  },
});
