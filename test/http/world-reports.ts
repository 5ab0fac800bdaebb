/** The use cases of reports on labels for the tests of the front end, in memory. Addresses that begin with 0xdead have no label. */
import type { LabelReport } from '../../src/attribution/reports.ts';
import { AssayError } from '../../src/base/errors.ts';
import type { LabelReportUseCases } from '../../src/http/ports.ts';
import type { Category } from '../../src/labels/taxonomy.ts';
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
    async decide(id, { state, reason, name, category }) {
      const at = filed.findIndex((one) => one.id === id);
      const before = filed[at];
      if (before === undefined) throw new AssayError('NOT_FOUND', 'id: there is no report.');
      const report: LabelReport = { ...before, state, note: reason, decidedAt: '2026-11-27T01:00:00.000Z' };
      filed[at] = report;
      if (state === 'REJECTED') return { report, dispute: null };
      const { chain, address } = report;
      const dispute = {
        ...{ chain, address, key: '', reason, disputedAt: '2026-11-27T01:00:00.000Z', corrects: [] },
        ...{ entityId: 'disputed', name: name ?? 'Disputed attribution', threatLevel: 'LOW' as const },
        category: (category ?? 'OTHER') as Category,
      };
      return { report, dispute };
    },
    labelsOf: ({ source }) => [
      { source: source ?? 'seed', name: 'Example', category: 'SCAM', threatLevel: 'HIGH' },
    ],
    openCount: () => filed.filter(({ state }) => state === 'OPEN').length,
  };
}
