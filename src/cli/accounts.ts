/** `assay accounts`, `assay plan` and `assay audit`: administration of accounts, with or without a running server. */
import type { Command } from 'commander';
import { expectSound, OPERATOR } from '../accounts/audit.ts';
import { PLAN_NAMES, type PlanName } from '../accounts/plans.ts';
import { ROLES, type Role } from '../accounts/roles.ts';
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

function roleFrom(text: string): Role {
  const role = ROLES.find((known) => known === text.toLowerCase());
  if (role) return role;
  throw new AssayError('INVALID_REQUEST', `role: must be one of ${ROLES.join(', ')} (got '${text}').`);
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
    .description('list all people and their accounts, oldest first')
    .option('--json', 'answer as JSON')
    .action((options: JsonOption) => {
      const listed = services().people().list();
      answer(terminal, options.json ?? false, listed, () =>
        table([
          ['ID', 'STATUS', 'PLAN', 'CREATED', 'CONFIRMED', 'ROLE', '2FA', 'EMAIL'],
          ...listed.map((account) => [
            account.id,
            account.disabled ? 'DISABLED' : 'ACTIVE',
            account.plan,
            account.createdAt,
            account.emailVerified ? 'yes' : 'no',
            account.person.role,
            account.person.secondFactor ? 'yes' : 'no',
            account.email,
          ]),
        ]),
      );
    });

  addPersonCommands(accounts, terminal, services);

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
    .command('operator')
    .description(
      'let the owners and analysts of an account read the state of the whole installation and decide reports on labels, or end that',
    )
    .argument('<account>', "id of the account (the installation's own is 'local')")
    .option('--on', 'let them')
    .option('--off', 'end it, from the next request on')
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, { on, off, json }: JsonOption & { on?: true; off?: true }) => {
      if (on === off) throw new AssayError('INVALID_REQUEST', 'Exactly one of --on and --off is required.');
      const operator = on === true;
      await services().keys().setOperator(accountId, operator);
      answer(terminal, json ?? false, { accountId, operator }, () => [
        operator
          ? `Owners and analysts of ${accountId} may read the state of this installation, and decide reports on labels.`
          : `${accountId} is no operator account.`,
      ]);
    });

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

/** Adds the commands on single people: `assay accounts add-person` and `disable-totp`. */
function addPersonCommands(accounts: Command, terminal: Terminal, services: () => Services): void {
  accounts
    .command('add-person')
    .description('add a person to an account; the password is the first line of standard input')
    .argument('<account>', "id of the account (the installation's own is 'local')")
    .requiredOption('--email <address>', 'email address')
    .option('--role <role>', `one of ${ROLES.join(', ')}`, 'owner')
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, options: JsonOption & { email: string; role: string }) => {
      const role = roleFrom(options.role);
      if (services().keys().planOf(accountId) === null)
        throw new AssayError('NOT_FOUND', `account: there is no account '${accountId}'.`, {
          field: 'account',
        });
      const password = await lineFrom(process.stdin);
      const { members } = services().people();
      const added = await members.add(OPERATOR, accountId, options.email, role, password);
      answer(terminal, options.json ?? false, { accountId, ...added }, () => [
        `${added.email} is ${role} of ${accountId}.`,
      ]);
    });

  accounts
    .command('disable-totp')
    .description('disable the second factor of a person who has lost it; the person gets an email')
    .requiredOption('--email <address>', 'email address of the person')
    .option('--json', 'answer as JSON')
    .action(async (options: JsonOption & { email: string }) => {
      const people = services().people();
      const person = people.byEmail(options.email);
      if (person === null)
        throw new AssayError('NOT_FOUND', `email: nobody has the address '${options.email}'.`, {
          field: 'email',
        });
      await people.secondFactor.discard(person, OPERATOR);
      answer(terminal, options.json ?? false, { id: person.id, email: person.email }, () => [
        `${person.email} logs in without a second factor.`,
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
