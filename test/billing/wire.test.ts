/**
 * Payment by wire, over both kinds of live state: invoices and their codes, statements of a bank, partial, late and excess payments,
 * reversals, refunds, and an interruption between the steps of a booking.
 */
import { join } from 'node:path';
import jsQR from 'jsqr';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import { OPERATOR } from '../../src/accounts/audit.ts';
import { hasCheckDigits, parseIban, withCheckDigits } from '../../src/base/iban.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { BILLING_LIMITS } from '../../src/billing/limits.ts';
import { parseRate } from '../../src/billing/rates.ts';
import type { Invoice } from '../../src/billing/records.ts';
import type { Billing, InvoiceOrder } from '../../src/billing/service.ts';
import { readCamt053 } from '../../src/billing/wire/camt053.ts';
import type { BankAccount } from '../../src/billing/wire/details.ts';
import { importStatement } from '../../src/billing/wire/import.ts';
import { createWire } from '../../src/billing/wire/method.ts';
import { epcText, qrSvg, swissText } from '../../src/billing/wire/qr.ts';
import { newReference, parseReference, referencesIn } from '../../src/billing/wire/reference.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { type OpenedBillingOptions, openedBilling } from './opened.ts';
import { statementFile, type TestEntry } from './statements.ts';

const IBAN = 'CH9300762011623852957';
const ACCOUNT: BankAccount = {
  iban: IBAN,
  bic: 'KBZHCH22',
  holder: 'Example AG',
  bank: 'Example Bank',
  address: { street: 'Bahnhofstrasse 1', postcode: '8001', town: 'Zürich', country: 'CH' },
};
const BUYER = { accountId: 'acc_1', personId: 'per_ann' };
const DAY = 86_400_000;

/** Draws the modules of an inline SVG as a picture, and reads the code in it. */
function readSvg(svg: string): string {
  const scale = 8;
  const [, min, side] = /viewBox="(-?\d+) -?\d+ (\d+)/.exec(svg) ?? [];
  const width = Number(side) * scale;
  const pixels = new Uint8ClampedArray(width * width * 4).fill(255);
  const fill = (x: number, y: number, w: number, h: number, value: number): void => {
    const [left, top, right, bottom] = [x, y, x + w, y + h].map((at) =>
      Math.round((at - Number(min)) * scale),
    );
    for (let row = Math.max(0, top!); row < Math.min(width, bottom!); row++)
      for (let column = Math.max(0, left!); column < Math.min(width, right!); column++)
        pixels.fill(value, (row * width + column) * 4, (row * width + column) * 4 + 3);
  };
  for (const [, x, y, w] of svg.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g))
    fill(Number(x), Number(y), Number(w), 1, 0);
  const cross = svg.slice(svg.indexOf('fill="#000"/>'));
  for (const [, x, y, w, h, colour] of cross.matchAll(
    /<rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)" height="([\d.]+)" fill="(#\w+)"/g,
  ))
    fill(Number(x), Number(y), Number(w), Number(h), colour === '#fff' ? 255 : 0);
  const code = jsQR.default(pixels, width, width);
  return code === null ? 'no code' : Buffer.from(code.binaryData).toString('utf8');
}

