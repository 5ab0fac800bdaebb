/** `GET /screenings`. */
import { Type } from 'typebox';
import { savedAnswer } from '../../saved-screenings/answers.ts';
import { SAVED_LIMITS } from '../../saved-screenings/limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { addressText, chainText, oneOf, pageQuery } from '../schemas/fields.ts';
import { SavedScreeningList } from '../schemas/saved-screenings.ts';
import { pageEnd, pageInSteps } from './support/paging.ts';
import { kindsOf, SAVED_SCREENINGS } from './support/saved-screenings.ts';

const timeText = (description: string) => Type.String({ minLength: 1, maxLength: 40, description });

export const listScreenings = operation({
  ...SAVED_SCREENINGS,
  id: 'listScreenings',
  sdk: 'savedScreenings.list',
  method: 'GET',
  path: '/screenings',
  query: {
    chain: Type.Optional(chainText('Only answers about this chain.')),
    address: Type.Optional(
      addressText('Only answers about this address, as a party of a transfer too; needs `chain`.'),
    ),
    riskLevel: Type.Optional(oneOf(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'], 'Only answers with this level.')),
    from: Type.Optional(timeText('Only answers saved at this ISO 8601 date or time, or later.')),
    to: Type.Optional(timeText('Only answers saved before this ISO 8601 date or time.')),
    ...pageQuery(SAVED_LIMITS.savedPageMax),
  },
  response: SavedScreeningList,
  summary: 'List saved screenings',
  description:
    'Without the answers, newest first. A page of a filter may be short although more follow: continue while nextCursor is set. A key with the permission `kyt` alone sees KYT answers only.',
  async run({ services, call, query }) {
    const { limit, cursor, ...filter } = query;
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const saved = services.useCases.savedScreenings();
    const [accountId, kinds] = [accountOf(principalOf(call)), kindsOf(call)];
    const result = await pageInSteps(page, SAVED_LIMITS.savedStepsMax, (part) => {
      const { screenings: rows, nextCursor } = saved.list(accountId, kinds, filter, part);
      return { rows, nextCursor };
    });
    return { screenings: result.rows.map(savedAnswer), ...pageEnd(query, result) };
  },
});
