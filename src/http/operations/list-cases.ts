/** `GET /cases`. */
import { Type } from 'typebox';
import { caseAnswer } from '../../cases/answers.ts';
import { CASE_LIMITS } from '../../cases/limits.ts';
import { CASE_PRIORITIES } from '../../cases/records.ts';
import { CASE_STATUSES } from '../../cases/workflow.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { AssigneeText, CaseList, CaseStatusSchema } from '../schemas/cases.ts';
import { addressText, chainText, oneOf, pageQuery } from '../schemas/fields.ts';
import { CASES } from './support/cases.ts';
import { pageEnd, pageInSteps } from './support/paging.ts';

export const listCases = operation({
  ...CASES,
  id: 'listCases',
  sdk: 'cases.list',
  method: 'GET',
  path: '/cases',
  query: {
    status: Type.Optional(
      Type.Array(CaseStatusSchema, {
        maxItems: CASE_STATUSES.length,
        description: 'Only cases in these states, separated by commas.',
      }),
    ),
    assignee: Type.Optional(AssigneeText),
    priority: Type.Optional(oneOf(CASE_PRIORITIES, 'Only cases of this priority.')),
    dueBefore: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 40,
        description: 'Only cases that are due before this ISO 8601 date or time.',
      }),
    ),
    address: Type.Optional(addressText('Only cases with a link to this address; needs `chain`.')),
    chain: Type.Optional(chainText('Chain of `address`.')),
    linkId: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CASE_LIMITS.linkIdCharsMax,
        description:
          'Only cases with a link to the alert, wallet or saved screening of this id, or to the transaction of this hash.',
      }),
    ),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CASE_LIMITS.searchTextCharsMax,
        description:
          'Only cases with this text in the title, the assignee, a note, a link or the name of a file, in any letter case.',
      }),
    ),
    ...pageQuery(CASE_LIMITS.pageMax),
  },
  response: CaseList,
  summary: 'List cases',
  description:
    'Newest first. A page of a filter may be short although more cases follow: continue while nextCursor is set.',
  async run({ services, call, query }) {
    const { limit, cursor, ...filter } = query;
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const accountId = accountOf(principalOf(call));
    const result = await pageInSteps(page, CASE_LIMITS.searchStepsMax, (part) => {
      const { cases: rows, nextCursor } = services.useCases.cases().list(accountId, filter, part);
      return { rows, nextCursor };
    });
    return { cases: result.rows.map(caseAnswer), ...pageEnd(query, result) };
  },
});
