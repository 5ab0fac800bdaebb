/** `POST /address/{chain}/{address}/reports`. */
import { reportedLabels } from '../../attribution/reports.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { LabelReportBody, OneLabelReport } from '../schemas/attribution.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { addressText, chainText } from '../schemas/fields.ts';
import { reportView } from './support/label-reports.ts';

export const reportLabel = operation({
  id: 'reportLabel',
  sdk: 'labels.report',
  retry: 'safe',
  tag: 'Labels',
  method: 'POST',
  path: '/address/{chain}/{address}/reports',
  permission: 'intel',
  principal: 'session or key',
  rateClass: 'intel',
  pathParameters: { chain: chainText('Chain of the address.'), address: addressText('The address.') },
  body: LabelReportBody,
  response: OneLabelReport,
  statuses: { 404: { description: 'The address has no label of the source.', schema: ErrorBody } },
  summary: 'Report a wrong label',
  description:
    'Files a report for the operators of the service, who decide it. It changes no label. While the account has an open report on the same labels, that one is returned.',
  async run({ services, call, path, body }) {
    const principal = principalOf(call);
    const { reason, source = null } = body;
    const accountId = accountOf(principal);
    const { report, isNew } = await services.useCases.labelReports.file({
      ...{ accountId, chain: path.chain, address: path.address, source, reason },
    });
    if (isNew)
      await services.access.audit().write({
        ...principal.actor,
        action: 'label.report',
        accountId,
        subject: report.id,
        detail: reportedLabels(report),
      });
    return { report: reportView(report, services.useCases.labelReports), isNew };
  },
});
