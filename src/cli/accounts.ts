/** `assay accounts`, `assay plan` and `assay audit`: administration of accounts, with or without a running server. */
import type { Command } from 'commander';
import { expectSound } from '../accounts/audit.ts';
import { PLAN_NAMES, type PlanName } from '../accounts/plans.ts';
import { AssayError } from '../base/errors.ts';
import { answer, type Terminal, table, wholeNumber } from './context.ts';
import type { Services } from './services.ts';

interface JsonOption {
  readonly json?: boolean;
}

function planFrom(text: string): PlanName {
  const plan = PLAN_NAMES.find((known) => known === text.toUpperCase());
  if (plan) return plan;
  throw new AssayError('INVALID_REQUEST', `plan: must be one of ${PLAN_NAMES.join(', ')} (got '${text}').`);
}

/** Reads the first line of the input. A password on the command line would be visible in the list of processes. */
async function lineFrom(input: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of input) {
    text += String(chunk);
    if (text.includes('\n') || text.length > 10_000) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? '';
}

/** Adds `assay accounts`. */
export function addAccountsCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const accounts = program.command('accounts').description('manage the accounts of people');

  accounts
    .command('create')
    .description('create an account; its password is the first line of standard input')
    .requiredOption('--email <address>', 'email address; it counts as verified')
    .option('--plan <plan>', `one of ${PLAN_NAMES.join(', ')}`, 'FREE')
    .option('--json', 'answer as JSON')
    .action(async (options: JsonOption & { email: string; plan: string }) => {
      const plan = planFrom(options.plan);
      const created = await services()
        .people()
        .create(options.email, await lineFrom(process.stdin), plan);
      answer(terminal, options.json ?? false, created, () => [
        `${created.id} is the account of ${created.email}.`,
      ]);
    });

  accounts
    .command('list')
    .description('list all accounts of people, oldest first')
    .option('--json', 'answer as JSON')
    .action((options: JsonOption) => {
      const listed = services().people().list();
      answer(terminal, options.json ?? false, listed, () =>
        table([
          ['ID', 'STATUS', 'PLAN', 'CREATED', 'CONFIRMED', 'EMAIL'],
          ...listed.map((account) => [
            account.id,
            account.disabled ? 'DISABLED' : 'ACTIVE',
            account.plan,
            account.createdAt,
            account.emailVerified ? 'yes' : 'no',
            account.email,
          ]),
        ]),
      );
    });

  for (const disabled of [true, false]) {
    const name = disabled ? 'disable' : 'enable';
    accounts
      .command(name)
      .description(
        disabled
          ? 'disable an account: its keys and sessions are rejected from the next request on'
          : 'enable an account again',
      )
      .argument('<account>', 'id of the account')
      .option('--json', 'answer as JSON')
      .action(async (accountId: string, options: JsonOption) => {
        await services().keys().setDisabled(accountId, disabled);
        answer(terminal, options.json ?? false, { accountId, disabled }, () => [`${accountId} is ${name}d.`]);
      });
  }

  accounts
    .command('notify')
    .description('send an email to every account that is not disabled; its text is standard input')
    .requiredOption('--subject <text>', 'subject of the email')
    .option('--json', 'answer as JSON')
    .action(async (options: JsonOption & { subject: string }) => {
      let text = '';
      for await (const chunk of process.stdin) text += String(chunk);
      if (text.trim() === '')
        throw new AssayError(
          'INVALID_REQUEST',
          'text: must not be empty. The text of the email is read from standard input.',
        );
      const report = await services().people().notify(options.subject, text);
      answer(terminal, options.json ?? false, report, () => [
        `Emails accepted by the mail server: ${report.sent}.`,
        ...report.failed.map((email) => `not taken: ${email}`),
      ]);
    });
}

/** Adds `assay plan`. */
export function addPlanCommand(program: Command, terminal: Terminal, services: () => Services): void {
  program
    .command('plan')
    .description('manage plans of accounts')
    .command('set')
    .description('change the plan of an account; effective in a running server at once')
    .argument('<account>', 'id of the account')
    .argument('<plan>', PLAN_NAMES.join(', '))
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, planText: string, options: JsonOption) => {
      const plan = planFrom(planText);
      await services().keys().setPlan(accountId, plan);
      answer(terminal, options.json ?? false, { accountId, plan }, () => [
        `${accountId} has the plan ${plan}.`,
      ]);
    });
}

const SHOWN_DEFAULT = '20';
/** All entries are held in memory while they are printed: about 100 MB. */
const SHOWN_MAX = 99_999;

/** Adds `assay audit`. */
export function addAuditCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const audit = program.command('audit').description('show and verify the audit log');

  audit
    .command('verify')
    .description('verify that no entry was changed, removed or inserted')
    .option('--json', 'answer as JSON')
    .action(async (options: JsonOption) => {
      const report = await services().audit().verify();
      answer(terminal, options.json ?? false, report, () => [
        `${report.entries} entries, ${report.faults.length} faults; the chain ends with ${report.head}.`,
        ...report.faults,
      ]);
      expectSound(report);
    });

  audit
    .command('show')
    .description('show the newest entries, newest first')
    .option('--limit <count>', 'number', SHOWN_DEFAULT)
    .option('--json', 'answer as JSON')
    .action((options: JsonOption & { limit: string }) => {
      const limit = wholeNumber('--limit', options.limit, 1, SHOWN_MAX);
      const entries = services().audit().newest(limit);
      answer(terminal, options.json ?? false, entries, () =>
        table([
          ['WHEN', 'WHO', 'FROM', 'WHAT', 'ACCOUNT', 'DETAIL'],
          ...entries.map((entry) => [
            entry.at,
            entry.who,
            entry.from,
            entry.action,
            entry.accountId,
            [entry.subject, entry.detail].filter((part) => part !== null).join(' '),
          ]),
        ]),
      );
    });
}
