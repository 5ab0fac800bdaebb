/** The people of the account, and their email addresses by the ids that histories have. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { call, type DataOf } from './client.ts';
import { patiently } from './patience.ts';

/** People change a few times a year. */
const FRESH_MS = 30 * 60_000;

type People = DataOf<'/people', 'get'>;

/** The people of the account. */
export const peopleQuery = queryOptions({
  queryKey: ['people'],
  queryFn: ({ signal }): Promise<People> => patiently(() => call('get', '/people', { signal }), { signal }),
});

const namesOf = ({ people }: People): Readonly<Record<string, string>> =>
  Object.fromEntries(people.map(({ id, email }) => [id, email]));

/** Returns the addresses by id; empty while they are read, or if they cannot be. Ids are then shown instead. */
export function usePeopleNames(): Readonly<Record<string, string>> {
  return useQuery({ ...peopleQuery, select: namesOf, staleTime: FRESH_MS }).data ?? {};
}
