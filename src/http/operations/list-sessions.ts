/** `GET /auth/sessions`. */
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import { operation, personOf, principalOf } from '../operation.ts';
import { pageQuery } from '../schemas/fields.ts';
import { SessionList } from '../schemas/people.ts';
import { pageOfAll } from './support/paging.ts';
import { OWN } from './support/people.ts';

const { sessionsPerPersonMax } = ACCOUNT_LIMITS;

export const listSessions = operation({
  ...OWN,
  id: 'listSessions',
  sdk: 'auth.sessions',
  method: 'GET',
  path: '/auth/sessions',
  query: pageQuery(sessionsPerPersonMax, sessionsPerPersonMax),
  response: SessionList,
  summary: 'Your sessions',
  description: 'Those of the person of this session that have not ended, with the browser that began each.',
  async run({ services: { access }, call, query }) {
    const principal = principalOf(call);
    const sessions = access.people().sessions(personOf(principal), principal.session?.id ?? '');
    const { rows, ...end } = pageOfAll(sessions, query);
    return { sessions: rows, ...end };
  },
});
