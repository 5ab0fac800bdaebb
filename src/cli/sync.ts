/** `assay sync [source…]`: downloads the official lists and daily prices, imports changes, publishes a new snapshot. */

import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { isUrl } from '../base/url.ts';
import type { PriceSyncReport } from '../chains/prices/daily.ts';
import { ensureShipped } from '../labels/build-index.ts';
import {
  noListSentence,
  parseRefreshSource,
  type RefreshProgress,
  type RefreshReport,
  refreshLists,
  type SourceRefresh,
} from '../labels/refresh.ts';
import type { RunResult, RunSource } from '../labels/runs.ts';
import {
  ALL_REGISTERS,
  downloadableRegisters,
  type RegisterRefresh,
  refreshRegister,
} from '../registers/import.ts';
import { SOURCES, syncIds } from '../sources/index.ts';
import type { Source } from '../sources/source.ts';
import { answer, type Terminal } from './context.ts';
import { importLines } from './import.ts';
import { createProgress } from './progress.ts';
import { registerRefreshLines } from './registers.ts';
import type { Services } from './services.ts';
import { sourcesHelp, sourceTable, syncedSources } from './sources.ts';

/**
 * Parses `--from`.
 *
 * @throws INVALID_REQUEST if it is not an http or https URL
 */
export function mirrorFrom(text: string): string {
  if (isUrl(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new AssayError('INVALID_REQUEST', `--from: '${text}' is not an http or https URL.`);
}

/** Formats the result of a source. */
export const sourceLines = (source: SourceRefresh): readonly string[] => [
  `${source.source}: ${source.ok ? 'ok' : 'failed'}`,
  ...source.downloads.map(
    (file) => `  ${file.name}: ${file.status}${file.reason ? ` (${file.reason})` : ''}`,
  ),
  ...(source.imports.length > 0 ? importLines(source.imports).map((line) => `  ${line}`) : []),
  ...source.errors.map((error) => `  ${error}`),
];

/** Registers are not labels: they are refreshed in addition to the lists, and need no snapshot. */
type RegisterSync = RegisterRefresh & { readonly imports: readonly [] };

/** Prices are read into tables, and need no snapshot. */
type PriceSync = PriceSyncReport & { readonly imports: readonly [] };

interface SyncReport extends Omit<RefreshReport, 'sources'> {
  readonly sources: readonly (SourceRefresh | RegisterSync | PriceSync)[];
  readonly namesRebuilt: boolean;
}

const priceLines = ({ ok, closes, coins, newest, errors }: PriceSyncReport): readonly string[] => [
  `prices: ${ok ? 'ok' : 'failed'}`,
  `  ${closes} new daily prices; ${coins} coins in the tables${newest === null ? '' : `, the newest of ${newest}`}`,
  ...errors.map((error) => `  ${error}`),
];

function linesOf(one: SyncReport['sources'][number]): readonly string[] {
  if ('registers' in one) return registerRefreshLines(one);
  return 'closes' in one ? priceLines(one) : sourceLines(one);
}

const reportLines = (report: SyncReport): readonly string[] => [
  ...report.sources.flatMap(linesOf),
  ...(report.buildError === null ? [] : [report.buildError]),
  ...(report.namesRebuilt ? ['Published a new index of names.'] : []),
  report.rebuilt ? `Published snapshot ${report.dataVersion}.` : 'No new snapshot was needed.',
];

/** Sources that are not label sources: registers, and prices. */
const OTHER_SOURCES: readonly string[] = [
  ...downloadableRegisters.map(({ id }) => id),
  ALL_REGISTERS,
  'prices',
];

const isOfLists = (one: SyncReport['sources'][number]): one is SourceRefresh => 'hosts' in one;

/** The report of a sync of prices alone. */
const NO_LISTS = { rebuilt: false, dataVersion: null, buildError: null, namesRebuilt: false } as const;

/** Returns what the log of runs records of a source. */
function runSourceOf(one: SyncReport['sources'][number]): RunSource {
  const { source, errors } = one;
  const error = one.ok ? null : (errors[0] ?? 'The source was not refreshed.');
  if ('closes' in one) return { source, records: one.closes, rejected: null, error };
  const parts = 'registers' in one ? one.registers : one.imports;
  const total = (read: (part: (typeof parts)[number]) => number): number =>
    parts.reduce((sum: number, part) => sum + read(part), 0);
  return {
    source,
    records: parts.length === 0 ? null : total(({ records }) => records),
    rejected: parts.length === 0 ? null : total(({ rejected }) => rejected),
    error,
  };
}

const syncResult = ({ sources, rebuilt, dataVersion, buildError }: SyncReport): RunResult => ({
  sources: sources.map(runSourceOf),
  dataVersion: rebuilt ? dataVersion : null,
  error: buildError,
});

/** Shows a step of a refresh. */
export function showRefresh(progress: ReturnType<typeof createProgress>, step: RefreshProgress): void {
  if (step.step === 'download') {
    const { file, bytes, totalBytes } = step.progress;
    progress.update(`${step.source} ${file}`, bytes, totalBytes, 'bytes');
  } else if (step.step === 'import') {
    progress.update(`${step.source} import`, step.progress.records, null, 'records');
  } else {
    progress.update(`index ${step.progress.phase}`, step.progress.done, step.progress.total, 'labels');
  }
}

interface SyncFlags {
  readonly from?: string;
  readonly acceptLicence?: boolean;
  readonly force?: boolean;
  readonly list?: boolean;
  readonly json?: boolean;
}

/** Prices are no source of parties: their servers are settings. */
const PRICES_HELP =
  '\n`assay sync prices` adds daily prices of ASSAY_PRICE_URL or of the EVM nodes (ASSAY_RPC_<CHAIN>). Sources that are read by hand: `assay import`.';

/** Adds `assay sync` for these sources of labels, and for registers and prices. */
export function addSyncCommand(
  program: Command,
  terminal: Terminal,
  services: () => Services,
  sources: readonly Source[] = SOURCES,
): void {
  program
    .command('sync')
    .description(
      'download the official lists and daily prices, and publish a new snapshot if anything has changed',
    )
    .argument(
      '[source...]',
      `${[...syncIds(sources), ALL_REGISTERS, 'prices'].join(', ')} (default: all lists, esma and the configured prices; ${ALL_REGISTERS}: all registers)`,
    )
    .option('--from <url>', 'a mirror: file names are appended to this URL')
    .option('--force', 'accept files and lists that look implausible')
    .option(
      '--accept-licence',
      'accept the licences of the named sources that restrict the use of their data',
    )
    .option('--list', 'list all sources, and download nothing')
    .option('--json', 'answer as JSON')
    .addHelpText('after', () => `${sourcesHelp(syncedSources(sources))}\n${PRICES_HELP}`)
    .action(async (sourceTexts: string[], options: SyncFlags) => {
      if (options.list === true) {
        answer(terminal, options.json ?? false, syncedSources(sources), sourceTable);
        return;
      }
      const progress = createProgress(terminal);
      const conclude = (report: SyncReport): void => {
        progress.end();
        answer(terminal, options.json ?? false, report, reportLines);
        const failed = report.sources
          .filter((source) => !source.ok)
          .map(({ source, errors }) => `${source} (${errors[0]?.replace(/\.$/, '') ?? 'see above'})`);
        // With --json, the report itself contains the failures, and its reader needs it complete.
        if (options.json === true) return;
        const offline = noListSentence(report.sources.filter(isOfLists));
        if (offline !== null)
          throw new AssayError(
            'SOURCE_UNAVAILABLE',
            `${offline[0]?.toUpperCase()}${offline.slice(1)}. Earlier data stays in use.`,
          );
        if (failed.length > 0)
          throw new AssayError(
            'SOURCE_UNAVAILABLE',
            `Not refreshed: ${failed.join(', ')}. Earlier data stays in use.`,
          );
        if (report.buildError !== null) throw new AssayError('SOURCE_UNAVAILABLE', report.buildError);
      };
      try {
        const opened = services();
        const all = sourceTexts.length === 0;
        const asksPrices = all
          ? opened.canSyncPrices
          : sourceTexts.some((text) => text.toLowerCase() === 'prices');
        if (asksPrices && !opened.canSyncPrices)
          throw new AssayError(
            'INVALID_CONFIG',
            'prices: no source is configured. Set ASSAY_PRICE_URL, or ASSAY_RPC_<CHAIN> of an EVM chain.',
            { field: 'source' },
          );
        const syncedPrices = async (): Promise<PriceSync[]> => {
          if (!asksPrices) return [];
          const report = await opened.syncPrices(terminal.signal, (done, total) =>
            progress.update('prices', done, total, 'coins'),
          );
          return [{ ...report, imports: [] }];
        };
        // Every node needs prices, also a node that pulls its labels.
        const onlyPrices = !all && sourceTexts.every((text) => text.toLowerCase() === 'prices');
        if (!onlyPrices) opened.requireBuilder();
        const from = options.from === undefined ? (opened.syncFrom ?? undefined) : mirrorFrom(options.from);
        const listTexts = sourceTexts.filter((text) => !OTHER_SOURCES.includes(text.toLowerCase()));
        const wanted = listTexts.map((text) => parseRefreshSource(text, OTHER_SOURCES, sources));
        const syncLists = async (): Promise<RefreshReport> => {
          // As at the start of a server: a snapshot of the lists alone would have no exchanges and no bridges.
          await ensureShipped(opened);
          return refreshLists(
            {
              ...(all ? {} : { sources: wanted }),
              ...(options.acceptLicence === true ? { acceptedLicences: new Set<string>(wanted) } : {}),
              from,
              force: options.force ?? false,
              snapshotsFolder: opened.snapshotsFolder,
              signal: terminal.signal,
              onProgress: (step) => showRefresh(progress, step),
            },
            opened,
          );
        };
        const syncedRegisters = async (): Promise<RegisterSync[]> => {
          const registers: RegisterSync[] = [];
          const words = new Set(sourceTexts.map((text) => text.toLowerCase()));
          for (const source of downloadableRegisters) {
            const credentials = opened.sourceCredentials[source.id];
            const everyRegister = words.has(ALL_REGISTERS);
            if (!words.has(source.id) && !(all ? source.everySync : everyRegister)) continue;
            // `registers` is what can be fetched: a source that needs an account is skipped without one.
            const needsAccount = source.files.some((file) => 'credentials' in file);
            if (needsAccount && credentials === undefined && from === undefined && !words.has(source.id))
              continue;
            const refreshed = await refreshRegister(
              source,
              { from, credentials, force: options.force ?? false, signal: terminal.signal },
              { store: opened.registers, clock: opened.clock, log: opened.log },
            );
            registers.push({ ...refreshed, imports: [] });
          }
          return registers;
        };
        const sync = async (): Promise<SyncReport> => {
          if (onlyPrices) return { ...NO_LISTS, sources: await syncedPrices() };
          const lists = await syncLists();
          const registers = await syncedRegisters();
          const namesRebuilt = (await opened.buildNames()).built;
          return {
            ...lists,
            namesRebuilt,
            sources: [...lists.sources, ...registers, ...(await syncedPrices())],
          };
        };
        conclude(await opened.runs.record('SYNC', sync, syncResult));
      } finally {
        progress.end();
      }
    });
}
