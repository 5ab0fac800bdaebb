/** `GET /namescreen/cleared`. */
import { Type } from 'typebox';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { pageQuery } from '../schemas/fields.ts';
import { ClearedListAnswer } from '../schemas/names.ts';
import { clearedView } from './support/names.ts';
import { pageEnd } from './support/paging.ts';

export const clearedList = operation({
  id: 'clearedList',
  sdk: 'names.listCleared',
  tag: 'Names',
  method: 'GET',
  path: '/namescreen/cleared',
  permission: 'screening',
  rateClass: 'names',
  query: {
    name: Type.Optional(Type.String({ description: 'Only matches of this name.' })),
    ...pageQuery(HTTP_LIMITS.clearedPageMax, HTTP_LIMITS.clearedPageDefault),
  },
  response: ClearedListAnswer,
  summary: 'Cleared matches of the account',
  description: 'In the order of their ids.',
  async run({ services, call, query }) {
    const page = services.useCases.names.cleared().list(callerOf(call).accountId, query);
    return { cleared: page.cleared.map(clearedView), ...pageEnd(query, page) };
  },
});
