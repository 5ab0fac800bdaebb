/** `assay credits grant|adjust|show`: administration of an account's credits, with or without a running server. */
import type { Command } from 'commander';
import type { Booking, LedgerEntry } from '../accounts/ledger.ts';
import { AssayError } from '../base/errors.ts';
import { answer, type Terminal } from './context.ts';
import type { Services } from './services.ts';

function creditsFrom(text: string): number {
  if (/^-?\d{1,10}$/.test(text)) return Number(text);
  throw new AssayError(
    'INVALID_REQUEST',
    `credits: must be a whole number of at most 10 digits (got '${text}').`,
    { field: 'credits' },
  );
}

/**
 * Checks that the account exists: credits for an unknown account are a typing error.
 *
 * @throws NOT_FOUND
 */
function checkAccount(services: Services, accountId: string): void {
  if (services.keys().planOf(accountId) !== null) return;
  throw new AssayError(
    'NOT_FOUND',
    `account: there is no account '${accountId}'. \`assay accounts list\` lists those of people.`,
    { field: 'account' },
  );
}

async function book(services: Services, booking: Booking): Promise<LedgerEntry> {
  checkAccount(services, booking.accountId);
  return (await services.ledger().book(booking)).entry;
}

const told = (accountId: string, entry: LedgerEntry): readonly string[] => [
  `${entry.type} ${entry.amount} to '${accountId}': the balance is ${entry.balance}.`,
];

/** Adds `assay credits`. */
export function addCreditsCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const credits = program.command('credits').description('grant, adjust and show the credits of an account');

  credits
    .command('grant')
    .description('grant credits that do not expire; effective in a running server at once')
    .argument('<account>', "id of the account (the installation's own is 'local')")
    .argument('<credits>', 'number')
    .option('--reason <text>', 'reason in the ledger')
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, amount: string, options: { reason?: string; json?: boolean }) => {
      const entry = await book(services(), {
        accountId,
        type: 'GRANT',
        amount: creditsFrom(amount),
        reference: options.reason ?? null,
      });
      answer(terminal, options.json ?? false, { accountId, ...entry }, () => told(accountId, entry));
    });

  credits
    .command('adjust')
    .description('correct a balance up or down; it cannot fall below 0')
    .argument('<account>', 'id of the account')
    .argument('<credits>', 'number; negative to remove credits')
    .requiredOption('--reason <text>', 'reason in the ledger')
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, amount: string, options: { reason: string; json?: boolean }) => {
      const entry = await book(services(), {
        accountId,
        type: 'ADJUSTMENT',
        amount: creditsFrom(amount),
        reference: options.reason,
      });
      answer(terminal, options.json ?? false, { accountId, ...entry }, () => told(accountId, entry));
    });

  credits
    .command('show')
    .description('show the balance of an account and its parts')
    .argument('<account>', 'id of the account')
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, options: { json?: boolean }) => {
      checkAccount(services(), accountId);
      const balance = await services().ledger().balance(accountId);
      answer(terminal, options.json ?? false, { accountId, ...balance }, () => [
        `'${accountId}' has ${balance.balance} credits: ${balance.free} free ones until ${balance.renewsAt}, ${balance.granted} granted, ${balance.bought} bought.`,
      ]);
    });
}
