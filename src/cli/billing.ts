/** `assay billing packages|invoices|agree|verify`, and those of billing-payments.ts: sales of credits, with or without a running server. */
import type { Command } from 'commander';
import { OPERATOR } from '../accounts/audit.ts';
import { LOCAL_ACCOUNT } from '../accounts/keys.ts';
import { AssayError } from '../base/errors.ts';
import { notConfigured } from '../billing/crypto/crypto-payments.ts';
import type { KeyUse } from '../billing/crypto/method.ts';
import { invoiceAnswer } from '../billing/invoice.ts';
import { BILLING_LIMITS } from '../billing/limits.ts';
import type { OfferedPackage, Price } from '../billing/packages.ts';
import { INVOICE_STATES, type InvoiceState } from '../billing/records.ts';
import { verifyAuthorized } from '../billing/x402/verify.ts';
import { addPaymentCommands } from './billing-payments.ts';
import { answer, type Terminal } from './context.ts';
import type { Services } from './services.ts';

interface JsonOption {
  readonly json?: boolean;
}

const CENTS = 100;

const money = ({ amount, currency }: Price): string => `${(amount / CENTS).toFixed(2)} ${currency}`;

function packageLine({ name, kind, credits, price, pricePerCredit }: OfferedPackage): string {
  if (credits === null || price === null || pricePerCredit === null) return `${name}: by agreement`;
  const period = kind === 'FREE' ? ' each month' : '';
  return `${name}: ${credits} credits${period}, ${money(price)}, ${money(pricePerCredit)} per credit`;
}

type ShownInvoice = ReturnType<typeof invoiceAnswer>;

function invoiceLine(invoice: ShownInvoice): string {
  const { id, createdAt, state, quantity, price, pool, receiptNumber, refunded, dispute, reason } = invoice;
  return [
    `${id} ${createdAt} ${state} ${quantity} × ${invoice.package} ${money(price)} for ${pool}`,
    ...(receiptNumber === null ? [] : [`receipt ${receiptNumber}`]),
    ...(refunded.amount === 0 ? [] : [`refunded ${money(refunded)}`]),
    ...(dispute === null ? [] : [`dispute ${dispute}`]),
    ...(reason === null ? [] : [reason]),
  ].join(', ');
}

/** Reads a whole number of an option. */
function wholeNumber(option: string, text: string, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
  throw new AssayError(
    'INVALID_REQUEST',
    `${option}: must be a whole number from 1 to ${max} (got '${text}').`,
    { field: option },
  );
}

function stateOf(text: string | undefined): InvoiceState | null {
  if (text === undefined) return null;
  const state = INVOICE_STATES.find((known) => known === text.toUpperCase());
  if (state !== undefined) return state;
  throw new AssayError(
    'INVALID_REQUEST',
    `--state: must be one of ${INVOICE_STATES.join(', ')} (got '${text}').`,
    { field: 'state' },
  );
}

/** Stores or removes the custom package of an account. */
async function agree(
  services: Services,
  accountId: string,
  agreed: { readonly credits: number; readonly amount: number } | null,
  nowMs: number,
): Promise<void> {
  if (services.keys().planOf(accountId) === null)
    throw new AssayError('NOT_FOUND', `account: there is no account '${accountId}'.`, { field: 'account' });
  await services.billing().agree(accountId, agreed === null ? null : { ...agreed, agreedAtMs: nowMs });
  const detail = agreed === null ? 'removed' : `${agreed.credits} credits for ${agreed.amount} cents`;
  await services.audit().write({ ...OPERATOR, action: 'billing.agree', accountId, subject: null, detail });
}

/** Lines of a key: its place, and the command with which Bitcoin Core and its forks import its addresses. */
function keyLines({ key, form, next, descriptor, range, firstPath }: KeyUse): readonly string[] {
  const given = range === null ? 'no address given yet' : `addresses ${range[0]} to ${range[1]} given`;
  const first = `${key}: ${form}, first path ${firstPath}, next index ${next}, ${given}`;
  if (range === null) return [first];
  const gap = `Wallets look 20 addresses ahead: unpaid invoices can hide later payments. Set the gap limit to at least ${next + 20}.`;
  if (descriptor === null) return [first, gap];
  const request = JSON.stringify([
    { desc: descriptor, range: [0, range[1]], timestamp: 'now', watchonly: true },
  ]);
  return [first, gap, `importdescriptors '${request}'`];
}

