/** `assay bulk --chain C < addresses > labels.ndjson`: labels of any number of addresses, in order, with several threads. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { parseChainId } from '../chains/registry.ts';
import { runBulkFile } from '../screening/bulk-file.ts';
import { type Terminal, wholeNumber } from './context.ts';
import type { Parts } from './parts.ts';
import { createProgress } from './progress.ts';

const STDIN = 0;
const STDOUT = 1;

export function addBulkCommand(program: Command, terminal: Terminal, parts: () => Parts): void {
  program
    .command('bulk')
    .description(
      'answer the labels of every address of standard input, one a line, as NDJSON in the same order',
    )
    .requiredOption('--chain <chain>', 'the chain that the addresses are of')
    .option('--threads <n>', 'threads to use (default: one a core)')
    .option('--input <file>', 'read this file in place of standard input')
    .option('--output <file>', 'write this file in place of standard output')
    .action(async (options: { chain: string; threads?: string; input?: string; output?: string }) => {
      const chain = parseChainId(options.chain, '--chain');
      const progress = createProgress(terminal);
      try {
        const opened = parts();
        const result = await runBulkFile(
          {
            input: options.input ?? STDIN,
            output: options.output ?? STDOUT,
            chain,
            threads:
              options.threads === undefined
                ? opened.threads
                : wholeNumber('--threads', options.threads, 1, LIMITS.bulkThreadsMax),
            signal: terminal.signal,
            // Bytes tell how much is left; lines are what a person counts.
            onProgress: ({ count, rate, bytesRead, bytesTotal }) => {
              const total = bytesTotal === null || bytesRead === 0 ? null : (count * bytesTotal) / bytesRead;
              if (rate > 0) progress.update('bulk', count, total, 'addresses');
            },
          },
          opened.bulkDeps,
        );
        progress.end();
        const perSecond = Math.round(result.lines / result.seconds);
        terminal.err.write(
          `${result.lines} lines (${result.failed} no address) in ${result.seconds.toFixed(1)} s, ${perSecond} a second.\n`,
        );
        if (!result.complete) {
          throw new AssayError(
            'INVALID_REQUEST',
            `Interrupted after ${result.lines} lines; what was written is whole lines.`,
          );
        }
      } catch (error) {
        // A reader that left (`| head`) has what it wanted.
        if (!(error instanceof AssayError) || error.code !== 'OUTPUT_CLOSED') throw error;
      } finally {
        progress.end();
      }
    });
}
