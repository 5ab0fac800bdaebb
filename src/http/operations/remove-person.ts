/** `DELETE /people/{id}`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { OnePerson, RemovalBody } from '../schemas/people.ts';
import { NO_PERSON, PEOPLE, personPath } from './support/people.ts';

export const removePerson = operation({
  ...PEOPLE,
  id: 'removePerson',
  sdk: 'people.remove',
  method: 'DELETE',
  path: '/people/{id}',
  pathParameters: personPath,
  body: RemovalBody,
  response: OnePerson,
  statuses: NO_PERSON,
  examples: [
    { summary: 'An analyst', body: {} },
    { summary: 'An owner', body: { currentPassword: '<password>' } },
  ],
  summary: 'Remove a person',
  description:
    'Ends all sessions of the person at once, or withdraws an invitation. Keys that the person created stay, because programs may depend on them; the audit log names them. The body may be left out; `currentPassword` is required to remove an owner. The last owner of an account cannot be removed.',
  async run({ services: { access }, call, path, body }) {
    const principal = principalOf(call);
    const { members } = access.people();
    const { actor } = principal;
    return { person: await members.remove(actor, accountOf(principal), path.id, body.currentPassword) };
  },
});
