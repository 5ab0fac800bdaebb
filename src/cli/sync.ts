/** `assay sync [source…]`: downloads the official lists, imports what changed, publishes a new snapshot. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { ensureShipped } from '../labels/build-index.ts';
import {
  parseRefreshSource,
  REFRESH_SOURCES,
  type RefreshReport,
  refreshLists,
  type SourceRefresh,
} from '../labels/refresh.ts';
import { type RegisterRefresh, refreshRegisters } from '../registers/import.ts';
import { answer, type Terminal } from './context.ts';
import { importLines } from './import.ts';
import type { Parts } from './parts.ts';
import { createProgress } from './progress.ts';
import { registerRefreshLines } from './registers.ts';

function mirrorFrom(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new AssayError('INVALID_REQUEST', `--from: '${text}' is not an http or https URL.`);
}

const sourceLines = (source: SourceRefresh): readonly string[] => [
  `${source.source}: ${source.ok ? 'ok' : 'failed'}`,
  ...source.downloads.map(
    (file) => `  ${file.name}: ${file.status}${file.reason ? ` (${file.reason})` : ''}`,
  ),
  ...(source.imports.length > 0 ? importLines(source.imports).map((line) => `  ${line}`) : []),
  ...source.errors.map((error) => `  ${error}`),
];

/** ESMA's registers are no labels: they are refreshed beside the lists, and need no snapshot. */
type RegisterSync = RegisterRefresh & { readonly imports: readonly [] };

interface SyncReport extends Omit<RefreshReport, 'sources'> {
  readonly sources: readonly (SourceRefresh | RegisterSync)[];
  readonly namesRebuilt: boolean;
}

const reportLines = (report: SyncReport): readonly string[] => [
  ...report.sources.flatMap((one) => (one.source === 'esma' ? registerRefreshLines(one) : sourceLines(one))),
  ...(report.buildError === null ? [] : [report.buildError]),
  ...(report.namesRebuilt ? ['Published a new index of names.'] : []),
  report.rebuilt ? `Published snapshot ${report.dataVersion}.` : 'No new snapshot was needed.',
];

export function addSyncCommand(program: Command, terminal: Terminal, parts: () => Parts): void {
  program
    .command('sync')
    .description('download the official lists and publish a new snapshot if anything changed')
    .argument('[source...]', `${[...REFRESH_SOURCES, 'esma'].join(', ')} (default: all)`)
    .option('--from <url>', 'a mirror: file names are appended to this URL')
    .option('--force', 'accept files and lists that look implausible')
    .option('--json', 'answer as JSON')
    .action(async (sourceTexts: string[], options: { from?: string; force?: boolean; json?: boolean }) => {
      const progress = createProgress(terminal);
      try {
        const opened = parts();
        opened.requireBuilder();
        const from = options.from === undefined ? (opened.syncFrom ?? undefined) : mirrorFrom(options.from);
        // As a server does when it starts: a snapshot of the lists alone would know no exchange and no bridge.
        await ensureShipped(opened);
        const all = sourceTexts.length === 0;
        const listTexts = sourceTexts.filter((text) => text.toLowerCase() !== 'esma');
        const lists = await refreshLists(
          {
            ...(all ? {} : { sources: listTexts.map(parseRefreshSource) }),
            from,
            force: options.force ?? false,
            snapshotsFolder: opened.snapshotsFolder,
            signal: terminal.signal,
            onProgress: (step) => {
              if (step.step === 'download') {
                const { file, bytes, totalBytes } = step.progress;
                progress.update(`${step.source} ${file}`, bytes, totalBytes, 'bytes');
              } else if (step.step === 'import') {
                progress.update(`${step.source} import`, step.progress.records, null, 'records');
              } else {
                progress.update(
                  `index ${step.progress.phase}`,
                  step.progress.done,
                  step.progress.total,
                  'labels',
                );
              }
            },
          },
          opened,
        );
        const asksEsma = all || listTexts.length < sourceTexts.length;
        const esma = asksEsma
          ? await refreshRegisters(
              { from, force: options.force ?? false, signal: terminal.signal },
              { store: opened.registers, clock: opened.clock, log: opened.log },
            )
          : null;
        const namesRebuilt = (await opened.buildNames()).built;
        const report: SyncReport = {
          ...lists,
          namesRebuilt,
          sources: [...lists.sources, ...(esma === null ? [] : [{ ...esma, imports: [] as const }])],
        };
        progress.end();
        answer(terminal, options.json ?? false, report, reportLines);
        const failed = report.sources.filter((source) => !source.ok).map((source) => source.source);
        // With --json the report itself says what failed, and its reader wants it whole.
        if (failed.length > 0 && options.json !== true) {
          throw new AssayError(
            'SOURCE_UNAVAILABLE',
            `Not refreshed: ${failed.join(', ')}. What was loaded before stays in force.`,
          );
        }
      } finally {
        progress.end();
      }
    });
}
