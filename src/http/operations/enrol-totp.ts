/** `POST /auth/totp`. */
import { NO_STORE, operation, personOf, principalOf } from '../operation.ts';
import { PasswordBody, TotpEnrolment } from '../schemas/people.ts';
import { OWN } from './support/people.ts';

export const enrolTotp = operation({
  ...OWN,
  id: 'enrolTotp',
  sdk: 'auth.enrolTotp',
  method: 'POST',
  path: '/auth/totp',
  body: PasswordBody,
  response: TotpEnrolment,
  responseHeaders: ['Cache-Control'],
  examples: [{ summary: 'With the current password', body: { password: '<password>' } }],
  summary: 'Begin a second factor',
  description:
    'Creates the secret of an authenticator app (TOTP, RFC 6238). Logins ask for a code once `POST /auth/totp/confirm` has received one.',
  async run({ services: { access }, call, body }) {
    const principal = principalOf(call);
    call.lines += NO_STORE;
    return access.people().secondFactor.enrol(personOf(principal), body.password, principal.actor.from);
  },
});