describe('a reference of ISO 11649', () => {
  it('has check digits that find every wrong digit and every pair that is swapped', () => {
    // The example of the standard.
    expect(parseReference('RF18 5390 0754 7034')).toBe('RF18539007547034');
    const reference = newReference(42);
    expect(parseReference(reference)).toBe(reference);
    for (let at = 4; at < reference.length; at++) {
      for (const digit of '0123456789')
        if (digit !== reference[at])
          expect(parseReference(reference.slice(0, at) + digit + reference.slice(at + 1))).toBeNull();
      const [a, b] = [reference[at], reference[at + 1]];
      if (b !== undefined && a !== b)
        expect(parseReference(reference.slice(0, at) + b + a + reference.slice(at + 2))).toBeNull();
    }
  });

  it('is another one if its number was given before, as after a restore from a backup', () => {
    const references = Array.from({ length: 20 }, () => newReference(5));
    expect(new Set(references).size).toBeGreaterThan(18);
    for (const reference of references) {
      expect(parseReference(reference)).toBe(reference);
      expect(reference).toMatch(/^RF\d{2}0001000005\d{6}$/);
    }
    const last = { bytes: () => new Uint8Array(6).fill(0xff) };
    expect(newReference(5, last).slice(14)).toBe(String((2 ** 48 - 1) % 1e6).padStart(6, '0'));
  });

  it('has no other shape, whatever its check digits', () => {
    const shaped = (text: string) => [hasCheckDigits(text.replace(/[\s-]/g, '')), parseReference(text)];
    const longest = withCheckDigits('RF', 'A'.repeat(21));
    expect([shaped(longest), shaped(withCheckDigits('RF', '7'))]).toEqual([
      [true, longest],
      [true, withCheckDigits('RF', '7')],
    ]);
    // An IBAN, and a reference of one character too many: their check digits are correct.
    for (const text of [
      IBAN,
      'DE89370400440532013000',
      withCheckDigits('RF', 'A'.repeat(22)),
      withCheckDigits('RG', '7'),
    ])
      expect(shaped(text), text).toEqual([true, null]);
    expect(parseReference('RF')).toBeNull();
    expect(referencesIn(`pay ${IBAN} now`)).toEqual([]);
  });

  it('is found in a free text, with spaces and words around it', () => {
    const reference = newReference(7);
    const grouped = reference.replace(/(.{4})/g, '$1 ');
    for (const text of [
      reference,
      `Invoice ${grouped} thanks`,
      `pay:${reference.toLowerCase()}EUR`,
      `/ROC/${reference}//`,
    ])
      expect(referencesIn(text)).toContain(reference);
    for (const other of [withCheckDigits('RF', '7'), withCheckDigits('RF', 'A'.repeat(21))])
      expect(referencesIn(`invoice ${other}, thanks`)).toEqual([other]);
    expect(referencesIn('RF00 0000, no reference')).toEqual([]);
  });

  it('is found in a long text in a time that grows with its length', () => {
    const reference = newReference(7);
    const timeOf = (count: number): number => {
      const text = `${'RF1 '.repeat(count)}${reference}`;
      const before = process.cpuUsage();
      expect(referencesIn(text)).toContain(reference);
      return process.cpuUsage(before).user;
    };
    const fastest = (count: number): number => Math.min(...[0, 1, 2].map(() => timeOf(count)));
    fastest(2_000);
    // Sixteen times with a time that grows by the square.
    expect(fastest(40_000) / fastest(10_000)).toBeLessThan(10);
  });
});

it('an IBAN is accepted with its check digits only', () => {
  expect(parseIban('ch93 0076 2011 6238 5295 7')).toBe(IBAN);
  expect(parseIban('CH9300762011623852958')).toBeNull();
  expect(parseIban('RF18539007547034')).toBeNull();
  expect(hasCheckDigits('DE89370400440532013000')).toBe(true);
});

