/** The use cases of reports on labels for the tests of the front end, in memory. Addresses that begin with 0xdead have no label. */
import type { LabelReport } from '../../src/attribution/reports.ts';
import { AssayError } from '../../src/base/errors.ts';
import type { LabelReportUseCases } from '../../src/http/ports.ts';
import { parseSubject } from '../../src/screening/subject.ts';

export function worldReports(): LabelReportUseCases {
  const filed: LabelReport[] = [];
  return {
    async file({ accountId, chain, address, source, reason }) {
      const subject = parseSubject(chain, address);
      const { shown } = subject;
      if (shown.startsWith('0xdead')) throw new AssayError('NOT_FOUND', `address: ${shown} has no label.`);
      const same = filed.find(
        (one) => one.accountId === accountId && one.address === shown && one.source === source,
      );
      if (same !== undefined) return { report: same, isNew: false };
      const report: LabelReport = {
        ...{ id: `rpt_${filed.length.toString(36).padStart(25, '0')}`, accountId, chain: subject.chain },
        ...{ address: shown, source, reason, state: 'OPEN', filedAt: '2026-11-27T00:00:00.000Z' },
        ...{ decidedAt: null, note: null },
      };
      filed.push(report);
      return { report, isNew: true };
    },
    list(accountId, { limit, state }) {
      const reports = filed
        .filter((one) => accountId === null || one.accountId === accountId)
        .filter((one) => state === undefined || one.state === state);
      return { reports: reports.slice(0, limit), nextCursor: null };
    },
    openCount: () => filed.filter(({ state }) => state === 'OPEN').length,
  };
}
