/** Parts of the operations of reports on labels. */
import type { LabelReport, ReportedLabel } from '../../../attribution/reports.ts';
import type { LabelReportUseCases } from '../../ports.ts';

export type OperatorReportView = LabelReport & { readonly labels: readonly ReportedLabel[] };

/** Returns a report with its labels, as operators see it. */
export const operatorView = (
  report: LabelReport,
  { labelsOf }: Pick<LabelReportUseCases, 'labelsOf'>,
): OperatorReportView => ({ ...report, labels: labelsOf(report) });

/** Returns a report with its labels, as its account sees it. */
export function reportView(
  report: LabelReport,
  useCase: Pick<LabelReportUseCases, 'labelsOf'>,
): Omit<OperatorReportView, 'accountId'> {
  const { accountId: _, ...view } = operatorView(report, useCase);
  return view;
}
