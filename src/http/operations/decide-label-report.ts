/** `POST /operator/label-reports/{id}/decision`. */
import { type Actor, OPERATOR } from '../../accounts/audit.ts';
import { answeredDispute } from '../../attribution/explain.ts';
import { checkedReason } from '../../attribution/reason.ts';
import { AssayError } from '../../base/errors.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { DecidedLabelReport, ReportDecisionBody } from '../schemas/attribution.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { idText } from '../schemas/fields.ts';
import { operatorView } from './support/label-reports.ts';
import { OPERATOR_ONLY, requireOperator } from './support/operator.ts';

/** How the audit log of another account names the person who decided: neither their id nor their address is for that account. */
const SERVICE: Actor = { who: OPERATOR.who, from: 'operators of the service' };

export const decideLabelReport = operation({
  ...OPERATOR_ONLY,
  id: 'decideLabelReport',
  sdk: 'operator.decideLabelReport',
  method: 'POST',
  path: '/operator/label-reports/{id}/decision',
  pathParameters: { id: idText('Id of an open report.') },
  body: ReportDecisionBody,
  response: DecidedLabelReport,
  statuses: { 404: { description: 'No report has the id.', schema: ErrorBody } },
  examples: [
    {
      summary: 'Dispute the labels',
      body: {
        state: 'ACCEPTED',
        reason: 'Signed with the key of the address.',
        category: 'DONATION',
        name: 'A Foundation',
      },
    },
    { summary: 'Keep the labels', body: { state: 'REJECTED', reason: 'The exchange names the address.' } },
  ],
  summary: 'Decide a report on labels',
  description:
    'Accepting a report stores a dispute: an own label with the reason, which comes first. A build in the background publishes it. Sanctions in force are not affected. For owners and analysts of an operator account.',
  async run({ services, call, path, body }) {
    requireOperator(call);
    const { state, category = null, corrects = [] } = body;
    const extra = (['category', 'name', 'corrects'] as const).find((field) => body[field] !== undefined);
    if (state === 'REJECTED' && extra !== undefined)
      throw new AssayError('INVALID_REQUEST', `${extra}: only if the report is accepted.`, { field: extra });
    const reason = checkedReason('reason', body.reason);
    const name = body.name === undefined ? null : checkedReason('name', body.name);
    const { report, dispute } = await services.useCases.labelReports.decide(path.id, {
      ...{ state, reason, category, name, corrects },
    });
    const principal = principalOf(call);
    const own = accountOf(principal);
    const audit = services.access.audit();
    if (dispute !== null)
      await audit.write({
        ...principal.actor,
        action: 'label.dispute',
        accountId: own,
        subject: `${dispute.chain} ${dispute.address}`,
        detail: `${dispute.category}: ${reason}`,
      });
    for (const accountId of new Set([own, report.accountId]))
      await audit.write({
        ...(accountId === own ? principal.actor : SERVICE),
        action: 'label.decide',
        accountId,
        subject: report.id,
        detail: `${state}: ${reason}`,
      });
    const view = operatorView(report, services.useCases.labelReports);
    return { report: view, dispute: dispute === null ? null : answeredDispute(dispute) };
  },
});
