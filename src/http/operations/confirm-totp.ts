/** `POST /auth/totp/confirm`. */
import { NO_STORE, operation, personOf, principalOf } from '../operation.ts';
import { CodeBody, RecoveryCodes } from '../schemas/people.ts';
import { OWN } from './support/people.ts';

export const confirmTotp = operation({
  ...OWN,
  id: 'confirmTotp',
  sdk: 'auth.confirmTotp',
  method: 'POST',
  path: '/auth/totp/confirm',
  body: CodeBody,
  response: RecoveryCodes,
  responseHeaders: ['Cache-Control'],
  examples: [{ summary: 'The code of the app', body: { code: '<code>' } }],
  summary: 'Enable the second factor',
  description: 'With a code of the app. From now on, a login needs a code. Returns the recovery codes.',
  async run({ services: { access }, call, body }) {
    const principal = principalOf(call);
    call.lines += NO_STORE;
    const { secondFactor } = access.people();
    return {
      recoveryCodes: await secondFactor.confirm(personOf(principal), body.code, principal.actor.from),
    };
  },
});
