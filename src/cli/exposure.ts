/** `assay exposure build|status`: the index from which the oracle reads exposure. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { CHAINS, type ChainId, parseChainId } from '../chains/registry.ts';
import type { BuildExposureReport } from '../exposure/build.ts';
import type { ExposureIndexStatus } from '../exposure/status.ts';
import { answer, type Terminal, table } from './context.ts';
import { createProgress } from './progress.ts';
import type { Services } from './services.ts';

const PERCENT = 100;

/**
 * Id of the parent process. If this process has a channel to its parent and the parent is gone, a build stops. During a build, the
 * thread is too busy to receive the events of the channel.
 */
const startedBy = process.ppid;
const isLeft = (): boolean => process.channel !== undefined && process.ppid !== startedBy;

const builtLine = ({
  chain,
  addresses,
  entries,
  tableBytes,
  entryBytes,
  builtInMs,
}: BuildExposureReport): string =>
  `${chain}: ${entries} of ${addresses} addresses have an entry; ` +
  `${((tableBytes + entryBytes) / 2 ** 20).toFixed(1)} MiB, built in ${(builtInMs / 1_000).toFixed(1)} s`;

function statusLines(rows: readonly ExposureIndexStatus[]): readonly string[] {
  if (rows.length === 0) return ['No transfer of any chain is stored.'];
  return table([
    ['CHAIN', 'STATE', 'AS OF', 'ADDRESSES', 'ENTRIES', 'NEW TRANSFERS', 'CHANGED', 'WAITING'],
    ...rows.map((row) => [
      row.chain,
      row.state,
      row.asOf ?? '-',
      String(row.addresses),
      String(row.entries),
      String(row.newTransfers),
      String(row.computed),
      String(row.waiting),
    ]),
  ]);
}

/** Adds `assay exposure`. */
export function addExposureCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const exposure = program
    .command('exposure')
    .description('manage the exposure index, which the oracle reads');

  exposure
    .command('build')
    .description('compute the exposure of all stored addresses; a running server switches to the new index')
    .argument('[chains...]', 'default: every chain with stored transfers')
    .option('--json', 'answer as JSON')
    .action(async (names: readonly string[], options: { json?: boolean }) => {
      const { exposures } = services();
      const chains: readonly ChainId[] =
        names.length > 0 ? names.map((name) => parseChainId(name)) : exposures.chains();
      if (chains.length === 0)
        throw new AssayError(
          'NOT_READY',
          `No transfer of any of ${CHAINS.length} chains is stored. Run \`assay ingest\` first.`,
        );
      const progress = createProgress(terminal);
      const reports: BuildExposureReport[] = [];
      // Lets the event loop process a disconnect of the parent process for the last time.
      await new Promise((resolve) => setImmediate(resolve));
      // The index comes into force in one step at the end, so ending the process at once is safe.
      const hearAgain = terminal.endAtOnce?.();
      try {
        for (const chain of chains)
          reports.push(
            await exposures.build(chain, {
              signal: terminal.signal,
              onProgress({ step, part }) {
                if (isLeft()) throw new Error('The server that requested the index has ended.');
                progress.update(`${chain} ${step}`, Math.round(part * PERCENT), PERCENT, '%');
              },
            }),
          );
        progress.end();
        answer(terminal, options.json ?? false, reports, () => reports.map(builtLine));
      } finally {
        progress.end();
        hearAgain?.();
      }
    });

  exposure
    .command('status')
    .description('show which chains have an index, and how far it is behind the stored transfers')
    .option('--json', 'answer as JSON')
    .action((options: { json?: boolean }) => {
      answer(terminal, options.json ?? false, services().exposures.status(), statusLines);
    });
}
