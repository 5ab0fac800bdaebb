/** `POST /auth/totp/disable`. */
import { operation, personOf, principalOf } from '../operation.ts';
import { Done } from '../schemas/auth.ts';
import { PasswordAndCodeBody } from '../schemas/people.ts';
import { OWN } from './support/people.ts';
import { DONE } from './support/sessions.ts';

export const disableTotp = operation({
  ...OWN,
  id: 'disableTotp',
  sdk: 'auth.disableTotp',
  method: 'POST',
  path: '/auth/totp/disable',
  body: PasswordAndCodeBody,
  response: Done,
  examples: [{ summary: 'With the password and a code', body: { password: '<password>', code: '<code>' } }],
  summary: 'Disable the second factor',
  description: 'Logins ask only for the password again. Sends an email.',
  async run({ services: { access }, call, body: { password, code } }) {
    const principal = principalOf(call);
    await access.people().secondFactor.disable(personOf(principal), password, code, principal.actor.from);
    return DONE;
  },
});
