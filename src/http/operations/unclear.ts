/** `DELETE /namescreen/cleared/{id}`. */
import { Type } from 'typebox';
import { callerOf, operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { ClearedAnswer } from '../schemas/names.ts';
import { clearedView } from './support/names.ts';

export const unclear = operation({
  id: 'unclear',
  sdk: 'names.unclear',
  tag: 'Names',
  method: 'DELETE',
  path: '/namescreen/cleared/{id}',
  permission: 'screening',
  rateClass: 'names',
  pathParameters: { id: Type.String({ description: 'Id of the cleared match.' }) },
  response: ClearedAnswer,
  statuses: { 404: { description: 'The account has no cleared match of this id.', schema: ErrorBody } },
  summary: 'Delete a cleared match',
  description: 'Returns the deleted record.',
  run: async ({ services, call, path }) => ({
    cleared: clearedView(await services.useCases.names.cleared().remove(callerOf(call).accountId, path.id)),
  }),
});
