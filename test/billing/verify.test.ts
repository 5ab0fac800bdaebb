/** The comparison of invoices, payments and ledger finds records that were changed after they were booked. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import { OPERATOR } from '../../src/accounts/audit.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Invoice, InvoicePayment } from '../../src/billing/records.ts';
import type { Billing } from '../../src/billing/service.ts';
import { readCamt053 } from '../../src/billing/wire/camt053.ts';
import { importStatement } from '../../src/billing/wire/import.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { BANK_ACCOUNT, openedBilling, testWire } from './opened.ts';
import { statementFile } from './statements.ts';

const ACCOUNT = 'acc_1';

let folder: TempFolder;
let access: Access;
let billing: Billing;
let paid: Invoice;

beforeAll(async () => {
  folder = tempFolder();
  access = createAccess(
    { folder: join(folder.path, 'accounts') },
    { clock: systemClock, random: systemRandom, log: silentLogger, freeCredits: () => 0 },
  );
  await access.keys.addAccount(ACCOUNT, 'FREE');
  billing = openedBilling(folder.path, access, { methods: testWire });
  const ordered = await billing.order(
    { accountId: ACCOUNT, personId: 'per_ann' },
    { package: 'Starter', method: 'WIRE' },
  );
  const { reference: structured } = ordered.details.wire!;
  const date = new Date().toISOString().slice(0, 10);
  const file = statementFile(folder.path, BANK_ACCOUNT.iban, [
    { amount: '199.00', bankReference: 'B-1', structured, date },
  ]);
  await importStatement(
    await readCamt053(file),
    { assigned: new Map(), actor: OPERATOR },
    { clock: systemClock, invoices: () => billing.store(), settlement: () => billing.settlement() },
  );
  paid = billing.invoice(ACCOUNT, ordered.id);
});
afterAll(async () => {
  await billing.close();
  await access.close();
  folder.remove();
});

/** Changes the stored record past all checks, and returns the faults that are found; then restores it. */
async function faultsAfter(change: (invoice: Invoice) => Invoice): Promise<string> {
  await billing.store().change(ACCOUNT, paid.id, change);
  const { faults } = await billing.verify();
  await billing.store().change(ACCOUNT, paid.id, () => paid);
  return faults.join('\n');
}
const withPayment = (change: Partial<InvoicePayment>) => (invoice: Invoice) => ({
  ...invoice,
  payments: invoice.payments.map((payment) => ({ ...payment, ...change })),
});

it('agrees with a payment as the bank reported it', async () => {
  expect(paid).toMatchObject({ state: 'SETTLED', payments: [{ state: 'CONFIRMED', credits: 100 }] });
  expect((await billing.verify()).faults).toEqual([]);
});

it.each([
  ['a higher amount', withPayment({ value: '39800' }), /gives 200 credits, and 100 are recorded/],
  ['another amount than what arrived', withPayment({ amount: '1' }), /arrived with 1, and counts as 19900/],
  ['more credits', withPayment({ credits: 1_000 }), /gives 1000 credits, and its entries add up to 100/],
  ['a payment that is undone', withPayment({ state: 'REVERTED' }), /gives 0 credits, and 100 are recorded/],
  ['the name of another payment', withPayment({ id: 'other' }), /payment other is not among its references/],
  [
    'a lower amount due',
    (invoice: Invoice) => ({ ...invoice, due: { ...invoice.due, amount: '100' } }),
    /costs 19900 USD, and 100 USD are due/,
  ],
  ['no entry', (invoice: Invoice) => ({ ...invoice, entries: [] }), /its entries add up to 0/],
  [
    'an entry of more credits',
    (invoice: Invoice) => ({
      ...invoice,
      entries: invoice.entries.map((entry) => ({ ...entry, credits: 200 })),
    }),
    /entry \w+ of 200 credits is 100 in the ledger/,
  ],
  ['a refund that was never made', withPayment({ refunded: '5000' }), /has refunds that do not add up/],
])('finds a record that was changed to %s', async (_, change, fault) => {
  expect(await faultsAfter(change)).toMatch(fault);
  expect((await billing.verify()).faults).toEqual([]);
});

it('finds a purchase that no payment explains, also of an account without invoices', async () => {
  await access.keys.create({ name: 'other', accountId: 'acc_2', plan: 'FREE' });
  const book = (accountId: string, amount: number) =>
    access.ledger().book({ accountId, type: 'PURCHASE', amount, reference: null });
  const [own, other, dashboard] = [
    await book(ACCOUNT, 5_000),
    await book('acc_2', 70),
    await book('acc_2.dashboard', 8),
  ];
  const { faults } = await billing.verify();
  expect(faults).toHaveLength(3);
  for (const { entry } of [own, other, dashboard])
    expect(faults.join()).toContain(`1 purchases are on no invoice (${entry.id})`);
});