/** Adds `assay billing`. */
export function addBillingCommand(program: Command, terminal: Terminal, services: () => Services): void {
  const billing = program
    .command('billing')
    .description('packages of credits, invoices, and their verification');

  billing
    .command('packages')
    .description('list the packages that an account can buy')
    .argument('[account]', 'id of the account', LOCAL_ACCOUNT)
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, { json = false }: JsonOption) => {
      const offer = services().billing().offer(accountId);
      answer(terminal, json, offer, ({ checkout, packages }) => [
        ...packages.map(packageLine),
        checkout === 'available'
          ? 'Packages can be bought by card.'
          : 'No package can be bought by card through this process: ASSAY_STRIPE_KEY or ASSAY_PUBLIC_HOST is not set.',
      ]);
    });

  billing
    .command('invoices')
    .description('list the newest invoices of an account')
    .argument('[account]', 'id of the account', LOCAL_ACCOUNT)
    .option('--state <state>', `only invoices in this state: ${INVOICE_STATES.join(', ')}`)
    .option('--limit <n>', 'number of invoices', '50')
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, options: JsonOption & { state?: string; limit: string }) => {
      const state = stateOf(options.state);
      const limit = wholeNumber('--limit', options.limit, BILLING_LIMITS.invoicePageMax);
      const page = services()
        .billing()
        .invoices(accountId, state === null ? {} : { state }, { limit });
      const nowMs = terminal.clock.now();
      const invoices = page.invoices.map((invoice) => invoiceAnswer(invoice, nowMs));
      answer(terminal, options.json ?? false, { invoices }, () =>
        invoices.length === 0 ? ['No invoices.'] : invoices.map(invoiceLine),
      );
    });

  billing
    .command('agree')
    .description('set the price of the custom package of an account; without options, remove it')
    .argument('<account>', 'id of the account')
    .option('--credits <n>', 'credits of the package')
    .option('--cents <n>', 'price in US cents')
    .option('--json', 'answer as JSON')
    .action(async (accountId: string, options: JsonOption & { credits?: string; cents?: string }) => {
      const { credits, cents } = options;
      if ((credits === undefined) !== (cents === undefined))
        throw new AssayError('INVALID_REQUEST', '--credits and --cents: give both, or none.', {
          field: credits === undefined ? 'credits' : 'cents',
        });
      const agreed =
        credits === undefined || cents === undefined
          ? null
          : {
              credits: wholeNumber('--credits', credits, BILLING_LIMITS.agreedCreditsMax),
              amount: wholeNumber('--cents', cents, BILLING_LIMITS.agreedAmountMax),
            };
      await agree(services(), accountId, agreed, terminal.clock.now());
      const offered = services()
        .billing()
        .offer(accountId)
        .packages.filter(({ kind }) => kind === 'CUSTOM');
      answer(terminal, options.json ?? false, { accountId, agreed }, () => offered.map(packageLine));
    });

  addPaymentCommands(billing, terminal, services);

  billing
    .command('keys')
    .description(
      'list the watch-only keys of cryptocurrency invoices, with the range of addresses that a wallet must import',
    )
    .option('--json', 'answer as JSON')
    .action(({ json = false }: JsonOption) => {
      const crypto = services().cryptoPayments();
      if (crypto === null) throw notConfigured();
      const keys = crypto.keyUses();
      answer(terminal, json, { keys }, () => keys.flatMap(keyLines));
    });

  billing
    .command('verify')
    .description('compare invoices, payments and the ledger, and the numbers of receipts')
    .option('--chains', 'also compare payments in cryptocurrency with their chains')
    .option('--json', 'answer as JSON')
    .action(async ({ json = false, chains = false }: JsonOption & { chains?: boolean }) => {
      const ofLedger = await services().billing().verify();
      const crypto = chains ? services().cryptoPayments() : null;
      if (chains && crypto === null) throw notConfigured();
      const ofChains = (await crypto?.compareWithChains()) ?? null;
      const authorized = services().authorizedPayments();
      const ofCalls =
        authorized === null
          ? null
          : await verifyAuthorized(authorized, services().ledger(), services().billing().store());
      const faults = [...ofLedger.faults, ...(ofChains?.faults ?? []), ...(ofCalls?.faults ?? [])];
      const report = { ...ofLedger, faults, chains: ofChains, calls: ofCalls };
      answer(terminal, json, report, () => [
        `${report.invoices} invoices, ${report.settled} settled, ${report.held} held, ${report.receipts} receipts, ${report.entries} ledger entries: ${report.faults.length === 0 ? 'all agree.' : 'NOT in agreement.'}`,
        ...(report.withoutInvoice === 0
          ? []
          : [`${report.withoutInvoice} payments of an earlier release have no invoice.`]),
        ...(ofCalls === null
          ? []
          : [
              `${ofCalls.calls} payments of calls, ${ofCalls.unanswered} of them not answered (${ofCalls.unansweredCredits} credits), and ${ofCalls.deleted} older ones that were deleted; ${ofCalls.invoices} payments of invoices by a signature.`,
            ]),
        ...(ofChains === null
          ? []
          : [
              `${ofChains.payments} payments are on their chains as recorded, ${ofChains.addresses} addresses were compared, ${ofChains.skipped.length} comparisons were skipped.`,
              ...ofChains.skipped,
            ]),
        ...report.faults,
      ]);
      if (report.faults.length > 0)
        throw new AssayError('STORE_CORRUPT', `Invoices and the ledger differ: ${report.faults[0]}`);
    });
}
