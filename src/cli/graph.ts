/**
 * `assay graph push <chain>`: fills the server from which the transfers of a chain are read if the chain is too large for one
 * machine.
 */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { sleep } from '../base/retry.ts';
import { parseChainId } from '../chains/registry.ts';
import type { PushReport } from '../graph/remote/push-session.ts';
import { answer, errorLine, type Terminal, wholeNumber } from './context.ts';
import { withProgress } from './progress.ts';
import type { Services } from './services.ts';

interface PushCommandOptions {
  readonly to?: string;
  readonly full?: boolean;
  readonly every?: string;
  readonly json?: boolean;
}

/** One day: for longer intervals, use a system scheduler. */
const EVERY_SECONDS_MAX = 86_400;

function secondsFrom(text: string): number {
  return wholeNumber('--every', text, 1, EVERY_SECONDS_MAX);
}

function linesOf(report: PushReport): readonly string[] {
  const { chain, kind, generation, version, transfers, addresses, records, checksum } = report;
  return [
    kind === 'unchanged'
      ? `The server already has all of ${chain} already.`
      : `${kind === 'full' ? 'All' : 'What changed'} of ${chain} is pushed: ${report.written} records, ${report.writtenBytes} bytes written.`,
    `${transfers} transfers of ${addresses} addresses in ${records} records, checksum ${checksum} ` +
      `(generation ${generation}, version ${version}).`,
  ];
}

async function pushOnce(
  chainText: string,
  options: PushCommandOptions,
  terminal: Terminal,
  opened: Services,
): Promise<void> {
  const report = await withProgress(terminal, (progress) =>
    opened.pushGraph({
      chain: parseChainId(chainText),
      ...(options.to === undefined ? {} : { to: options.to }),
      isFull: options.full ?? false,
      signal: terminal.signal,
      onProgress: (stage, done, total) =>
        progress.update(stage, done, total, stage === 'wait for readers' ? 'ms' : 'records'),
    }),
  );
  answer(terminal, options.json ?? false, report, () => linesOf(report));
}

/** Pushes until it is interrupted, also if the server is temporarily unavailable. */
async function pushForEver(
  chainText: string,
  options: PushCommandOptions,
  terminal: Terminal,
  opened: Services,
): Promise<void> {
  const pauseMs = secondsFrom(options.every ?? '') * 1_000;
  const { signal } = terminal;
  while (!signal.aborted) {
    try {
      await pushOnce(chainText, options, terminal, opened);
    } catch (error) {
      if (signal.aborted) return;
      const isPassing = error instanceof AssayError && ['NOT_READY', 'STORE_BUSY'].includes(error.code);
      if (!isPassing) throw error;
      terminal.err.write(errorLine(error));
    }
    await sleep(pauseMs, signal);
  }
}

/** Adds `assay graph`. */
export function addGraphCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const graph = program.command('graph').description('manage transfer graphs that are stored in servers');
  graph
    .command('push')
    .description('push the transfers of a chain to a Kvrocks or Redis: first all of them, then changes')
    .argument('<chain>', 'chain id, such as ETH')
    .option('--to <url>', 'Redis URL of the server; default: ASSAY_GRAPH_STORE_<CHAIN>')
    .option('--full', 'push everything again beside the current data, and switch to it when it is complete')
    .option('--every <seconds>', 'repeat, with this pause between two pushes')
    .option('--json', 'answer as JSON')
    .action((chain: string, options: PushCommandOptions) =>
      options.every === undefined
        ? pushOnce(chain, options, terminal, services())
        : pushForEver(chain, options, terminal, services()),
    );
}
