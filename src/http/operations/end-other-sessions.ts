/** `DELETE /auth/sessions`. */
import { operation, personOf, principalOf } from '../operation.ts';
import { EndedSessions } from '../schemas/people.ts';
import { OWN } from './support/people.ts';

export const endOtherSessions = operation({
  ...OWN,
  id: 'endOtherSessions',
  sdk: 'auth.endOtherSessions',
  method: 'DELETE',
  path: '/auth/sessions',
  response: EndedSessions,
  summary: 'End your other sessions',
  description: 'All sessions of the person of this session, except this one.',
  async run({ services: { access }, call }) {
    const principal = principalOf(call);
    const { actor, session } = principal;
    const people = access.people();
    return { ended: await people.endOtherSessions(personOf(principal), session?.id ?? '', actor.from) };
  },
});
