/** `GET /people`. */
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { pageQuery } from '../schemas/fields.ts';
import { PeopleList } from '../schemas/people.ts';
import { pageOfAll } from './support/paging.ts';
import { PEOPLE } from './support/people.ts';

const { peoplePerAccountMax } = ACCOUNT_LIMITS;

export const listPeople = operation({
  ...PEOPLE,
  role: 'auditor',
  id: 'listPeople',
  sdk: 'people.list',
  method: 'GET',
  path: '/people',
  query: pageQuery(peoplePerAccountMax, peoplePerAccountMax),
  response: PeopleList,
  summary: 'People of the account',
  description: `The people of the account and the pending invitations to it, at most ${peoplePerAccountMax} in all.`,
  async run({ services: { access }, call, query }) {
    const { rows, ...end } = pageOfAll(access.people().members.list(accountOf(principalOf(call))), query);
    return { people: rows, ...end };
  },
});
