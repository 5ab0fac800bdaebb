/** Parts of the operations of reports on labels. */
import { ATTRIBUTION_LIMITS } from '../../../attribution/limits.ts';
import type { LabelReport, ReportedLabel, ReportQuery } from '../../../attribution/reports.ts';
import type { LabelReportUseCases } from '../../ports.ts';
import { pageInSteps } from './paging.ts';

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

/** Returns a page of reports, newest first; those of one account if `accountId` is not null. */
export const reportPage = (
  { list }: Pick<LabelReportUseCases, 'list'>,
  accountId: string | null,
  { limit, cursor, state }: ReportQuery,
): ReturnType<typeof pageInSteps<LabelReport>> =>
  pageInSteps(
    { limit, ...(cursor === undefined ? {} : { cursor }) },
    ATTRIBUTION_LIMITS.reportStepsMax,
    (part) => {
      const readMax = ATTRIBUTION_LIMITS.reportsReadMax;
      const { reports: rows, nextCursor } = list(accountId, {
        ...part,
        ...(state === undefined ? {} : { state }),
        readMax,
      });
      return { rows, nextCursor };
    },
  );
