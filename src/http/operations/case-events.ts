/** `GET /cases/{id}/events`. */
import { Type } from 'typebox';
import { eventAnswer } from '../../cases/answers.ts';
import { CASE_LIMITS } from '../../cases/limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { CaseEventList } from '../schemas/cases.ts';
import { pageQuery } from '../schemas/fields.ts';
import { CASES, casePath, NO_CASE } from './support/cases.ts';
import { pageEnd } from './support/paging.ts';

export const caseEvents = operation({
  ...CASES,
  id: 'caseEvents',
  sdk: 'cases.events',
  method: 'GET',
  path: '/cases/{id}/events',
  pathParameters: casePath,
  query: {
    answers: Type.Boolean({
      default: false,
      description: `Adds the stored answers of links. A page then ends after ${CASE_LIMITS.answersPageBytesMax} bytes of them. Default: false.`,
    }),
    ...pageQuery(CASE_LIMITS.pageMax),
  },
  response: CaseEventList,
  statuses: NO_CASE,
  summary: 'History of a case',
  description: 'Newest first.',
  async run({ services, call, path, query }) {
    const { limit, cursor, answers } = query;
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const accountId = accountOf(principalOf(call));
    const result = services.useCases.cases().events(accountId, path.id, page, answers);
    return {
      events: result.events.map(({ event, answer }) => ({
        ...eventAnswer(event),
        ...(answers ? { answer: answer === null ? null : JSON.parse(answer) } : {}),
      })),
      ...pageEnd(query, result),
    };
  },
});
