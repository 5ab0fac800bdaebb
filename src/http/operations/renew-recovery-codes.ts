/** `POST /auth/totp/recovery-codes`. */
import { NO_STORE, operation, personOf, principalOf } from '../operation.ts';
import { PasswordAndCodeBody, RecoveryCodes } from '../schemas/people.ts';
import { OWN } from './support/people.ts';

export const renewRecoveryCodes = operation({
  ...OWN,
  id: 'renewRecoveryCodes',
  sdk: 'auth.renewRecoveryCodes',
  method: 'POST',
  path: '/auth/totp/recovery-codes',
  body: PasswordAndCodeBody,
  response: RecoveryCodes,
  responseHeaders: ['Cache-Control'],
  examples: [{ summary: 'With the password and a code', body: { password: '<password>', code: '<code>' } }],
  summary: 'Replace the recovery codes',
  description: 'The codes of before are not accepted any more.',
  async run({ services: { access }, call, body: { password, code } }) {
    const principal = principalOf(call);
    call.lines += NO_STORE;
    const { secondFactor } = access.people();
    return {
      recoveryCodes: await secondFactor.renew(personOf(principal), password, code, principal.actor.from),
    };
  },
});
