/**
 * `assay bulk --chain C < addresses > labels.ndjson`: labels of any number of addresses, in order, with several threads; or with
 * `--remote`, as a job on a server.
 */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { parseChainId } from '../chains/registry.ts';
import { JOB_FORMATS, JOB_KINDS, type JobFormat } from '../jobs/bulk-jobs.ts';
import { runBulkFile } from '../screening/bulk-file.ts';
import { keyOfFile, keyOfText, runRemoteBulk } from './bulk-remote.ts';
import { type Terminal, wholeNumber } from './context.ts';
import { Interruption } from './exit-codes.ts';
import { createProgress } from './progress.ts';
import type { Services } from './services.ts';
import { staleAdviceLines } from './stale-advice.ts';

/** Threads of one run: each maps the index, and they take turns to read one file; more would wait for each other. */
const THREADS_MAX = 64;

const STDIN = 0;
const STDOUT = 1;

interface BulkOptions {
  readonly chain?: string;
  readonly threads?: string;
  readonly input?: string;
  readonly output?: string;
  readonly remote?: string;
  readonly key?: string;
  readonly keyFile?: string;
  readonly kind?: string;
  readonly format?: string;
  readonly job?: string;
  readonly verdict?: true;
}

/** Options that are valid only with `--remote`. */
const REMOTE_ONLY = ['key', 'keyFile', 'kind', 'format', 'job', 'verdict'] as const;

const optionOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const refuse = (sentence: string): AssayError => new AssayError('INVALID_REQUEST', sentence);

function oneOf<T extends string>(option: string, text: string, values: readonly T[]): T {
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw refuse(`${option}: must be one of ${values.join(', ')} (got '${text}').`);
}

/** Chooses the format by the file name. Plain lines of addresses are CSV without a header. */
function formatOf(named: string | undefined, input: string | undefined): JobFormat {
  if (named !== undefined) return oneOf('--format', named, JOB_FORMATS);
  return /\.(ndjson|jsonl)$/i.test(input ?? '') ? 'ndjson' : 'csv';
}

async function keyOf({ key, keyFile }: BulkOptions, ofSettings: string | null): Promise<string> {
  if (key !== undefined) return keyOfText(key, '--key:');
  if (keyFile !== undefined) return keyOfFile(keyFile);
  if (ofSettings !== null) return ofSettings;
  throw refuse('--key-file: --remote needs an API key. Set ASSAY_API_KEY, or give the file of a key.');
}

async function runRemotely(
  url: string,
  options: BulkOptions,
  terminal: Terminal,
  apiKey: () => string | null,
): Promise<void> {
  if (options.threads !== undefined)
    throw refuse('--threads: not allowed with --remote, because the server has its own threads.');
  const progress = createProgress(terminal);
  await runRemoteBulk(
    {
      url,
      key: await keyOf(options, apiKey()),
      input: options.input ?? null,
      output: options.output ?? null,
      kind: oneOf('--kind', options.kind ?? 'labels', JOB_KINDS),
      format: formatOf(options.format, options.input),
      chain: options.chain === undefined ? null : parseChainId(options.chain, '--chain'),
      verdict: options.verdict ?? false,
      job: options.job ?? null,
      standardInput: process.stdin,
    },
    terminal,
    progress,
  );
}

async function runHere(options: BulkOptions, terminal: Terminal, services: () => Services): Promise<void> {
  const stray = REMOTE_ONLY.find((name) => options[name] !== undefined);
  if (stray !== undefined) throw refuse(`${optionOf(stray)}: only allowed together with --remote.`);
  if (options.chain === undefined) throw refuse('--chain: is missing. Give the chain of the addresses.');
  const chain = parseChainId(options.chain, '--chain');
  const progress = createProgress(terminal);
  try {
    const opened = services();
    const result = await runBulkFile(
      {
        input: options.input ?? STDIN,
        output: options.output ?? STDOUT,
        chain,
        threads:
          options.threads === undefined
            ? opened.threads
            : wholeNumber('--threads', options.threads, 1, THREADS_MAX),
        signal: terminal.signal,
        // The remaining work is known in bytes, but the progress is shown in lines.
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
    if (result.staleReason !== null) {
      const advice = staleAdviceLines([result.staleReason], services);
      terminal.err.write([result.staleReason.message, ...advice].map((line) => `${line}\n`).join(''));
    }
    if (!result.complete)
      throw new Interruption(
        `Interrupted after ${result.lines} lines; the output contains only complete lines.`,
      );
  } catch (error) {
    // If the reader has closed the pipe (`| head`), it has all the output that it wants.
    if (!(error instanceof AssayError) || error.code !== 'OUTPUT_CLOSED') throw error;
  } finally {
    progress.end();
  }
}

/**
 * Adds `assay bulk`.
 *
 * @param apiKey - returns the key of the settings
 */
export function addBulkCommand(
  program: Command,
  terminal: Terminal,
  services: () => Services,
  apiKey: () => string | null,
): void {
  program
    .command('bulk')
    .description(
      'look up the labels of addresses from standard input, one per line, as NDJSON in the same order',
    )
    .option('--chain <chain>', 'chain of the addresses; with --remote, of lines without a chain')
    .option('--threads <n>', 'threads to use (default: one per core)')
    .option('--input <file>', 'input file (default: standard input)')
    .option('--output <file>', 'output file (default: standard output)')
    .option('--remote <url>', 'send the input as a bulk job to this server, and wait for the result')
    .option('--kind <kind>', `with --remote: ${JOB_KINDS.join(', ')} (default: labels)`)
    .option(
      '--format <format>',
      `with --remote: ${JOB_FORMATS.join(', ')} (default: by the name of the file)`,
    )
    .option('--verdict', 'with --remote: add the verdict of the oracle to the labels of each address')
    .option('--job <id>', 'with --remote: fetch the result of an earlier job')
    .option('--key-file <file>', 'with --remote: file with the API key (default: ASSAY_API_KEY)')
    .option('--key <key>', 'with --remote: the API key itself; visible in the process list')
    .action((options: BulkOptions) =>
      options.remote === undefined
        ? runHere(options, terminal, services)
        : runRemotely(options.remote, options, terminal, apiKey),
    );
}
