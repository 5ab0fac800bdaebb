/** `DELETE /people/{id}/sessions`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { EndedSessions } from '../schemas/people.ts';
import { NO_PERSON, PEOPLE, personPath } from './support/people.ts';

export const endPersonSessions = operation({
  ...PEOPLE,
  id: 'endPersonSessions',
  sdk: 'people.endSessions',
  method: 'DELETE',
  path: '/people/{id}/sessions',
  pathParameters: personPath,
  response: EndedSessions,
  statuses: NO_PERSON,
  summary: 'End the sessions of a person',
  description: 'At once, in every process. The person can log in again.',
  async run({ services: { access }, call, path }) {
    const principal = principalOf(call);
    const { members } = access.people();
    return { ended: await members.endSessions(principal.actor, accountOf(principal), path.id) };
  },
});
