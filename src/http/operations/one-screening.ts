/** `GET /screenings/{id}`. */
import { savedAnswer } from '../../saved-screenings/answers.ts';
import { accountOf, jsonBytes, operation, principalOf } from '../operation.ts';
import { OneSavedScreening } from '../schemas/saved-screenings.ts';
import { kindsOf, NO_SCREENING, SAVED_SCREENINGS, screeningPath } from './support/saved-screenings.ts';

export const oneScreening = operation({
  ...SAVED_SCREENINGS,
  id: 'oneScreening',
  sdk: 'savedScreenings.get',
  method: 'GET',
  path: '/screenings/{id}',
  pathParameters: screeningPath,
  response: OneSavedScreening,
  statuses: NO_SCREENING,
  summary: 'Get a saved screening',
  description: 'With the answer as its client got it. Later labels, lists and transfers do not change it.',
  run: async ({ services, call, path }) => {
    const saved = services.useCases.savedScreenings();
    const screening = saved.one(accountOf(principalOf(call)), kindsOf(call), path.id);
    // The stored text is not parsed: another program must get the same hash.
    return Buffer.concat([
      Buffer.from('{"screening":'),
      jsonBytes(savedAnswer(screening)),
      Buffer.from(',"answer":'),
      saved.answer(screening),
      Buffer.from('}'),
    ]);
  },
});
