/** `assay import <source> <file…>`: reads files of publishers into the store of labels. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { parseCheckDate } from '../labels/attest.ts';
import { importFiles } from '../labels/import.ts';
import type { DatasetReport, ImportReport, ImportRequest } from '../labels/import-report.ts';
import type { RunResult } from '../labels/runs.ts';
import { type NameImportReport, parseNameSource } from '../names/lists-import.ts';
import { importRegisters, isRegisterSource } from '../registers/import.ts';
import { importIds, NAME_SOURCES, parseSource, REGISTER_SOURCES, SOURCES } from '../sources/index.ts';
import { LISTS } from '../sources/lists.ts';
import type { Source } from '../sources/source.ts';
import { answer, type Terminal, table } from './context.ts';
import { auditAttestation } from './lists.ts';
import { createProgress } from './progress.ts';
import { registerLines } from './registers.ts';
import type { Services } from './services.ts';
import { listedSources, sourcesHelp, sourceTable } from './sources.ts';

/** Parses `address=wallet,entity=owner` into a mapping from the file's columns to fields. */
function mappingFrom(text: string): Record<string, string> {
  const mapping: Record<string, string> = {};
  for (const pair of text.split(',')) {
    const [field, column, more] = pair.split('=').map((part) => part.trim());
    if (!field || !column || more !== undefined) {
      throw new AssayError('INVALID_REQUEST', `--map: '${pair}' is not of the form field=column.`);
    }
    mapping[column] = field;
  }
  return mapping;
}

/** Sources that are not imported into the store of labels. */
const OTHER_SOURCES = [...NAME_SOURCES, ...REGISTER_SOURCES].map(({ id }) => id);

const HEAD = ['DATASET', 'STATUS', 'PUBLISHED', 'RECORDS', 'LABELS', 'REJECTED', 'REJECTS FILE'];

const row = (report: DatasetReport): readonly string[] => [
  report.dataset,
  report.status,
  report.publishedAt ?? '-',
  String(report.records),
  String(report.labels),
  String(report.rejected),
  report.rejectsFile ?? '-',
];

/** Formats why rows were rejected, with the first line of each reason. */
const reasonLines = ({ reasons, keptApart, dataset }: DatasetReport): readonly string[] => [
  ...reasons.map(({ reason, rows, first: [example] }) => {
    const place = example === undefined ? '' : ` (first: ${example.file}, line ${example.line})`;
    return `${rows} × ${reason}${place}`;
  }),
  ...(keptApart === 0
    ? []
    : [
        `${keptApart} lower-cased base58 addresses of ${dataset} are kept apart; 'assay labels restore' finds their originals on chain.`,
      ]),
];

/** Formats an import report: one row per dataset, one line per list. */
export function importLines(datasets: readonly DatasetReport[]): readonly string[] {
  const lists = datasets.flatMap((dataset) => dataset.lists);
  return [
    ...table([HEAD, ...datasets.map(row)]),
    ...datasets.flatMap(reasonLines),
    ...lists.map(
      (change) =>
        `${change.list} of ${change.publishedAt}: ${change.parties} parties, ${change.wallets} wallets; now ` +
        `${change.inForce} wallets in force, ${change.delisted} delisted (newest file: ${change.newestAt ?? '-'}).`,
    ),
    ...lists.flatMap(({ list, heldBack }) =>
      heldBack === 0
        ? []
        : [
            `${list}: ${heldBack} wallets in force are not in the newest file, which has unreadable rows of their parties. They stay in ` +
              'force until a file without such rows; if they were removed, import it with --force.',
          ],
    ),
  ];
}

interface RowCounts {
  readonly records: number;
  readonly rejected: number;
}

/** Returns what the log of runs records of an import. */
function importResult(source: string, parts: readonly RowCounts[]): RunResult {
  const total = (read: (part: RowCounts) => number): number =>
    parts.reduce((sum, part) => sum + read(part), 0);
  const records = total((part) => part.records);
  const rejected = total((part) => part.rejected);
  return { sources: [{ source, records, rejected, error: null }], dataVersion: null, error: null };
}

const countsOfNames = ({ lists, rejected }: NameImportReport): RowCounts => ({
  records: lists.reduce((sum, { parties }) => sum + parties, 0),
  rejected,
});

function nameImportLines(reports: readonly NameImportReport[]): readonly string[] {
  return [
    ...table([
      ['LIST', 'STATUS', 'PUBLISHED', 'PARTIES', 'REJECTED', 'PASSED OVER'],
      ...reports.flatMap((report) =>
        report.lists.map(({ list, parties }) => [
          list,
          report.status,
          report.publishedAt,
          String(parties),
          String(report.rejected),
          String(report.passedOver),
        ]),
      ),
    ]),
    ...reports.flatMap((report) => report.rejects.map(({ line, reason }) => `line ${line}: ${reason}`)),
    ...reports
      .filter(({ status }) => status === 'older')
      .map(
        ({ dataset }) =>
          `A newer '${dataset}' is in force, so nothing was changed. --force imports the older one.`,
      ),
    reports.some(({ status }) => status === 'imported')
      ? 'Run `assay index build` to publish the changes.'
      : 'The store was not changed.',
  ];
}

interface AttestedCheck {
  readonly checkedAt: string;
  /** Writes one entry for each list of the report into the audit log. */
  audit(report: ImportReport): Promise<void>;
}

/**
 * Reads `--checked`.
 *
 * @throws INVALID_REQUEST if the date is in the future, or if the source has no sanctions list
 */
