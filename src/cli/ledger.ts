/** `assay ledger verify`: checks every entry of the ledger, with or without a running server. */
import type { Command } from 'commander';
import { AssayError } from '../base/errors.ts';
import { answer, type Terminal } from './context.ts';
import type { Parts } from './parts.ts';
import { createProgress } from './progress.ts';

/** Adds `assay ledger`. */
export function addLedgerCommand(program: Command, terminal: Terminal, parts: () => Parts): void {
  program
    .command('ledger')
    .description('check the ledger of credits')
    .command('verify')
    .description('read every entry, and check that links, sums and balances agree')
    .option('--json', 'answer as JSON')
    .action(async (options: { json?: boolean }) => {
      const progress = createProgress(terminal);
      const report = await parts()
        .ledger()
        .verify((checked, total) => progress.update('verify', checked, total, 'entries'));
      progress.end();
      answer(terminal, options.json ?? false, report, () => [
        `${report.entries} entries of ${report.accounts} accounts, ${report.balance} credits in all: ${report.faults.length === 0 ? 'all agree.' : 'NOT in order.'}`,
        ...report.faults,
      ]);
      if (report.faults.length > 0)
        throw new AssayError('STORE_CORRUPT', `The ledger is damaged: ${report.faults[0]}`);
    });
}
