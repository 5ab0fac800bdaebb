/** `assay ingest <format> <file…> --chain C`: reads transfers into the transfer store. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { priced } from '../chains/prices/priced.ts';
import { pricesFolderOf } from '../chains/prices/table.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import {
  INGEST_FORMATS,
  type IngestDeps,
  type IngestFormat,
  type IngestReport,
  ingestFiles,
} from '../graph/ingest/ingest-files.ts';
import {
  ingestUtxoFiles,
  UTXO_INGEST_FORMATS,
  type UtxoIngestFormat,
  type UtxoIngestReport,
} from '../graph/ingest/ingest-utxo-files.ts';
import { quotedRejects } from '../sources/layout-error.ts';
import { answer, type Terminal } from './context.ts';
import { createProgress, withProgress } from './progress.ts';
import type { Services } from './services.ts';

const FORMATS = [...INGEST_FORMATS, ...UTXO_INGEST_FORMATS] as const;

function formatFrom(text: string): IngestFormat | UtxoIngestFormat {
  const format = FORMATS.find((known) => known === text);
  if (format) return format;
  throw new AssayError('INVALID_REQUEST', `format: must be one of ${FORMATS.join(', ')} (got '${text}').`);
}

const isUtxoFormat = (format: IngestFormat | UtxoIngestFormat): format is UtxoIngestFormat =>
  UTXO_INGEST_FORMATS.some((known) => known === format);

function* linesOfUtxo(report: UtxoIngestReport): Generator<string> {
  yield `${report.blocks} blocks: ${report.transactions} transactions stored, ${report.known} already known; ` +
    `${report.stored} transfers stored, ${report.duplicates} already known.`;
  if (report.unresolved > 0)
    yield `${report.unresolved} transactions spend outputs that are not known yet. Their transfers are added when these are read.`;
  if (report.ignored + report.rejected > 0)
    yield `${report.ignored} skipped (no transaction, or a block outside the chain), ${report.rejected} rows rejected.`;
  for (const { provenance, reason } of report.rejects)
    yield `  ${provenance.file}:${provenance.line}: ${reason}`;
  for (const file of report.cutShort)
    yield `  ${file} ends inside a block, which is skipped until it is complete.`;
}

/** Throws INVALID_FILE if the file gave nothing but rejects. One of several files is refused before anything is stored. */
function requireUsable({ unusable, rejects }: IngestReport | UtxoIngestReport, format: string): void {
  if (unusable.length === 0) return;
  const own = rejects.filter(({ provenance }) => unusable.includes(provenance.file));
  throw new AssayError(
    'INVALID_FILE',
    `file: ${unusable.join(', ')} has no usable row: all were rejected. Is it a file of the format '${format}'? Nothing of it was stored. First: ${quotedRejects(own)}.`,
    { field: 'file' },
  );
}

async function ingestUtxo(
  options: {
    readonly format: UtxoIngestFormat;
    readonly files: readonly string[];
    readonly chain: ChainId;
    readonly prices: boolean;
    readonly json: boolean;
  },
  terminal: Terminal,
  opened: Services,
): Promise<void> {
  const { format, files, chain, prices, json } = options;
  const progress = createProgress(terminal);
  const unit = format === 'bitcoin-blk' ? 'blocks' : 'rows';
  try {
    const report = await ingestUtxoFiles(
      {
        format,
        files,
        chain,
        signal: terminal.signal,
        onProgress: ({ file, rows }) => progress.update(file, rows, null, unit),
      },
      {
        outputs: opened.outputs('write'),
        transfers: opened.transfers('write'),
        ...(prices ? { price: (transfers) => priced(transfers, opened.prices(), terminal.signal) } : {}),
      },
    );
    progress.end();
    answer(terminal, json, report, () => [...linesOfUtxo(report)]);
    requireUsable(report, format);
  } finally {
    progress.end();
  }
}

