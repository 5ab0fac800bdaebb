/** `assay billing`: rates, statements of a bank, refunds and statements of a month, as an operator uses them. */
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { LOCAL_ACCOUNT } from '../../src/accounts/keys.ts';
import { createServices } from '../../src/app/services.ts';
import type { InvoiceOrder } from '../../src/billing/service.ts';
import { loadConfig } from '../../src/config/config.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { statementFile } from '../billing/statements.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { runCommand } from './run-command.ts';

const IBAN = 'CH9300762011623852957';
const SETTINGS = { ASSAY_SELLER_IBAN: 'CH93 0076 2011 6238 5295 7', ASSAY_SELLER_NAME: 'Example AG' };

const folder = tempFolder();
afterAll(() => folder.remove());
const dataDir = join(folder.path, 'store');
const run = (...args: string[]) => runCommand(dataDir, ['billing', ...args], SETTINGS);

/** Orders as the dashboard does. */
async function ordered(order: Omit<InvoiceOrder, 'method'>) {
  const config = loadConfig({
    ASSAY_DATA_DIR: dataDir,
    ASSAY_LOG_LEVEL: 'silent',
    ASSAY_SYNC: 'off',
    ...SETTINGS,
  });
  const services = createServices(config, '0.0.0');
  try {
    return await services
      .billing()
      .order({ accountId: LOCAL_ACCOUNT, personId: 'per_ann' }, { ...order, method: 'WIRE' });
  } finally {
    await services.close();
  }
}

const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);

it('an operator sets a rate, imports a payment twice, refunds a part, and everything agrees', async () => {
  expect((await run('rate', 'EUR', '0.92')).err).toContain('--source: is required');
  expect((await run('rate', 'EUR', '0', '--source', 'x')).err).toContain(
    'rate: must be a decimal number above 0',
  );
  const rated = await run('rate', 'eur', '0.92', '--source', 'https://ecb.example', '--at', yesterday);
  expect(rated).toMatchObject({ code: 0, err: '' });
  expect(rated.out).toContain(`1 USD = 0.92 EUR, ${yesterday}T00:00:00.000Z, https://ecb.example`);

  const invoice = await ordered({ package: 'Starter', currency: 'EUR' });
  const { reference } = invoice.details.wire!;
  const today = new Date().toISOString().slice(0, 10);
  const file = statementFile(folder.path, IBAN, [
    { amount: '183.08', currency: 'EUR', bankReference: 'B1', structured: reference, date: today },
    { amount: '5.00', currency: 'EUR', bankReference: 'B2', text: 'gift', date: today },
  ]);
  const first = await run('import', 'camt053', file);
  expect(first).toMatchObject({ code: 0, err: '' });
  expect(first.out).toContain('1 booked, 0 reversed, 0 repeated, 1 suggested, 0 ignored.');
  expect((await run('import', 'camt053', file)).out).toContain('0 booked, 0 reversed, 1 repeated');

  const refunded = await run('refund', LOCAL_ACCOUNT, invoice.id, '--amount', '1831', '--reason', 'too many');
  expect(refunded).toMatchObject({ code: 0, err: '' });
  expect(refunded.out).toContain('REFUND -11 credits');
  expect((await run('refund', LOCAL_ACCOUNT, invoice.id, '--reason', ' ')).err).toContain('--reason');
  expect((await run('cancel', LOCAL_ACCOUNT, invoice.id, '--reason', 'x')).err).toContain(
    'must be NEW or EXPIRED',
  );
  const month = today.slice(0, 7);
  const { out } = await run('statement', LOCAL_ACCOUNT, month);
  expect(out).toContain(`PURCHASE`);
  expect(out).toContain(invoice.id);
  expect(out.trim().split('\n').at(-1)).toMatch(new RegExp(`^${month},api,CLOSING,.*,\\d+$`));
  expect(await run('verify')).toMatchObject({ code: 0, out: expect.stringContaining('all agree') });
  const log = JSON.parse((await runCommand(dataDir, ['audit', 'show', '--json'])).out) as {
    action: string;
  }[];
  expect(log.map(({ action }) => action)).toEqual([
    ...['billing.refund', 'credits.book', 'billing.import', 'credits.book', 'billing.rate'],
  ]);
});

describeWithSharedData('statements of real banks', () => {
  it('ten are read, and one without a statement is refused with the reason', async () => {
    const names = ['all-balance-types', 'five.decimals', 'minimal.ultimate', 'minimal', 'multi.statement'];
    const files = [...names, 'with-account-name', 'with-party-ids'].map((name) => `v2.${name}`);
    for (const name of [...files, 'v3', 'v4', 'v8']) {
      const file = sharedData('payments', 'camt053', `camt053.${name}.xml`);
      const { code, out } = await run('import', 'camt053', file);
      expect([name, code, out]).toEqual([name, 0, expect.stringContaining('0 booked')]);
    }
    const wrong = await run('import', 'camt053', sharedData('payments', 'camt053', 'camt053.v2.wrong.xml'));
    expect(wrong.code).not.toBe(0);
    expect(wrong.err).toContain('contains no statement');
  });
});