describe('a code for banking apps', () => {
  const wire = { ...ACCOUNT, reference: newReference(1) };

  it('of SEPA is read by a reader, with account, amount and reference', () => {
    const text = epcText(wire, { amount: 73_529n, currency: 'EUR' })!;
    expect(readSvg(qrSvg(text, 'code', false)).split('\n')).toEqual([
      ...['BCD', '002', '1', 'SCT', 'KBZHCH22', 'Example AG', IBAN, 'EUR735.29', '', wire.reference],
    ]);
    expect(epcText(wire, { amount: 1n, currency: 'CHF' })).toBeNull();
  });

  it('of Switzerland is read by a reader with the cross in its middle, with 31 elements', () => {
    const text = swissText(wire, { amount: 5n, currency: 'CHF' })!;
    const lines = readSvg(qrSvg(text, 'code', true)).split('\n');
    expect(lines).toHaveLength(31);
    expect(lines.slice(0, 11)).toEqual([
      ...['SPC', '0200', '1', IBAN, 'S', 'Example AG', 'Bahnhofstrasse 1', '', '8001', 'Zürich', 'CH'],
    ]);
    expect(lines.slice(18, 20)).toEqual(['0.05', 'CHF']);
    expect(lines.slice(27)).toEqual(['SCOR', wire.reference, '', 'EPD']);
    expect(swissText({ ...wire, address: null }, { amount: 5n, currency: 'CHF' })).toBeNull();
    expect(
      swissText({ ...wire, iban: 'DE89370400440532013000' }, { amount: 5n, currency: 'EUR' }),
    ).toBeNull();
    expect(swissText(wire, { amount: 5n, currency: 'USD' })).toBeNull();
  });
});

describeWithSharedData('statements of real banks', () => {
  const read = (name: string) => readCamt053(sharedData('payments', 'camt053', `camt053.${name}.xml`));

  it.each([
    ['v2.all-balance-types', 2, 1],
    ['v2.five.decimals', 2, 1],
    ['v2.minimal.ultimate', 2, 1],
    ['v2.minimal', 2, 1],
    ['v2.multi.statement', 2, 2],
    ['v2.with-account-name', 2, 1],
    ['v2.with-party-ids', 2, 1],
    ['v3', 3, 1],
    ['v4', 4, 1],
    ['v8', 8, 1],
  ])('%s is read', async (name, version, entries) => {
    const statement = await read(name);
    expect([statement.version, statement.entries.length]).toEqual([version, entries]);
    expect(statement.entries[0]).toMatchObject({
      amount: expect.stringMatching(/^8\.850?$/),
      status: 'BOOK',
    });
  });

  it('a file without a statement is rejected with the reason', async () => {
    await expect(read('v2.wrong')).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('contains no statement'),
    });
  });
});

