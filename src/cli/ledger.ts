/** `assay ledger verify`: checks every entry of the ledger, with or without a running server. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { answer, type Terminal } from './context.ts';
import { createProgress } from './progress.ts';
import type { Services } from './services.ts';

const verdictOf = ({ entries, faults }: { entries: number; faults: readonly string[] }): string => {
  if (faults.length > 0) return 'NOT intact.';
  return entries === 0 ? 'nothing to verify.' : 'all agree.';
};

/** Adds `assay ledger`. */
export function addLedgerCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('ledger')
    .description('verify the ledger of credits')
    .command('verify')
    .description('read every entry, and verify links, sums and balances')
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      const progress = createProgress(terminal);
      const report = await services()
        .ledger()
        .verify((checked, total) => progress.update('verify', checked, total, 'entries'));
      progress.end();
      answer(terminal, options.json ?? false, report, () => [
        `${report.entries} entries of ${report.accounts} accounts, ${report.balance} credits in all: ${verdictOf(report)}`,
        ...report.faults,
      ]);
      if (report.faults.length > 0)
        throw new AssayError('STORE_CORRUPT', `The ledger is damaged: ${report.faults[0]}`);
    });
}
