/** Reports on labels: the own ones of an account, or those of all accounts for the people who operate the installation. */

import { call, type DataOf } from '../../api/client.ts';

export type OwnReport = DataOf<'/label-reports', 'get'>['reports'][number];
/** A report; `accountId` only for operators. */
export type Report = OwnReport & { readonly accountId?: string };
export type ReportState = OwnReport['state'];

/** `reportReasonCharsMax` of the API. */
export const REASON_CHARS_MAX = 1_000;
/** Rows of a page: the most that the API sends. */
const ROWS = 100;

export interface ReportsPage {
  readonly reports: readonly Report[];
  readonly nextCursor: string | null;
}

/** Reads a page of reports, newest first. */
export function readReports(
  isOperator: boolean,
  state: ReportState | undefined,
  cursor: { readonly cursor?: string },
  signal: AbortSignal,
): Promise<ReportsPage> {
  const query = { limit: ROWS, ...(state === undefined ? {} : { state }), ...cursor };
  return isOperator
    ? call('get', '/operator/label-reports', { query, signal })
    : call('get', '/label-reports', { query, signal });
}
