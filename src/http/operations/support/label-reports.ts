/** Parts of the operations of reports on labels. */
import type { LabelReport } from '../../../attribution/reports.ts';

/** Returns a report as its account sees it. */
export const reportView = ({ accountId: _, ...report }: LabelReport): Omit<LabelReport, 'accountId'> =>
  report;
