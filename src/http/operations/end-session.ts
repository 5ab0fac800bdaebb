/** `DELETE /auth/sessions/{id}`. */
import { operation, personOf, principalOf } from '../operation.ts';
import { Done } from '../schemas/auth.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { idText } from '../schemas/fields.ts';
import { OWN } from './support/people.ts';
import { DONE } from './support/sessions.ts';

export const endSession = operation({
  ...OWN,
  id: 'endSession',
  sdk: 'auth.endSession',
  method: 'DELETE',
  path: '/auth/sessions/{id}',
  pathParameters: { id: idText('Id of a session of the person of this session.') },
  response: Done,
  statuses: { 404: { description: 'The person has no session of this id.', schema: ErrorBody } },
  summary: 'End one of your sessions',
  description: 'At once, in every process.',
  async run({ services: { access }, call, path }) {
    const principal = principalOf(call);
    await access.people().endSession(personOf(principal), path.id, principal.actor.from);
    return DONE;
  },
});
