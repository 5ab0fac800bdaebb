/** `assay ingest <format> <file…> --chain C`: reads transfers into the transfer store. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { parseChainId } from '../chains/registry.ts';
import { INGEST_FORMATS, type IngestFormat, ingestFiles } from '../graph/ingest/ingest-files.ts';
import { answer, type Terminal } from './context.ts';
import type { Parts } from './parts.ts';
import { createProgress } from './progress.ts';

function formatFrom(text: string): IngestFormat {
  const format = INGEST_FORMATS.find((known) => known === text);
  if (format) return format;
  throw new AssayError('INVALID_REQUEST', `format: '${text}' is none of ${INGEST_FORMATS.join(', ')}.`);
}

export function addIngestCommand(program: Command, terminal: Terminal, parts: () => Parts): void {
  program
    .command('ingest')
    .description('read transfers into the transfer store; a file read again changes nothing')
    .argument('<format>', INGEST_FORMATS.join(', '))
    .argument('<file...>', 'files of that format')
    .requiredOption('--chain <chain>', 'the chain that the transfers are of')
    .option('--json', 'answer as JSON')
    .action(async (formatText: string, files: string[], options: { chain: string; json?: boolean }) => {
      const format = formatFrom(formatText);
      const chain = parseChainId(options.chain, '--chain');
      const progress = createProgress(terminal);
      try {
        const report = await ingestFiles(
          {
            format,
            files,
            chain,
            signal: terminal.signal,
            onProgress: ({ file, rows }) => progress.update(file, rows, null, 'rows'),
          },
          { store: parts().transfers('write') },
        );
        progress.end();
        answer(terminal, options.json ?? false, report, () => [
          `${report.rows} rows: ${report.stored} transfers stored, ${report.duplicates} known already, ` +
            `${report.ignored} without a transfer, ${report.rejected} rejected.`,
          ...report.rejects.map(
            ({ provenance, reason }) => `  ${provenance.file}:${provenance.line}: ${reason}`,
          ),
        ]);
        if (report.rejected > 0 && report.rejected === report.rows) {
          throw new AssayError(
            'INVALID_FILE',
            `Nothing could be read as ${format}: all ${report.rows} rows were rejected.`,
          );
        }
      } finally {
        progress.end();
      }
    });
}