/** Named in the terminal; `--json` lists INGEST_LIMITS.ingestRejectsListedMax. */
const REPLACED_SHOWN_MAX = 10;

function* linesOfReplaced({ valuesReplaced, replaced }: IngestReport): Generator<string> {
  if (valuesReplaced === 0) return;
  yield `${valuesReplaced} values (valueUsd) contradict the price tables. The values of the tables were stored instead:`;
  for (const { file, line, asset, given, stored } of replaced.slice(0, REPLACED_SHOWN_MAX))
    yield `  ${file}:${line}: ${asset}: ${given} USD, stored ${stored.toFixed(2)}`;
  if (valuesReplaced > REPLACED_SHOWN_MAX) yield `  … and ${valuesReplaced - REPLACED_SHOWN_MAX} more`;
}

interface IngestFlags {
  readonly chain: string;
  readonly prices: boolean;
  readonly attribute: boolean;
  readonly json?: boolean;
}

/**
 * Wraps the transfer store so that it fills in the USD value of each transfer. Files that are loaded in bulk keep their own values.
 */
function pricing(opened: Services, signal: AbortSignal): IngestDeps['store'] {
  const store = opened.transfers('write');
  const prices = opened.prices();
  return {
    ingest: (transfers) => store.ingest(priced(transfers, prices, signal)),
    bulkLoad: (...args) => store.bulkLoad(...args),
  };
}

/** Applies the rules of derived labels to the new transfers of a chain on which they were applied before. */
async function attributeNew(chain: ChainId, opened: Services, terminal: Terminal): Promise<void> {
  if (!opened.attribution.isActive(chain)) return;
  await withProgress(terminal, (progress) =>
    opened.attribution.run(chain, {
      signal: terminal.signal,
      logs: 'none',
      transfers: opened.transfers('write'),
      onProgress: (step, done, total, unit) => progress.update(`${chain} ${step}`, done, total, unit),
    }),
  );
}

/** Adds `assay ingest`. */
export function addIngestCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('ingest')
    .description('ingest transfers into the transfer store; ingesting a file twice is a no-op')
    .argument('<format>', FORMATS.join(', '))
    .argument('<file...>', 'files in that format')
    .requiredOption('--chain <chain>', 'chain of the transfers')
    .option('--no-prices', 'do not value transfers for which the file has no value')
    .option(
      '--no-attribute',
      'do not derive labels from the new transfers, if `assay attribute` was run on the chain before',
    )
    .option('--json', 'answer as JSON')
    .action(async (formatText: string, files: string[], options: IngestFlags) => {
      const format = formatFrom(formatText);
      const chain = parseChainId(options.chain, '--chain');
      if (isUtxoFormat(format)) {
        const { prices, json = false } = options;
        await ingestUtxo({ format, files, chain, prices, json }, terminal, services());
        return;
      }
      const progress = createProgress(terminal);
      try {
        const report = await ingestFiles(
          {
            format,
            files,
            chain,
            pricesFolder: options.prices ? pricesFolderOf(services().dataDir) : null,
            signal: terminal.signal,
            onProgress: ({ file, rows, pass, done = 0 }) =>
              pass === undefined
                ? progress.update(file, rows, null, 'rows')
                : progress.update(`${file}, ${pass}`, Math.round(done * rows), rows, 'rows'),
          },
          { store: options.prices ? pricing(services(), terminal.signal) : services().transfers('write') },
        );
        progress.end();
        answer(terminal, options.json ?? false, report, () => [
          `${report.rows} rows: ${report.stored} transfers stored, ${report.duplicates} already known, ` +
            `${report.ignored} without a transfer, ${report.rejected} rejected.`,
          ...report.rejects.map(
            ({ provenance, reason }) => `  ${provenance.file}:${provenance.line}: ${reason}`,
          ),
          ...linesOfReplaced(report),
        ]);
        requireUsable(report, format);
        if (options.attribute && report.stored > 0) await attributeNew(chain, services(), terminal);
      } finally {
        progress.end();
      }
    });
}
