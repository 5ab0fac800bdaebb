/** `GET /cases/{id}/files`. */
import { fileAnswer } from '../../cases/answers.ts';
import { CASE_LIMITS } from '../../cases/limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { CaseFileList } from '../schemas/cases.ts';
import { pageQuery } from '../schemas/fields.ts';
import { CASES, casePath, NO_CASE } from './support/cases.ts';
import { pageEnd } from './support/paging.ts';

export const caseFiles = operation({
  ...CASES,
  id: 'caseFiles',
  sdk: 'cases.files',
  method: 'GET',
  path: '/cases/{id}/files',
  pathParameters: casePath,
  query: pageQuery(CASE_LIMITS.pageMax),
  response: CaseFileList,
  statuses: NO_CASE,
  summary: 'Files of a case',
  description: 'Newest first, without their content.',
  async run({ services, call, path, query }) {
    const { limit, cursor } = query;
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const result = services.useCases.cases().files(accountOf(principalOf(call)), path.id, page);
    return { files: result.files.map(fileAnswer), ...pageEnd(query, result) };
  },
});
