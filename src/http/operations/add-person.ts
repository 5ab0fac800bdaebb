/** `POST /people`. */
import { AssayError } from '../../base/errors.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { AddPersonBody, OnePerson } from '../schemas/people.ts';
import { PEOPLE } from './support/people.ts';

export const addPerson = operation({
  ...PEOPLE,
  id: 'addPerson',
  sdk: 'people.create',
  method: 'POST',
  path: '/people',
  body: AddPersonBody,
  response: OnePerson,
  examples: [
    {
      summary: 'An auditor',
      body: { email: 'auditor@example.org', role: 'auditor', password: '<password>' },
    },
  ],
  summary: 'Add a person with a password',
  description:
    'For services without a mail server: the owner gives the person the password, and the person changes it. An owner needs `currentPassword`. Only if registration is closed, because the response says whether the address has an account; otherwise invite the person.',
  async run({ services: { access }, call, body: { email, role, password, currentPassword } }) {
    const principal = principalOf(call);
    const people = access.people();
    if (people.isOpen)
      throw new AssayError(
        'FORBIDDEN',
        'Anybody can register at this service: invite people by email, with POST /people/invitations.',
      );
    const { actor } = principal;
    return {
      person: await people.members.add(actor, accountOf(principal), email, role, password, currentPassword),
    };
  },
});
