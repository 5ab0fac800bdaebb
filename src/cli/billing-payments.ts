/** `assay billing import|rate|statement|refund|release|refuse|cancel`: the operator's work on payments that are not made by card. */
import type { Command } from 'commander';
import { type Actor, type AuditAction, OPERATOR } from '../accounts/audit.ts';
import { LOCAL_ACCOUNT } from '../accounts/keys.ts';
import { POOLS } from '../accounts/pools.ts';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import { timeOf } from '../base/iso-times.ts';
import { systemRandom } from '../base/random.ts';
import { BILLING_LIMITS } from '../billing/limits.ts';
import { parseRate } from '../billing/rates.ts';
import { CURRENCIES, type Invoice } from '../billing/records.ts';
import type { AppliedEvent } from '../billing/settlement.ts';
import { statementCsv } from '../billing/statement.ts';
import { readCamt053 } from '../billing/wire/camt053.ts';
import { type ImportedEntry, importStatement } from '../billing/wire/import.ts';
import { answer, type Terminal } from './context.ts';
import type { Services } from './services.ts';

interface JsonOption {
  readonly json?: boolean;
}

const invalid = (field: string, text: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${text}`, { field });

/** Reads a reason, which is shown to the customer and stored in the audit log. */
function reasonOf(text: string): string {
  const reason = text.trim();
  if (reason === '' || reason.length > BILLING_LIMITS.reasonCharsMax || /\p{Cc}/u.test(reason))
    throw invalid(
      '--reason',
      `must have 1 to ${BILLING_LIMITS.reasonCharsMax} characters, without control characters.`,
    );
  return reason;
}

function entryLine({ key, line, direction, amount, currency, ...entry }: ImportedEntry): string {
  const { outcome, reason, invoice, candidates } = entry;
  const sign = direction === 'CREDIT' ? '+' : '-';
  return [
    `line ${line} ${key} ${sign}${amount ?? '?'} ${currency} ${outcome}`,
    ...(invoice === null
      ? []
      : [`invoice ${invoice.accountId}/${invoice.id} ${[invoice.state, ...invoice.exceptions].join(' ')}`]),
    ...(reason === null ? [] : [reason]),
    ...(candidates.length === 0 ? [] : [`perhaps ${candidates.join(' or ')}`]),
  ].join(', ');
}

/** Reads `--assign <key>=<account>/<invoice>`. */
function assignedOf(texts: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    texts.map((text) => {
      const at = text.lastIndexOf('=');
      if (at < 1 || !/^[^/]+\/[^/]+$/.test(text.slice(at + 1)))
        throw invalid('--assign', `must be <key>=<account>/<invoice> (got '${text.slice(0, 128)}').`);
      return [text.slice(0, at), text.slice(at + 1)] as const;
    }),
  );
}

const OUTCOMES = ['BOOKED', 'REVERSED', 'REPEATED', 'SUGGESTED', 'IGNORED'] as const;

/** Returns an entry as it is printed as JSON: of the invoice, only its place and state. */
const shown = ({ invoice, ...entry }: ImportedEntry) => ({
  ...entry,
  invoice:
    invoice === null
      ? null
      : {
          ...{ accountId: invoice.accountId, id: invoice.id, state: invoice.state },
          exceptions: invoice.exceptions,
        },
});

async function importCamt053(
  services: Services,
  terminal: Terminal,
  file: string,
  { json = false, assign }: JsonOption & { readonly assign: readonly string[] },
): Promise<void> {
  const assigned = assignedOf(assign);
  // Read whole first: nothing of a broken file is booked.
  const statement = await readCamt053(file);
  const billing = services.billing();
  const actor: Actor = OPERATOR;
  const entries = await importStatement(
    statement,
    { assigned, actor },
    {
      clock: terminal.clock,
      invoices: () => billing.store(),
      settlement: () => billing.settlement(),
    },
  );
  const counts = OUTCOMES.map(
    (outcome) => `${entries.filter((entry) => entry.outcome === outcome).length} ${outcome.toLowerCase()}`,
  );
  for (const { key, outcome, invoice, amount, currency } of entries)
    if (invoice !== null && (outcome === 'BOOKED' || outcome === 'REVERSED'))
      await services.audit().write({
        ...OPERATOR,
        action: 'billing.import',
        accountId: invoice.accountId,
        subject: invoice.id,
        detail: `${outcome} ${amount} ${currency} ${key}`.slice(0, BILLING_LIMITS.auditDetailMax),
      });
  const { version, accounts } = statement;
  answer(terminal, json, { version, accounts, entries: entries.map(shown) }, () => [
    `camt.053.001.${String(version).padStart(2, '0')}, accounts ${[...new Set(accounts)].join(', ')}: ${counts.join(', ')}.`,
    ...entries.map(entryLine),
  ]);
}

/** Applies an event to an invoice as the operator, in the audit log. */
async function applied(
  services: Services,
  {
    accountId,
    id,
    event,
    action,
    detail,
  }: {
    readonly accountId: string;
    readonly id: string;
    readonly event: AppliedEvent;
    readonly action: AuditAction;
    readonly detail: string;
  },
): Promise<Invoice> {
  const invoice = await services.billing().settlement().apply(accountId, id, event, OPERATOR);
  await services.audit().write({ ...OPERATOR, action, accountId, subject: id, detail });
  return invoice;
}

const invoiceText = ({ accountId, id, state, exceptions, refunded, currency, entries }: Invoice) => [
  `${accountId}/${id} ${[state, ...exceptions].join(' ')}, refunded ${refunded} cents ${currency}`,
  ...entries.map((entry) => `${entry.id} ${entry.cause} ${entry.credits} credits`),
];

/** Returns the payment of an invoice that an operator means: the only one, or the one that is named. */
function paymentOf(invoice: Invoice, wanted: string | undefined): string {
  if (wanted !== undefined) return wanted;
  const confirmed = invoice.payments.filter(({ state }) => state === 'CONFIRMED');
  const [only] = confirmed;
  if (only !== undefined && confirmed.length === 1) return only.id;
  throw invalid(
    '--payment',
    `is required: the invoice has ${confirmed.length} confirmed payments (${confirmed.map(({ id }) => `'${id}'`).join(', ')}).`,
  );
}

interface RefundOptions extends JsonOption {
  readonly payment?: string;
  readonly amount?: string;
  readonly reason: string;
  readonly id?: string;
}

async function refund(
  services: Services,
  terminal: Terminal,
  [accountId, id]: readonly [string, string],
  { payment: wanted, amount, reason: text, id: given, json = false }: RefundOptions,
): Promise<void> {
  const invoice = services.billing().invoice(accountId, id);
  if (invoice.method === 'CARD')
    throw invalid(
      'invoice',
      'is paid by card: refund it in the dashboard of Stripe, whose event takes the credits back.',
    );
  const reason = reasonOf(text);
  const paymentId = paymentOf(invoice, wanted);
  const payment = invoice.payments.find((one) => one.id === paymentId);
  if (amount !== undefined && !/^\d{1,40}$/.test(amount))
    throw invalid('--amount', 'must be a whole number of the smallest unit: cents, satoshi, wei.');
  const left = BigInt(payment?.amount ?? 0) - BigInt(payment?.refunded ?? 0);
  const refundId = given ?? createIds({ clock: terminal.clock, random: systemRandom })();
  const refunded = {
    ...{ id: refundId, paymentId, amount: amount ?? String(left), reason },
    ...{ by: OPERATOR.who, atMs: terminal.clock.now() },
  };
  const after = await applied(services, {
    ...{ accountId, id, event: { kind: 'refund', refund: refunded } },
    ...{ action: 'billing.refund', detail: `${refunded.amount} of ${paymentId}: ${reason}` },
  });
  answer(terminal, json, { refund: refunded, state: after.state, refunded: after.refunded }, () => [
    `Recorded refund ${refundId} of ${refunded.amount} (smallest unit). Transfer the money yourself.`,
    ...invoiceText(after),
  ]);
}

function addRateCommand(billing: Command, terminal: Terminal, services: () => Services): void {
  billing
    .command('rate')
    .description(
      'set the rate by which prices are converted, with its source; without a value, list the rates',
    )
    .argument('[currency]', `one of ${CURRENCIES.slice(1).join(', ')}`)
    .argument('[value]', 'units of the currency for one US dollar, such as 0.9215')
    .option('--source <text>', 'publisher of the rate, for example a URL')
    .option('--at <date>', 'day of the rate, such as 2026-11-25; default: now')
    .option('--json', 'answer as JSON')
    .action(
      async (
        currency: string | undefined,
        value: string | undefined,
        { source, at, json = false }: JsonOption & { source?: string; at?: string },
      ) => {
        const store = services().billing().store();
        if (currency !== undefined) {
          if (value === undefined) throw invalid('value', 'is required beside a currency.');
          if (source === undefined) throw invalid('--source', 'is required: invoices print it.');
          const nowMs = terminal.clock.now();
          const rate = parseRate(
            { currency, value, source, atMs: at === undefined ? nowMs : timeOf('--at', at) },
            nowMs,
          );
          await store.setRate(rate);
          await services()
            .audit()
            .write({
              ...OPERATOR,
              ...{ action: 'billing.rate', accountId: LOCAL_ACCOUNT, subject: rate.to },
              detail: `${rate.value} by ${rate.source}`.slice(0, BILLING_LIMITS.auditDetailMax),
            });
        }
        const rates = CURRENCIES.flatMap((one) => store.rate(one) ?? []);
        answer(terminal, json, { rates }, () =>
          rates.length === 0
            ? ['No rates: prices are in US dollars only.']
            : rates.map(
                (rate) => `1 ${rate.from} = ${rate.value} ${rate.to}, ${isoTime(rate.atMs)}, ${rate.source}`,
              ),
        );
      },
    );
}

function addStatementCommand(billing: Command, terminal: Terminal, services: () => Services): void {
  billing
    .command('statement')
    .description('print the statement of a month as CSV')
    .argument('<account>', 'id of the account')
    .argument('<month>', 'such as 2026-11, UTC')
    .option('--pool <pool>', `the balance: ${POOLS.join(' or ')}`, 'api')
    .option('--json', 'answer as JSON')
    .action(
      async (
        accountId: string,
        month: string,
        { pool: text, json = false }: JsonOption & { pool: string },
      ) => {
        const pool = POOLS.find((known) => known === text.toLowerCase());
        if (pool === undefined) throw invalid('--pool', `must be one of ${POOLS.join(', ')}.`);
        const statement = await services().billing().statement(accountId, pool, month);
        answer(terminal, json, statement, () => statementCsv(statement).trimEnd().split('\r\n'));
      },
    );
}

/** Adds the commands to `assay billing`. */
export function addPaymentCommands(billing: Command, terminal: Terminal, services: () => Services): void {
  addStatementCommand(billing, terminal, services);

  const statements = billing.command('import').description('import payments that a bank reports');
  statements
    .command('camt053')
    .description('book the payments of a bank statement of ISO 20022 camt.053; repeating it is a no-op')
    .argument('<file>', 'the statement, an XML file')
    .option(
      '--assign <key=account/invoice>',
      'book a suggested payment, by its key, for an invoice; can be repeated',
      (text: string, before: readonly string[]) => [...before, text],
      [] as readonly string[],
    )
    .option('--json', 'answer as JSON')
    .action((file: string, options: JsonOption & { assign: readonly string[] }) =>
      importCamt053(services(), terminal, file, options),
    );

  addRateCommand(billing, terminal, services);

  billing
    .command('refund')
    .description('record that money of an invoice was returned, and take back its credits')
    .argument('<account>', 'id of the account')
    .argument('<invoice>', 'id of the invoice')
    .requiredOption('--reason <text>', 'why; the customer sees it')
    .option('--payment <id>', 'the payment; default: the only confirmed one')
    .option('--amount <n>', 'in the smallest unit of its asset, such as cents; default: all that is left')
    .option('--id <id>', 'id of the refund: repeating it with the same id is a no-op')
    .option('--json', 'answer as JSON')
    .action((accountId: string, id: string, options: RefundOptions) =>
      refund(services(), terminal, [accountId, id], options),
    );

  billing
    .command('release')
    .description('accept a payment that is HELD, and book its credits')
    .argument('<account>', 'id of the account')
    .argument('<invoice>', 'id of the invoice')
    .argument('<payment>', 'id of the payment')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .action(async (accountId: string, id: string, paymentId: string, options: { reason: string }) => {
      const detail = `${paymentId}: ${reasonOf(options.reason)}`;
      const event = { kind: 'release', paymentId } as const;
      const after = await applied(services(), { accountId, id, event, action: 'billing.release', detail });
      answer(terminal, false, {}, () => invoiceText(after));
    });

  billing
    .command('refuse')
    .description('record that a payment was returned which is not credited')
    .argument('<account>', 'id of the account')
    .argument('<invoice>', 'id of the invoice')
    .argument('<payment>', 'id of the payment')
    .requiredOption('--reason <text>', 'why; the customer sees it')
    .action(async (accountId: string, id: string, paymentId: string, options: { reason: string }) => {
      const reason = reasonOf(options.reason);
      const event = { kind: 'refuse', paymentId, reason } as const;
      const detail = `${paymentId}: ${reason}`;
      const after = await applied(services(), { accountId, id, event, action: 'billing.refuse', detail });
      answer(terminal, false, {}, () => invoiceText(after));
    });

  billing
    .command('cancel')
    .description('end an unpaid invoice')
    .argument('<account>', 'id of the account')
    .argument('<invoice>', 'id of the invoice')
    .requiredOption('--reason <text>', 'why; the customer sees it')
    .action(async (accountId: string, id: string, options: { reason: string }) => {
      const reason = reasonOf(options.reason);
      const event = { kind: 'invalidate', reason } as const;
      const after = await applied(services(), {
        accountId,
        id,
        event,
        action: 'billing.cancel',
        detail: reason,
      });
      answer(terminal, false, {}, () => invoiceText(after));
    });
}
