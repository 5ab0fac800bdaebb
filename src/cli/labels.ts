/** `assay labels`: all published sources of labels, originals of lower-cased addresses, disputes and reports. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { ensureShipped } from '../labels/build-index.ts';
import { LOWERED_SEGMENT, type RestoreReport, restoreLowered } from '../labels/lowered.ts';
import type { RunResult } from '../labels/runs.ts';
import type { DatasetRow } from '../labels/store.ts';
import { planSync, type SyncAllReport, syncAllLabels } from '../labels/sync-all.ts';
import { SOURCES } from '../sources/index.ts';
import { openLines } from '../sources/open.ts';
import type { Source } from '../sources/source.ts';
import { answer, type Terminal } from './context.ts';
import { addDisputeCommands } from './label-disputes.ts';
import { createProgress, withProgress } from './progress.ts';
import type { Services } from './services.ts';
import { mirrorFrom, showRefresh, sourceLines } from './sync.ts';

interface SyncFlags {
  readonly all?: boolean;
  readonly acceptLicence?: string;
  readonly from?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

const ids = (text: string | undefined): ReadonlySet<string> =>
  new Set((text ?? '').split(',').flatMap((id) => (id.trim() === '' ? [] : [id.trim().toLowerCase()])));

/** Formats the report of a complete run. */
const syncLines = (report: SyncAllReport): readonly string[] => [
  ...(report.resumed.length === 0 ? [] : [`Continued a run that had finished ${report.resumed.join(', ')}.`]),
  ...report.sources.flatMap(sourceLines),
  ...report.restricted.map(
    (id) => `${id}: not downloaded; its licence must be accepted: --accept-licence ${id}`,
  ),
  ...report.accounts.map(
    ({ source, account, command }) =>
      `${source}: needs ${account}; then run \`${command}\` and \`assay index build\`.`,
  ),
  ...(report.buildError === null ? [] : [report.buildError]),
  report.rebuilt ? `Published snapshot ${report.dataVersion}.` : 'No new snapshot was needed.',
];

const syncResult = ({ sources, rebuilt, dataVersion, buildError }: SyncAllReport): RunResult => ({
  sources: sources.map(({ source, imports, ok, errors }) => ({
    source,
    records: imports.reduce((sum, { records }) => sum + records, 0),
    rejected: imports.reduce((sum, { rejected }) => sum + rejected, 0),
    error: ok ? null : (errors[0] ?? 'The source was not refreshed.'),
  })),
  dataVersion: rebuilt ? dataVersion : null,
  error: buildError,
});

function addSync(
  labels: Command,
  terminal: Terminal,
  services: () => Services,
  sources: readonly Source[],
): void {
  labels
    .command('sync')
    .description('download and import all published labels that need no account, and publish one snapshot')
    .requiredOption('--all', 'every source; `assay sync SOURCE` downloads single ones')
    .option('--accept-licence <sources>', 'also sources with a restricted licence, which this accepts: a,b')
    .option('--from <url>', 'a mirror: file names are appended to this URL')
    .option('--force', 'accept files and lists that look implausible')
    .option('--json', 'answer as JSON')
    .action(async (options: SyncFlags) => {
      const acceptedLicences = ids(options.acceptLicence);
      planSync(acceptedLicences, sources);
      const opened = services();
      opened.requireBuilder();
      const from = options.from === undefined ? (opened.syncFrom ?? undefined) : mirrorFrom(options.from);
      const progress = createProgress(terminal);
      try {
        const report = await opened.runs.record(
          'SYNC',
          async () => {
            await ensureShipped(opened);
            const found = await syncAllLabels(
              {
                acceptedLicences,
                from,
                force: options.force ?? false,
                snapshotsFolder: opened.snapshotsFolder,
                signal: terminal.signal,
                onProgress: (step) => showRefresh(progress, step),
              },
              opened,
            );
            await opened.buildNames();
            return found;
          },
          syncResult,
        );
        progress.end();
        answer(terminal, options.json ?? false, report, syncLines);
        const failed = report.sources.filter(({ ok }) => !ok).map(({ source }) => source);
        if (failed.length > 0)
          throw new AssayError(
            'SOURCE_UNAVAILABLE',
            `Not refreshed: ${failed.join(', ')}. The other sources were imported; earlier data of these stays in use.`,
          );
        if (report.buildError !== null) throw new AssayError('SOURCE_UNAVAILABLE', report.buildError);
      } finally {
        progress.end();
      }
    });
}

/** Yields the keys of the valid addresses of a file, one address a line. */
async function keysIn(path: string): Promise<Uint8Array[]> {
  const keys: Uint8Array[] = [];
  for await (const { text } of openLines(path)) {
    const address = text.trim();
    if (address === '') continue;
    try {
      keys.push(parseAddress('BTC', address).key);
    } catch {
      // A text without a valid checksum was not seen on chain, and restores nothing.
    }
  }
  return keys;
}

function requireLowered(rows: readonly DatasetRow[]): DatasetRow {
  const row = rows.find(({ source, keptApart }) => source === 'mbal' && (keptApart ?? 0) > 0);
  if (row !== undefined) return row;
  throw new AssayError(
    'NOT_FOUND',
    `No dataset has ${LOWERED_SEGMENT} addresses. Import the file of MBAL first: assay import mbal FILE.`,
  );
}

function addRestore(labels: Command, terminal: Terminal, services: () => Services): void {
  labels
    .command('restore')
    .description(
      'find the originals of the lower-cased Bitcoin addresses of MBAL among addresses seen on chain (then run: index build)',
    )
    .option(
      '--addresses <file>',
      'a file of addresses, one a line, in addition to the stored transfers of BTC',
    )
    .option('--json', 'answer as JSON')
    .action(async (options: { addresses?: string; json?: boolean }) => {
      const opened = services();
      const row = requireLowered(opened.store.catalogue().datasets);
      const listed = options.addresses === undefined ? [] : await keysIn(options.addresses);
      const transfers = opened.transfers('read');
      function* seen(): Generator<Uint8Array> {
        yield* listed;
        yield* transfers.addresses('BTC');
      }
      const report = await withProgress(terminal, (progress) =>
        restoreLowered(
          row,
          {
            chain: 'BTC',
            seen: seen(),
            onProgress: (addresses) => progress.update('restore', addresses, null, 'addresses'),
            signal: terminal.signal,
          },
          opened,
        ),
      );
      answer(terminal, options.json ?? false, report, restoreLines);
    });
}

const restoreLines = ({ kept, seen, restored, ambiguous, dataset }: RestoreReport): readonly string[] => [
  `${seen} addresses seen on chain were compared with ${kept} lower-cased ones: ${restored} restored, ${ambiguous} ambiguous.`,
  dataset === null ? 'Nothing was imported.' : 'Run `assay index build` to publish the changes.',
];

/** Adds `assay labels`. */
export function addLabelsCommand(
  program: Command,
  terminal: Terminal,
  services: () => Services,
  sources: readonly Source[] = SOURCES,
): void {
  const labels = program.command('labels').description('published sources of labels, disputes and reports');
  addSync(labels, terminal, services, sources);
  addRestore(labels, terminal, services);
  addDisputeCommands(labels, terminal, services);
}
