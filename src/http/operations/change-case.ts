/** `PATCH /cases/{id}`. */
import { operation } from '../operation.ts';
import { CasePatch, OneCase } from '../schemas/cases.ts';
import { CASES, casePath, clientOf, loggedAnswer, NO_CASE } from './support/cases.ts';

export const changeCase = operation({
  ...CASES,
  id: 'changeCase',
  sdk: 'cases.update',
  retry: 'unversioned',
  method: 'PATCH',
  path: '/cases/{id}',
  pathParameters: casePath,
  body: CasePatch,
  response: OneCase,
  statuses: NO_CASE,
  summary: 'Change a case',
  description:
    'Each changed field is an event of the history. With `version`, the change is made only if nothing else was changed meanwhile.',
  async run({ services, call, path, body }) {
    const written = await services.useCases.cases().change(clientOf(services, call), path.id, body);
    return loggedAnswer(services, call, 'case.change', written);
  },
});
