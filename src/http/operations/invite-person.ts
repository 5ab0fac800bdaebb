/** `POST /people/invitations`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { InvitationBody, OnePerson } from '../schemas/people.ts';
import { PEOPLE } from './support/people.ts';

export const invitePerson = operation({
  ...PEOPLE,
  id: 'invitePerson',
  sdk: 'people.invite',
  method: 'POST',
  path: '/people/invitations',
  body: InvitationBody,
  response: OnePerson,
  examples: [
    { summary: 'An analyst', body: { email: 'analyst@example.org', role: 'analyst' } },
    {
      summary: 'An owner',
      body: { email: 'owner@example.org', role: 'owner', currentPassword: '<password>' },
    },
  ],
  summary: 'Invite a person',
  description:
    'Sends an email with a link that is valid for seven days and leads to a page on which the person chooses a password. An invitation of an owner needs `currentPassword`. A further invitation of the same address replaces the first. The response is the same whether or not the address has an account elsewhere; it then gets an email that says so. A server without a mail server invites nobody.',
  async run({ services: { access }, call, body: { email, role, currentPassword } }) {
    const principal = principalOf(call);
    const { members } = access.people();
    return {
      person: await members.invite(principal.actor, accountOf(principal), email, role, currentPassword),
    };
  },
});
