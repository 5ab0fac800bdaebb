/** `POST /auth/register`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { Done, Email, NewPassword } from '../schemas/auth.ts';
import { DONE } from './support/sessions.ts';

export const register = operation({
  id: 'register',
  sdk: 'auth.register',
  tag: 'Account',
  method: 'POST',
  path: '/auth/register',
  principal: 'anyone',
  rateClass: 'keys',
  body: Type.Object({ email: Email, password: NewPassword }, { title: 'RegisterBody' }),
  response: Done,
  examples: [{ summary: 'A new account', body: { email: 'compliance@example.org', password: '<password>' } }],
  summary: 'Register',
  description:
    'Closed unless the installation opens it. Sends an email with a token; the response is the same whether or not the address has an account.',
  async run({ services: { access }, call, body }) {
    await access.people().register(body.email, body.password, principalOf(call).actor.from);
    return DONE;
  },
});
