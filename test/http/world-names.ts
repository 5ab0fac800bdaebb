/** The use cases of names for the tests of the front end: two listed people, and matches cleared in memory. */

import { AssayError } from '../../src/base/errors.ts';
import type { NameUseCases } from '../../src/http/ports.ts';
import type { ClearedMatch } from '../../src/names/cleared.ts';
import { coverageOf, reasonsOf } from '../../src/names/lists-coverage.ts';
import type { NamesAnswer, TopMatch } from '../../src/names/screen-names.ts';

const LISTED = 'Ann Listed';

const match: TopMatch = {
  name: LISTED,
  confidence: 0.97,
  source: 'EU',
  listType: 'sanctions',
  entityId: '1',
  schema: 'Person',
  matchedName: LISTED,
  partial: false,
  weakAlias: false,
  countries: ['DE'],
  birthDate: '1970-01-01',
  birthDates: ['1970-01-01'],
  programs: ['TEST'],
  listedAt: '2020-01-01',
  sourceUrl: null,
  explanation: [{ kind: 'exact', asked: 'ann', listed: 'ann', similarity: 1, message: 'The same.' }],
  verified: true,
  cleared: false,
  entityVersion: '0123456789abcdef',
};

export function worldNames(): NameUseCases {
  const cleared = new Map<string, ClearedMatch>();
  const coverage = coverageOf([], 0, 7);
  return {
    async screen(requests) {
      const answer: NamesAnswer = {
        results: requests.map(({ name, cleared: known = [] }) => ({
          name,
          topMatches: name === LISTED ? [{ ...match, cleared: known.length > 0 }] : [],
          totalMatches: name === LISTED ? 1 : 0,
        })),
        creditsUsed: requests.length,
        coverage,
        reasons: reasonsOf(coverage),
        dataVersion: 'n1',
      };
      return new TextEncoder().encode(JSON.stringify(answer));
    },
    cleared: () => ({
      async clear(accountId, one) {
        const id = Buffer.from(`${one.name}/${one.entityId}`).toString('hex');
        const record: ClearedMatch = { id, ...one, clearedAt: '2026-11-21T00:00:00.000Z' };
        cleared.set(`${accountId}/${id}`, record);
        return record;
      },
      of: (accountId, names) =>
        names.map((name) =>
          [...cleared]
            .filter(([key, one]) => key.startsWith(`${accountId}/`) && one.name === name)
            .map(([, one]) => one),
        ),
      list: (accountId, { limit, name }) => ({
        cleared: [...cleared]
          .filter(([key]) => key.startsWith(`${accountId}/`))
          .map(([, one]) => one)
          .filter((one) => name === undefined || one.name === name)
          .slice(0, limit),
        nextCursor: null,
      }),
      async remove(accountId, id) {
        const found = cleared.get(`${accountId}/${id}`);
        if (found === undefined) throw new AssayError('NOT_FOUND', `id: there is no cleared match '${id}'.`);
        cleared.delete(`${accountId}/${id}`);
        return found;
      },
      async close() {},
    }),
  };
}