overLiveStates((makeState) => {
  let now: number;
  let state: LiveState;
  let folder: TempFolder;
  let access: Access;
  let billing: Billing;
  const clock = { now: () => now, monotonic: () => now };

  const opened = (options: OpenedBillingOptions = {}): Billing =>
    openedBilling(folder.path, access, {
      ...{ clock, openStore: state.openStore },
      methods: ({ invoices }) => [
        createWire({ account: ACCOUNT, toleranceBasisPoints: 50 }, { clock, invoices }),
      ],
      ...options,
    });

  beforeEach(async () => {
    now = Date.UTC(2026, 10, 23, 12);
    folder = memoryFolder();
    state = makeState();
    access = createAccess(
      { folder: join(folder.path, 'accounts') },
      { clock, random: systemRandom, log: silentLogger, freeCredits: () => 0 },
    );
    await access.keys.addAccount('acc_1', 'FREE');
    await access.keys.addAccount('acc_2', 'FREE');
    billing = opened();
    billing.open();
    await state.ready();
  });
  afterEach(async () => {
    await billing.close();
    await state.close();
    await access.close();
    folder.remove();
  });

  const order = (change: Partial<InvoiceOrder> = {}): Promise<Invoice> =>
    billing.order(BUYER, { package: 'Starter', method: 'WIRE', ...change });
  const referenceOf = ({ details }: Invoice): string => details.wire!.reference;
  const bank = async (
    entries: readonly TestEntry[],
    assigned: readonly (readonly [string, string])[] = [],
  ) => {
    const statement = await readCamt053(statementFile(folder.path, IBAN, entries));
    return importStatement(
      statement,
      { actor: OPERATOR, assigned: new Map(assigned) },
      { clock, invoices: () => billing.store(), settlement: () => billing.settlement() },
    );
  };
  const outcomes = (results: Awaited<ReturnType<typeof bank>>) => results.map(({ outcome }) => outcome);
  const balance = async () => (await access.ledger().balance('acc_1')).balance;
  const invoiceOf = ({ id }: Invoice) => billing.invoice('acc_1', id);
  /** Every change of the balance is an entry of an invoice, and all of them add up to it. */
  const explained = async () => {
    const listed = billing.invoices('acc_1', {}, { limit: 100 }).invoices.flatMap(({ entries }) => entries);
    const { history } = await access.ledger().usage('acc_1', { limit: 100 });
    expect(history.map(({ id }) => id).sort()).toEqual(listed.map(({ id }) => id).sort());
    expect(listed.reduce((sum, { credits }) => sum + credits, 0)).toBe(await balance());
    expect((await billing.verify()).faults).toEqual([]);
    return listed.map(({ cause, credits }) => [cause, credits]);
  };

  it('refuses a method that is not configured, and a currency without a rate, and keeps nothing', async () => {
    await expect(order({ method: 'CRYPTO' })).rejects.toMatchObject({
      ...{ code: 'INVALID_REQUEST', field: 'method' },
      message: expect.stringContaining('CRYPTO is not available'),
    });
    await expect(order({ currency: 'EUR' })).rejects.toMatchObject({ field: 'currency' });
    await expect(order({ currency: 'XXX' })).rejects.toMatchObject({ field: 'currency' });
    expect(billing.invoices('acc_1', {}, { limit: 5 }).invoices).toEqual([]);
    expect(billing.offer('acc_1').methods).toEqual([{ method: 'WIRE', currencies: ['USD'] }]);
  });

  it('books a payment with the structured reference once, however often it is imported', async () => {
    const invoice = await order();
    const entry = { amount: '199.00', bankReference: 'B1', structured: referenceOf(invoice) };
    expect(outcomes(await bank([entry]))).toEqual(['BOOKED']);
    expect(outcomes(await bank([entry]))).toEqual(['REPEATED']);
    const settled = invoiceOf(invoice);
    expect(settled).toMatchObject({ state: 'SETTLED', exceptions: [], receipt: { number: 1 } });
    expect(settled.history.map(({ state: one }) => one)).toEqual(['NEW', 'PROCESSING', 'SETTLED']);
    expect(await explained()).toEqual([['PURCHASE', 100]]);
    expect(billing.receipt('acc_1', invoice.id).html).toContain('Total, paid by wire');
    // The same reference of the bank with another amount is another payment: it is not booked.
    expect(outcomes(await bank([{ ...entry, amount: '5.00' }]))).toEqual(['SUGGESTED']);
    expect(await balance()).toBe(100);
  });

  it('finds the reference in the free text, and only suggests what names no invoice', async () => {
    const [first, second] = [await order(), await order({ package: 'Growth' })];
    const results = await bank([
      {
        amount: '199.00',
        bankReference: 'B1',
        text: `Assay ${referenceOf(first).slice(0, 4)} ${referenceOf(first).slice(4)}`,
      },
      { amount: '799.00', bankReference: 'B2', text: 'for the credits' },
      { amount: '10.00', bankReference: 'B3', direction: 'DBIT', text: 'rent' },
      { amount: '799.00', bankReference: 'B4', status: 'PDNG', structured: referenceOf(second) },
      { amount: '1.00', bankReference: 'B5', text: `${referenceOf(first)} and ${referenceOf(second)}` },
    ]);
    expect(outcomes(results)).toEqual(['BOOKED', 'SUGGESTED', 'IGNORED', 'IGNORED', 'SUGGESTED']);
    expect(results[1]!.candidates).toEqual([`acc_1/${second.id}`]);
    expect(results[4]!.reason).toBe('it names several invoices');
    expect(invoiceOf(second).payments).toEqual([]);
    // The operator decides.
    const again = await bank(
      [{ amount: '799.00', bankReference: 'B2', text: 'for the credits' }],
      [['B2', `acc_1/${second.id}`]],
    );
    expect(outcomes(again)).toEqual(['BOOKED']);
    expect(await explained()).toEqual([
      ['PURCHASE', 500],
      ['PURCHASE', 100],
    ]);
  });

  it('adds partial payments up, one purchase each, and tolerates a subtracted fee', async () => {
    const invoice = await order();
    const structured = referenceOf(invoice);
    await bank([{ amount: '100.00', bankReference: 'B1', structured }]);
    expect(invoiceOf(invoice)).toMatchObject({ state: 'NEW', exceptions: ['PAID_PARTIAL'], entries: [] });
    expect(billing.proForma('acc_1', invoice.id).html).toContain('99.00 USD');
    // 0.50 less than the rest, and 0.5 % of 199.00 is 0.99.
    await bank([{ amount: '98.50', bankReference: 'B2', structured }]);
    expect(invoiceOf(invoice)).toMatchObject({ state: 'SETTLED', exceptions: [] });
    const { html } = billing.receipt('acc_1', invoice.id);
    for (const text of ['Difference that was accepted', '−0.50 USD', '198.50 USD', '14.87 USD'])
      expect(html).toContain(text);
    expect(await explained()).toEqual([
      ['PURCHASE', 50],
      ['PURCHASE', 50],
    ]);
  });

  it('credits a surplus at the price of the invoice, also after it was settled', async () => {
    const invoice = await order();
    const structured = referenceOf(invoice);
    await bank([{ amount: '209.00', bankReference: 'B1', structured }]);
    expect(invoiceOf(invoice)).toMatchObject({ state: 'SETTLED', exceptions: ['PAID_OVER'] });
    expect(await balance()).toBe(105);
    // The receipt and its VAT are of what was paid.
    const { html } = billing.receipt('acc_1', invoice.id);
    for (const text of [
      'Surplus of the payment: 5 credits',
      '10.00 USD',
      '209.00 USD',
      '193.34 USD',
      '15.66 USD',
    ])
      expect(html).toContain(text);
    await bank([{ amount: '199.00', bankReference: 'B2', structured }]);
    expect(await explained()).toEqual([
      ['PURCHASE', 105],
      ['PURCHASE', 100],
    ]);
    expect(invoiceOf(invoice).receipt?.number).toBe(1);
  });

  it('marks a payment that came after the invoice expired, and takes the rate of that time', async () => {
    const rate = (value: string) =>
      billing
        .store()
        .setRate(parseRate({ currency: 'EUR', value, source: 'https://ecb.example', atMs: now }, now));
    await rate('0.92');
    const invoice = await order({ currency: 'eur' });
    // 199.00 × 0.92.
    expect(invoice).toMatchObject({ amount: 18_308, currency: 'EUR', rate: { value: '0.92' } });
    expect(billing.proForma('acc_1', invoice.id).html).toContain('https://ecb.example');
    now += BILLING_LIMITS.wireMs;
    await billing.sweep();
    expect(invoiceOf(invoice).state).toBe('EXPIRED');
    await rate('1.84');
    // Twice as many euros are due now: half of the price has arrived.
    const date = new Date(now).toISOString().slice(0, 10);
    const structured = referenceOf(invoice);
    const late = new Date(now + DAY).toISOString().slice(0, 10);
    await bank([{ amount: '183.08', currency: 'EUR', bankReference: 'B1', structured, date: late }]);
    expect(invoiceOf(invoice)).toMatchObject({ state: 'EXPIRED', exceptions: ['PAID_PARTIAL', 'PAID_LATE'] });
    await bank([{ amount: '183.08', currency: 'EUR', bankReference: 'B2', structured, date: late }]);
    expect(invoiceOf(invoice)).toMatchObject({ state: 'SETTLED', exceptions: ['PAID_LATE'] });
    expect(await explained()).toEqual([
      ['PURCHASE', 50],
      ['PURCHASE', 50],
    ]);
    expect(date < late).toBe(true);
    now += BILLING_LIMITS.rateAgeMaxMs + 1;
    await expect(order({ currency: 'EUR' })).rejects.toThrow('no current rate for EUR');
  });

  it('does not count another currency or another account, and says so', async () => {
    const invoice = await order();
    const structured = referenceOf(invoice);
    const [wrong] = await bank([{ amount: '199.00', currency: 'EUR', bankReference: 'B1', structured }]);
    expect(wrong).toMatchObject({ outcome: 'SUGGESTED', reason: 'EUR arrived, and USD is due.' });
    expect(invoiceOf(invoice)).toMatchObject({
      state: 'NEW',
      payments: [{ state: 'WRONG_ASSET', value: '0' }],
    });
    const other = await readCamt053(
      statementFile(folder.path, 'DE89370400440532013000', [
        { amount: '199.00', bankReference: 'B2', structured },
      ]),
    );
    const results = await importStatement(
      other,
      { actor: OPERATOR },
      { clock, invoices: () => billing.store(), settlement: () => billing.settlement() },
    );
    expect(results[0]).toMatchObject({ outcome: 'SUGGESTED' });
    expect(await balance()).toBe(0);
  });

  it('books each payment of a batch', async () => {
    const [first, second] = [await order(), await order()];
    const parts = [first, second].map((one) => ({ amount: '199.00', structured: referenceOf(one) }));
    const batch = { amount: '398.00', bankReference: 'BATCH', parts };
    expect(outcomes(await bank([batch]))).toEqual(['BOOKED', 'BOOKED']);
    expect(outcomes(await bank([batch]))).toEqual(['REPEATED', 'REPEATED']);
    expect(await balance()).toBe(200);
  });

  it('books nothing of an outgoing payment within a batch, and reverses a batch whatever direction its parts have', async () => {
    const [first, second] = [await order(), await order()];
    const part = (invoice: Invoice, direction: 'CRDT' | 'DBIT') =>
      ({ amount: '199.00', structured: referenceOf(invoice), direction }) as const;
    const batch = { amount: '0.00', bankReference: 'B1', parts: [part(first, 'CRDT'), part(second, 'DBIT')] };
    expect(outcomes(await bank([batch]))).toEqual(['BOOKED', 'IGNORED']);
    expect(await balance()).toBe(100);
    const parts = [part(first, 'CRDT'), part(second, 'CRDT')];
    const reversal = {
      amount: '398.00',
      direction: 'DBIT',
      reversal: true,
      bankReference: 'B2',
      parts,
    } as const;
    expect(outcomes(await bank([reversal]))).toEqual(['REVERSED', 'SUGGESTED']);
    expect(await balance()).toBe(0);
  });

  it('suggests a payment with a reference of the bank that another payment had, and does not hide it', async () => {
    const [first, second] = [await order(), await order()];
    const entries = [first, second].map((one) => ({
      ...{ amount: '199.00', bankReference: 'B1', structured: referenceOf(one) },
    }));
    const results = await bank(entries);
    expect(outcomes(results)).toEqual(['BOOKED', 'SUGGESTED']);
    expect(results[1]?.reason).toBe('the bank gave its reference to another payment before');
    expect(outcomes(await bank(entries))).toEqual(['REPEATED', 'SUGGESTED']);
    expect(await balance()).toBe(100);
  });

  it('records a payment on one invoice, and refuses it on every other', async () => {
    const [first, second] = [await order(), await order()];
    await bank([{ amount: '199.00', bankReference: 'B1', structured: referenceOf(first) }]);
    // As of a transfer that names the reference keys of both, when the first one is not followed any more.
    const [payment] = invoiceOf(first).payments;
    const apply = (to: Invoice, accountId = 'acc_1') =>
      billing.settlement().apply(accountId, to.id, { kind: 'payment', payment: payment! });
    // The first invoice of another account has the same number as the first one of this account.
    const wire = { package: 'Starter', method: 'WIRE' } as const;
    const foreign = await billing.order({ accountId: 'acc_2', personId: 'per_bob' }, wire);
    for (const refused of [apply(second), apply(foreign, 'acc_2')])
      await expect(refused).rejects.toMatchObject({
        ...{ code: 'INVALID_REQUEST', message: expect.stringContaining('another invoice') },
      });
    expect(invoiceOf(second)).toMatchObject({ state: 'NEW', payments: [] });
    await apply(first);
    expect(await balance()).toBe(100);
    await explained();
  });

  it('tells equal payments without a reference of the bank apart, and repeats neither', async () => {
    const invoice = await order();
    const entry = { amount: '99.50', structured: referenceOf(invoice) };
    expect(outcomes(await bank([entry, entry]))).toEqual(['BOOKED', 'BOOKED']);
    expect(outcomes(await bank([entry, entry]))).toEqual(['REPEATED', 'REPEATED']);
    expect(await explained()).toEqual([
      ['PURCHASE', 50],
      ['PURCHASE', 50],
    ]);
  });

  it('takes back what the bank reverses, once, and also if the credits are spent', async () => {
    const invoice = await order();
    const structured = referenceOf(invoice);
    await bank([{ amount: '199.00', bankReference: 'B1', structured }]);
    await access.ledger().book({ accountId: 'acc_1', type: 'ADJUSTMENT', amount: -30, reference: 'spent' });
    const reversal: TestEntry = {
      amount: '199.00',
      bankReference: 'B9',
      structured,
      direction: 'DBIT',
      reversal: true,
    };
    expect(outcomes(await bank([reversal]))).toEqual(['REVERSED']);
    expect(billing.receipt('acc_1', invoice.id).html).toContain(
      '<th scope="row">Undone since</th><td class="n">−199.00 USD',
    );
    expect(outcomes(await bank([reversal]))).toEqual(['REPEATED']);
    // Importing the payment again does not bring it back.
    expect(outcomes(await bank([{ amount: '199.00', bankReference: 'B1', structured }]))).toEqual([
      'REPEATED',
    ]);
    expect(await balance()).toBe(-30);
    expect(invoiceOf(invoice)).toMatchObject({ state: 'NEW', payments: [{ state: 'REVERTED', credits: 0 }] });
    // The customer pays again.
    await bank([{ amount: '199.00', bankReference: 'B10', structured }]);
    expect(await balance()).toBe(70);
    expect(invoiceOf(invoice)).toMatchObject({ state: 'SETTLED', receipt: { number: 1 } });
    expect(invoiceOf(invoice).entries.map(({ cause, credits }) => [cause, credits])).toEqual([
      ['PURCHASE', 100],
      ['REVERSAL', -100],
      ['PURCHASE', 100],
    ]);
    expect((await billing.verify()).faults).toEqual([]);
    expect(outcomes(await bank([{ ...reversal, amount: '1.00', bankReference: 'B11' }]))).toEqual([
      'SUGGESTED',
    ]);
  });

  it('takes back the share of a refund, each once, with its reason', async () => {
    const invoice = await order();
    await bank([{ amount: '199.00', bankReference: 'B1', structured: referenceOf(invoice) }]);
    const paymentId = `wire ${IBAN} B1`;
    const refund = (id: string, amount: string) =>
      billing.settlement().apply(
        'acc_1',
        invoice.id,
        {
          kind: 'refund',
          refund: { id, paymentId, amount, reason: 'too many', by: 'operator', atMs: now },
        },
        OPERATOR,
      );
    await refund('r1', '1393');
    await refund('r1', '1393');
    // 7 % of 100 credits.
    expect(await balance()).toBe(93);
    await expect(refund('r2', '18508')).rejects.toThrow('must be from 1 to 18507');
    await refund('r3', '18507');
    expect(invoiceOf(invoice)).toMatchObject({ state: 'SETTLED', refunded: 19_900 });
    expect(await explained()).toEqual([
      ['PURCHASE', 100],
      ['REFUND', -7],
      ['REFUND', -93],
    ]);
    expect(access.audit().newest(1)[0]).toMatchObject({ who: 'operator', action: 'credits.book' });
  });

  it('books once and completely if the process stops between any two steps', async () => {
    const invoice = await order();
    const entry = { amount: '199.00', bankReference: 'B1', structured: referenceOf(invoice) };
    let stops = 0;
    await billing.close();
    // The ledger has booked, and the answer is lost.
    billing = opened({
      ledger: () => ({
        usage: (...args) => access.ledger().usage(...args),
        balance: (...args) => access.ledger().balance(...args),
        async book(booking) {
          const result = await access.ledger().book(booking);
          if (stops++ === 0) throw new Error('killed');
          return result;
        },
      }),
    });
    billing.open();
    await state.ready();
    await expect(bank([entry])).rejects.toThrow('killed');
    expect(invoiceOf(invoice)).toMatchObject({ state: 'PROCESSING', entries: [] });
    await billing.close();
    billing = opened();
    billing.open();
    await state.ready();
    await billing.sweep();
    expect(invoiceOf(invoice).state).toBe('SETTLED');
    expect(outcomes(await bank([entry]))).toEqual(['REPEATED']);
    expect(await explained()).toEqual([['PURCHASE', 100]]);
  });

  it('keeps events of an invoice in order, and hands each to its receivers once', async () => {
    await billing.setPreferences('acc_1', {
      ...{ webhookUrl: 'https://example.org/hook', email: null },
      lowBalance: { api: null, dashboard: null },
    });
    const invoice = await order();
    await bank([{ amount: '199.00', bankReference: 'B1', structured: referenceOf(invoice) }]);
    const { changes, last } = billing.store().events('acc_1', 0, 10);
    expect(changes.map(({ type }) => type)).toEqual([
      'invoice.created',
      'invoice.processing',
      'invoice.settled',
    ]);
    expect(changes.map(({ number }) => number)).toEqual([1, 2, 3]);
    expect(last).toBe(3);
    const sent: string[] = [];
    const deliver = async ({ type, webhookUrl }: { type: string; webhookUrl: string | null }) =>
      void sent.push(`${type} ${webhookUrl}`);
    await billing.sweep(deliver);
    await billing.sweep(deliver);
    expect(sent).toEqual(
      ['created', 'processing', 'settled'].map((type) => `invoice.${type} https://example.org/hook`),
    );
  });

  it('opens invoices of an earlier release', async () => {
    const invoice = await order();
    const {
      exceptions,
      monitorUntilMs,
      rate,
      due,
      toleranceBasisPoints,
      payments,
      refunds,
      history,
      details,
      ...old
    } = invoice;
    expect([
      exceptions,
      rate,
      payments,
      refunds,
      history.length,
      details.wire?.iban,
      toleranceBasisPoints,
      due.asset,
      monitorUntilMs > now,
    ]).toEqual([[], null, [], [], 1, IBAN, 50, 'USD', true]);
    await billing.store().add({
      ...old,
      id: '01zzzzzzzzzzzzzzzzzzzzzzzz',
      method: 'CARD',
      references: ['cs_old'],
    } as unknown as Invoice);
    expect(billing.invoice('acc_1', '01zzzzzzzzzzzzzzzzzzzzzzzz')).toMatchObject({
      ...{ payments: [], exceptions: [], history: [{ state: 'NEW' }] },
      due: { asset: 'USD', amount: '19900', decimals: 2 },
    });
  });
});
