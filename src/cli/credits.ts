/** `assay credits grant|adjust|show`: administration of an account's credits, with or without a running server. */
import type { Command } from 'commander';
import type { Booking, LedgerEntry } from '../accounts/ledger.ts';
import { balanceId, POOLS, type Pool } from '../accounts/pools.ts';
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

const POOL_OPTION = [
  '--pool <pool>',
  'balance: api (calls with a key) or dashboard (sessions)',
  'api',
] as const;

/** Returns the word before a balance that is not that of keys. */
const named = (pool: Pool): string => (pool === 'api' ? '' : `${pool} `);

function poolFrom(text: string): Pool {
  const pool = POOLS.find((known) => known === text);
  if (pool) return pool;
  throw new AssayError('INVALID_REQUEST', `--pool: must be one of ${POOLS.join(', ')} (got '${text}').`, {
    field: 'pool',
  });
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

async function book(services: Services, pool: Pool, booking: Booking): Promise<LedgerEntry> {
  const { accountId } = booking;
  checkAccount(services, accountId);
  return (await services.ledger().book({ ...booking, accountId: balanceId(accountId, pool) })).entry;
}

const told = (accountId: string, pool: Pool, entry: LedgerEntry): readonly string[] => [
  `${entry.type} ${entry.amount} to '${accountId}': the ${named(pool)}balance is ${entry.balance}.`,
];

interface BookOptions {
  readonly reason?: string;
  readonly pool: string;
  readonly json?: boolean;
}

/** Adds `assay credits`. */
export function addCreditsCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const credits = program.command('credits').description('grant, adjust and show the credits of an account');

  credits
    .command('grant')
    .description('grant credits that do not expire; effective in a running server at once')
    .argument('<account>', "id of the account (the installation's own is 'local')")
    .argument('<credits>', 'number')
    .option('--reason <text>', 'reason in the ledger')
    .option(...POOL_OPTION)
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, amount: string, options: BookOptions) => {
      const pool = poolFrom(options.pool);
      const entry = await book(services(), pool, {
        accountId,
        type: 'GRANT',
        amount: creditsFrom(amount),
        reference: options.reason ?? null,
      });
      answer(terminal, options.json ?? false, { accountId, pool, ...entry }, () =>
        told(accountId, pool, entry),
      );
    });

  credits
    .command('adjust')
    .description('correct a balance up or down; it cannot fall below 0')
    .argument('<account>', 'id of the account')
    .argument('<credits>', 'number; negative to remove credits')
    .requiredOption('--reason <text>', 'reason in the ledger')
    .option(...POOL_OPTION)
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, amount: string, options: BookOptions & { reason: string }) => {
      const pool = poolFrom(options.pool);
      const entry = await book(services(), pool, {
        accountId,
        type: 'ADJUSTMENT',
        amount: creditsFrom(amount),
        reference: options.reason,
      });
      answer(terminal, options.json ?? false, { accountId, pool, ...entry }, () =>
        told(accountId, pool, entry),
      );
    });

  credits
    .command('show')
    .description('show the balance of an account and its parts')
    .argument('<account>', 'id of the account')
    .option(...POOL_OPTION)
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, options: BookOptions) => {
      checkAccount(services(), accountId);
      const pool = poolFrom(options.pool);
      const balance = await services().ledger().balance(balanceId(accountId, pool));
      answer(terminal, options.json ?? false, { accountId, pool, ...balance }, () => [
        `'${accountId}' has ${balance.balance} ${named(pool)}credits: ${balance.free} free ones until ${balance.renewsAt}, ${balance.granted} granted, ${balance.bought} bought.`,
      ]);
    });
}
