/** `GET /operator/label-reports`. */
import { Type } from 'typebox';
import { ATTRIBUTION_LIMITS } from '../../attribution/limits.ts';
import { operation } from '../operation.ts';
import { OperatorLabelReports, ReportStateSchema } from '../schemas/attribution.ts';
import { pageQuery } from '../schemas/fields.ts';
import { operatorView, reportPage } from './support/label-reports.ts';
import { OPERATOR_ONLY, requireOperator } from './support/operator.ts';
import { pageEnd } from './support/paging.ts';

export const operatorLabelReports = operation({
  ...OPERATOR_ONLY,
  id: 'operatorLabelReports',
  sdk: 'operator.labelReports',
  method: 'GET',
  path: '/operator/label-reports',
  query: { state: Type.Optional(ReportStateSchema), ...pageQuery(ATTRIBUTION_LIMITS.reportsPageMax) },
  response: OperatorLabelReports,
  summary: 'Reports on labels by all accounts',
  description: 'Newest first. For owners and analysts of an operator account.',
  async run({ services, call, query }) {
    requireOperator(call);
    const { labelReports } = services.useCases;
    const page = await reportPage(labelReports, null, query);
    return {
      reports: page.rows.map((report) => operatorView(report, labelReports)),
      open: labelReports.openCount(),
      ...pageEnd(query, page),
    };
  },
});
