/** Output of `import` and `sync` about registers. */
import type { RegisterRefresh, RegisterReport } from '../registers/import.ts';
import { table } from './context.ts';

const HEAD = ['REGISTER', 'STATUS', 'AS OF', 'RECORDS', 'REJECTED', 'IN FORCE', 'WITHDRAWN'];

/** Formats an import report: one row per register, and one line per row that could not be read. */
export function registerLines(reports: readonly RegisterReport[]): readonly string[] {
  const rejects = new Map(reports.map((report) => [report.file, report.rejects]));
  return [
    ...table([
      HEAD,
      ...reports.map((report) => [
        report.register,
        report.status,
        report.asOf,
        String(report.records),
        String(report.rejected),
        String(report.inForce),
        String(report.withdrawn),
      ]),
    ]),
    ...[...rejects.values()]
      .flat()
      .map(({ provenance, reason }) => `${provenance.file}, line ${provenance.line}: ${reason}`),
  ];
}

/** Formats the report of a register refresh. */
export const registerRefreshLines = (refresh: RegisterRefresh): readonly string[] => [
  `${refresh.source}: ${refresh.ok ? 'ok' : 'failed'}`,
  ...refresh.downloads.map(
    (file) => `  ${file.name}: ${file.status}${file.reason ? ` (${file.reason})` : ''}`,
  ),
  ...(refresh.registers.length > 0 ? registerLines(refresh.registers).map((line) => `  ${line}`) : []),
  ...refresh.errors.map((error) => `  ${error}`),
];