async function attestedCheck(
  sourceText: string,
  { checked, by }: { readonly checked?: string; readonly by?: string },
  services: () => Services,
): Promise<AttestedCheck | null> {
  if (checked === undefined) {
    if (by === undefined) return null;
    throw new AssayError('INVALID_REQUEST', '--by: only allowed together with --checked.');
  }
  const opened = services();
  const lists = opened.rules.sources.of(sourceText.toLowerCase())?.lists ?? [];
  if (lists.length === 0) {
    throw new AssayError(
      'INVALID_REQUEST',
      `--checked: '${sourceText.slice(0, 32)}' has no sanctions list. Only sanctions lists can be checked.`,
      { field: 'checked' },
    );
  }
  const checkedAt = parseCheckDate(checked, opened.clock.now());
  await opened.ready('accounts');
  const write = auditAttestation(opened, by);
  return {
    checkedAt,
    async audit({ datasets }) {
      for (const { list, publishedAt, newestAt } of datasets.flatMap((dataset) => dataset.lists)) {
        // An older file adds only history: the check does not apply to the newest file.
        if (publishedAt !== newestAt) continue;
        const known = LISTS.ids.find((one) => one === list);
        if (known !== undefined) await write({ list: known, checkedAt });
      }
    },
  };
}

/** Adds `assay import` for these sources of labels, and for all sources of names and registers. */
export function addImportCommand(
  program: Command,
  terminal: Terminal,
  services: () => Services,
  sources: readonly Source[] = SOURCES,
): void {
  program
    .command('import')
    .description('import files of a publisher into the label store (then run: index build)')
    .argument('[source]', `${importIds(sources).join(', ')}; without it, lists all sources`)
    .argument('[file...]', 'plain, .gz or .zip; files that belong together (the legacy CSV set) in one call')
    .option('--published <date>', 'publication date of a list whose file does not contain it (YYYY-MM-DD)')
    .option(
      '--checked <date>',
      'sanctions lists: date (UTC) of a check at which these files were the newest of their publisher',
    )
    .option('--by <name>', 'with --checked: person who checked; recorded in the audit log')
    .option(
      '--force',
      'accept a list that would delist more than half of its parties, or parties that its unreadable rows may hide',
    )
    .option('--map <pairs>', 'own: field=column,… if the columns have other names')
    .option('--dataset <name>', 'name of the dataset (default: given by the source)')
    .option(
      '--whole',
      'registers: the file is complete, so a firm that is not in it was removed from the register',
    )
    .option('--accept-licence', 'accept the licence of a source that restricts the use of its data')
    .option('--json', 'answer as JSON')
    .addHelpText('after', () => sourcesHelp(listedSources(sources)))
    .action(
      async (
        sourceText: string | undefined,
        files: string[],
        options: {
          published?: string;
          checked?: string;
          by?: string;
          force?: boolean;
          map?: string;
          dataset?: string;
          whole?: boolean;
          acceptLicence?: boolean;
          json?: boolean;
        },
      ) => {
        if (sourceText === undefined) {
          answer(terminal, options.json ?? false, listedSources(sources), sourceTable);
          return;
        }
        if (files.length === 0)
          throw new AssayError('INVALID_REQUEST', 'file: is missing. Name at least one file to import.');
        const progress = createProgress(terminal);
        try {
          const attested = await attestedCheck(sourceText, options, services);
          if (isRegisterSource(sourceText)) {
            const { registers: store, clock, runs } = services();
            const reports = await runs.record(
              'IMPORT',
              () =>
                importRegisters(
                  {
                    source: sourceText,
                    files,
                    force: options.force ?? false,
                    whole: options.whole ?? false,
                    ...(options.published === undefined ? {} : { published: options.published }),
                    signal: terminal.signal,
                  },
                  { store, clock },
                ),
              (done) => importResult(sourceText, done),
            );
            progress.end();
            answer(terminal, options.json ?? false, reports, registerLines);
            return;
          }
          const nameSource = parseNameSource(sourceText);
          if (nameSource !== null) {
            const { importNames, runs } = services();
            const reports = await runs.record(
              'IMPORT',
              () =>
                importNames({
                  source: nameSource,
                  files,
                  force: options.force ?? false,
                  ...(options.published === undefined ? {} : { published: options.published }),
                  ...(options.dataset === undefined ? {} : { dataset: options.dataset }),
                  onProgress: ({ file, records }) => progress.update(file, records, null, 'records'),
                  signal: terminal.signal,
                }),
              (done) => importResult(sourceText, done.map(countsOfNames)),
            );
            progress.end();
            answer(terminal, options.json ?? false, reports, nameImportLines);
            return;
          }
          const request: ImportRequest = {
            source: parseSource(sourceText, OTHER_SOURCES, sources),
            files,
            force: options.force ?? false,
            acceptLicence: options.acceptLicence ?? false,
            ...(options.published === undefined ? {} : { published: options.published }),
            ...(options.map === undefined ? {} : { mapping: mappingFrom(options.map) }),
            ...(options.dataset === undefined ? {} : { dataset: options.dataset }),
            ...(attested === null ? {} : { checkedAt: attested.checkedAt, isAttested: true }),
            onProgress: ({ file, records }) => progress.update(file, records, null, 'records'),
            signal: terminal.signal,
          };
          const opened = services();
          const report: ImportReport = await opened.runs.record(
            'IMPORT',
            () => importFiles(request, opened),
            ({ datasets }) => importResult(request.source, datasets),
          );
          await attested?.audit(report);
          progress.end();
          answer(terminal, options.json ?? false, report, () => [
            ...importLines(report.datasets),
            report.changed
              ? 'Run `assay index build` to publish the changes.'
              : 'The store already had all of it.',
          ]);
        } finally {
          progress.end();
        }
      },
    );
}
