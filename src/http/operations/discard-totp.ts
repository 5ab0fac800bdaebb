/** `DELETE /people/{id}/totp`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { Done } from '../schemas/auth.ts';
import { DiscardTotpBody } from '../schemas/people.ts';
import { NO_PERSON, PEOPLE, personPath } from './support/people.ts';
import { DONE } from './support/sessions.ts';

export const discardTotp = operation({
  ...PEOPLE,
  id: 'discardTotp',
  sdk: 'people.disableTotp',
  method: 'DELETE',
  path: '/people/{id}/totp',
  pathParameters: personPath,
  body: DiscardTotpBody,
  response: Done,
  statuses: NO_PERSON,
  examples: [{ summary: 'With your own password', body: { currentPassword: '<password>' } }],
  summary: 'Disable the second factor of a person',
  description:
    'For a person who has lost the authenticator app and the recovery codes, who gets an email. Needs `currentPassword`. One’s own second factor is disabled with `POST /auth/totp/disable`.',
  async run({ services: { access }, call, path, body }) {
    const principal = principalOf(call);
    await access
      .people()
      .members.discardFactor(principal.actor, accountOf(principal), path.id, body.currentPassword);
    return DONE;
  },
});
