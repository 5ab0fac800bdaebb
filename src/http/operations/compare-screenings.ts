/** `GET /screenings/{a}/compare/{b}`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { idText } from '../schemas/fields.ts';
import { ScreeningComparison } from '../schemas/saved-screenings.ts';
import { kindsOf, NO_SCREENING, SAVED_SCREENINGS } from './support/saved-screenings.ts';

export const compareScreenings = operation({
  ...SAVED_SCREENINGS,
  id: 'compareScreenings',
  sdk: 'savedScreenings.compare',
  method: 'GET',
  path: '/screenings/{a}/compare/{b}',
  pathParameters: {
    a: idText('Id of the earlier saved screening.'),
    b: idText('Id of the later one: the same kind, chain and addresses.'),
  },
  response: ScreeningComparison,
  statuses: NO_SCREENING,
  summary: 'Compare two saved screenings',
  description:
    'What changed from the first to the second, and what it follows from: entries of sanctions lists, labels, exposures, transfers, the policy, the data and the program. The differences of the score lines add up to the difference of the scores.',
  run: async ({ services, call, path }) =>
    services.useCases.savedScreenings().compare(accountOf(principalOf(call)), kindsOf(call), path.a, path.b),
});
