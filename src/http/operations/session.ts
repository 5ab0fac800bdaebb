/** `GET /auth/session`. */
import { AssayError } from '../../base/errors.ts';
import { NO_STORE, operation, principalOf } from '../operation.ts';
import { SessionData } from '../schemas/auth.ts';

export const session = operation({
  id: 'session',
  sdk: 'auth.session',
  tag: 'Account',
  method: 'GET',
  path: '/auth/session',
  principal: 'session',
  rateClass: 'keys',
  response: SessionData,
  responseHeaders: ['Cache-Control'],
  summary: 'The session',
  description: 'The account of the session, and the time at which the session ends.',
  async run({ call }) {
    call.lines += NO_STORE;
    const { session: own } = principalOf(call);
    if (own === null) throw new AssayError('INTERNAL', 'A session was read without one.');
    return own;
  },
});
