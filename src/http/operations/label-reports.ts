/** `GET /label-reports`. */
import { Type } from 'typebox';
import { ATTRIBUTION_LIMITS } from '../../attribution/limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { LabelReportList, ReportStateSchema } from '../schemas/attribution.ts';
import { pageQuery } from '../schemas/fields.ts';
import { reportPage, reportView } from './support/label-reports.ts';
import { pageEnd } from './support/paging.ts';

export const labelReports = operation({
  id: 'labelReports',
  sdk: 'labels.listReports',
  tag: 'Labels',
  method: 'GET',
  path: '/label-reports',
  permission: 'intel',
  principal: 'session or key',
  rateClass: 'intel',
  query: { state: Type.Optional(ReportStateSchema), ...pageQuery(ATTRIBUTION_LIMITS.reportsPageMax) },
  response: LabelReportList,
  summary: 'Reports on labels by the account',
  description: 'Newest first, with the decisions of the operators.',
  async run({ services, call, query }) {
    const useCase = services.useCases.labelReports;
    const page = await reportPage(useCase, accountOf(principalOf(call)), query);
    return { reports: page.rows.map((report) => reportView(report, useCase)), ...pageEnd(query, page) };
  },
});
