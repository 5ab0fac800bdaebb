/** `PATCH /people/{id}`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { OnePerson, RoleBody } from '../schemas/people.ts';
import { NO_PERSON, PEOPLE, personPath } from './support/people.ts';

export const changePerson = operation({
  ...PEOPLE,
  id: 'changePerson',
  sdk: 'people.update',
  method: 'PATCH',
  path: '/people/{id}',
  pathParameters: personPath,
  body: RoleBody,
  response: OnePerson,
  statuses: NO_PERSON,
  examples: [
    { summary: 'Read only', body: { role: 'auditor' } },
    { summary: 'One more owner', body: { role: 'owner', currentPassword: '<password>' } },
  ],
  summary: 'Change the role of a person',
  description:
    'Takes effect with the next request of the person. `currentPassword` is required to make a person an owner, and to change the role of an owner. The last owner of an account keeps the role. The role of a pending invitation can be changed, too.',
  async run({ services: { access }, call, path, body }) {
    const principal = principalOf(call);
    const { members } = access.people();
    const { role, currentPassword } = body;
    const { actor } = principal;
    return { person: await members.setRole(actor, accountOf(principal), path.id, role, currentPassword) };
  },
});
