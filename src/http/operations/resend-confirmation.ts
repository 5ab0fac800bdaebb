/** `POST /auth/confirmation`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { Done, Email } from '../schemas/auth.ts';
import { DONE } from './support/sessions.ts';

export const resendConfirmation = operation({
  id: 'resendConfirmation',
  sdk: 'auth.resendConfirmation',
  tag: 'Account',
  method: 'POST',
  path: '/auth/confirmation',
  principal: 'anyone',
  rateClass: 'keys',
  body: Type.Object({ email: Email }, { title: 'ResendConfirmationBody' }),
  response: Done,
  examples: [{ summary: 'Another email', body: { email: 'compliance@example.org' } }],
  summary: 'Request another confirmation email',
  description:
    'Sends the email again if the address has an account that is not confirmed; the response is the same if it has none.',
  async run({ services: { access }, call, body }) {
    await access.people().resendConfirmation(body.email, principalOf(call).actor.from);
    return DONE;
  },
});
