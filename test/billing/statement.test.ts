/** Monthly statements over the pages of a ledger: which entries belong to a month, the balances, and the forms. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Ledger, LedgerEntry } from '../../src/accounts/ledger.ts';
import { balanceId } from '../../src/accounts/pools.ts';
import { isoTime } from '../../src/base/clock.ts';
import { BILLING_LIMITS } from '../../src/billing/limits.ts';
import type { Invoice } from '../../src/billing/records.ts';
import { monthlyStatement, statementCsv } from '../../src/billing/statement.ts';

const limits = BILLING_LIMITS as { statementEntriesMax: number; statementRowsMax: number };
const { statementEntriesMax, statementRowsMax } = BILLING_LIMITS;
afterEach(() => {
  limits.statementEntriesMax = statementEntriesMax;
  limits.statementRowsMax = statementRowsMax;
});

/** Entries as [time, type, amount], oldest first. */
type Row = readonly [string, string, number];

/** A ledger with pages of two entries. */
function ledgerOf(rows: readonly Row[]) {
  let balance = 0;
  const entries = rows.map(([createdAt, type, amount], at) => {
    balance += amount;
    return { id: `e${at}`, createdAt, type, amount, balance } as unknown as LedgerEntry;
  });
  const history = entries.toReversed();
  const asked: unknown[] = [];
  const usage = async (
    account: string,
    { cursor, isReadOnly, untilMs }: { cursor?: string; isReadOnly?: boolean; untilMs?: number },
  ) => {
    asked.push([account, isReadOnly]);
    const dayOf = (ms: number): number => Math.floor(ms / 86_400_000);
    const isLate = ({ createdAt }: LedgerEntry): boolean =>
      untilMs !== undefined && dayOf(Date.parse(createdAt)) > dayOf(untilMs);
    const first = history.findIndex((entry) => !isLate(entry));
    const from = Number(cursor ?? (first < 0 ? history.length : first));
    const to = from + 2;
    return { history: history.slice(from, to), nextCursor: to < history.length ? String(to) : null };
  };
  return { asked, ledger: { usage } as unknown as Pick<Ledger, 'usage'> };
}

const statementOf = (rows: readonly Row[], month = '2026-11', invoices: readonly object[] = []) =>
  monthlyStatement(
    { accountId: 'a', pool: 'api', month },
    { ledger: ledgerOf(rows).ledger, invoices: { ofAccount: () => invoices as readonly Invoice[] } },
  );

const NOVEMBER: readonly Row[] = [
  ['2026-10-31T23:59:59.999Z', 'GRANT', 100],
  ['2026-11-01T00:00:00.000Z', 'SCREENING', -1],
  ['2026-11-01T09:00:00.000Z', 'SCREENING', -2],
  ['2026-11-02T09:00:00.000Z', 'SCREENING', -4],
  ['2026-11-02T10:00:00.000Z', 'KYT', -8],
  ['2026-11-30T23:59:59.999Z', 'PURCHASE', 50],
  ['2026-12-01T00:00:00.000Z', 'SCREENING', -16],
];

describe('the statement of a month', () => {
  it('has the entries from its first instant on to the last, charges by day, and the balances around them', async () => {
    const statement = await statementOf(NOVEMBER);
    expect([statement.opening, statement.closing]).toEqual([100, 135]);
    expect(
      statement.rows.map(({ at, type, entry, count, credits }) => [at, type, entry, count, credits]),
    ).toEqual([
      ['2026-11-01', 'SCREENING', null, 2, -3],
      ['2026-11-02', 'SCREENING', null, 1, -4],
      ['2026-11-02', 'KYT', null, 1, -8],
      ['2026-11-30T23:59:59.999Z', 'PURCHASE', 'e5', 1, 50],
    ]);
  });

  it('without entries has the balance of the month before, and none without any', async () => {
    expect(await statementOf(NOVEMBER, '2027-01')).toMatchObject({ opening: 119, closing: 119, rows: [] });
    expect(await statementOf(NOVEMBER, '2026-09')).toMatchObject({ opening: 0, closing: 0, rows: [] });
    expect(await statementOf([])).toMatchObject({ opening: 0, closing: 0, rows: [] });
    // December ends with the year.
    expect(await statementOf(NOVEMBER, '2026-12')).toMatchObject({ opening: 135, closing: 119 });
    expect(await statementOf(NOVEMBER, '2026-10')).toMatchObject({ opening: 0, closing: 100 });
  });

  it('has each entry once, in its own month, if the clock was set back', async () => {
    const rows: readonly Row[] = [
      ['2026-10-31T10:00:00.000Z', 'GRANT', 100],
      ['2026-12-01T00:00:01.000Z', 'EXPIRY', -40],
      ['2026-12-01T00:00:01.000Z', 'GRANT', 10],
      ['2026-11-30T23:59:59.000Z', 'SCREENING', -1],
      ['2026-11-29T12:00:00.000Z', 'SCREENING', -2],
      ['2026-11-30T23:59:59.500Z', 'SCREENING', -4],
      ['2026-12-01T00:00:00.500Z', 'SCREENING', -8],
    ];
    const months = [];
    for (const month of ['2026-10', '2026-11', '2026-12']) months.push(await statementOf(rows, month));
    expect(months.map(({ opening, closing }) => [opening, closing])).toEqual([
      [0, 100],
      [100, 93],
      [93, 55],
    ]);
    const shown = months.map((one) => one.rows.map(({ at, type, credits }) => [at, type, credits]));
    expect(shown).toEqual([
      [['2026-10-31T10:00:00.000Z', 'GRANT', 100]],
      [
        ['2026-11-29', 'SCREENING', -2],
        ['2026-11-30', 'SCREENING', -5],
      ],
      [
        ['2026-12-01', 'SCREENING', -8],
        ['2026-12-01T00:00:01.000Z', 'EXPIRY', -40],
        ['2026-12-01T00:00:01.000Z', 'GRANT', 10],
      ],
    ]);
  });

  it('names the invoice of an entry, which is then listed by itself', async () => {
    const invoices = [{ id: 'in_1', entries: [{ id: 'e3' }, { id: 'e5' }] }];
    const { rows } = await statementOf(NOVEMBER, '2026-11', invoices);
    expect(rows.map(({ entry, invoice, count }) => [entry, invoice, count])).toEqual([
      [null, null, 2],
      ['e3', 'in_1', 1],
      [null, null, 1],
      ['e5', 'in_1', 1],
    ]);
  });

  it('reads its balance without writing, and a bounded number of entries', async () => {
    const { ledger, asked } = ledgerOf(NOVEMBER);
    const options = { accountId: 'a', pool: 'dashboard', month: '2026-12' } as const;
    await monthlyStatement(options, { ledger, invoices: { ofAccount: () => [] } });
    // All entries of the second page are more than a week older than the month.
    expect(asked).toEqual(Array.from({ length: 2 }, () => [balanceId('a', 'dashboard'), true]));
    limits.statementEntriesMax = 3;
    // The second page has the fourth entry of November and the week after it.
    await expect(statementOf(NOVEMBER)).rejects.toThrow(/more than 3 entries/);
    limits.statementEntriesMax = 6;
    expect((await statementOf(NOVEMBER)).rows).toHaveLength(4);
    // It ends with an entry before the month.
    limits.statementEntriesMax = 2;
    expect((await statementOf(NOVEMBER, '2026-12')).rows).toHaveLength(1);
  });

  it('is for any number of charges, and for a bounded number of single entries', async () => {
    let read = 0;
    const page = 10_000;
    // More entries than earlier versions accepted.
    const usage = async (_account: string, { cursor }: { cursor?: string }) => {
      const from = Number(cursor ?? 600_000);
      read += page;
      const history = Array.from({ length: page }, (_, at) => ({
        ...{ id: `e${from - at}`, type: 'SCREENING', amount: -1, balance: 1_000_000 - (from - at) },
        createdAt: isoTime(Date.UTC(2026, 10, 1) + (from - at) * 4_000),
      }));
      return { history, nextCursor: from > page ? String(from - page) : null };
    };
    const { opening, closing, rows } = await monthlyStatement(
      { accountId: 'a', pool: 'api', month: '2026-11' },
      { ledger: { usage } as unknown as Pick<Ledger, 'usage'>, invoices: { ofAccount: () => [] } },
    );
    expect([read, opening, closing, rows.length]).toEqual([600_000, 1_000_000, 400_000, 28]);
    expect(rows[0]).toEqual({
      ...{ at: '2026-11-01', type: 'SCREENING', entry: null, invoice: null },
      ...{ count: 21_599, credits: -21_599 },
    });
    limits.statementRowsMax = 1;
    expect((await statementOf(NOVEMBER)).rows).toHaveLength(4);
    limits.statementRowsMax = 0;
    await expect(statementOf(NOVEMBER)).rejects.toThrow(/more than 0 purchases/);
  });

  it('does not read the entries of later months, however many', async () => {
    const later = Array.from(
      { length: 400 },
      (_, day): Row => [isoTime(Date.UTC(2026, 11, 2 + day)), 'SCREENING', -1],
    );
    const { ledger, asked } = ledgerOf([...NOVEMBER, ...later]);
    limits.statementEntriesMax = 20;
    const { opening, closing, rows } = await monthlyStatement(
      { accountId: 'a', pool: 'api', month: '2026-11' },
      { ledger, invoices: { ofAccount: () => [] } },
    );
    expect([opening, closing, rows.length]).toEqual([100, 135, 4]);
    expect(asked.length).toBeLessThan(15);
  });

  it.each(['2026-13', '2026-00', '26-11', '2026-1', '2026-11-01', '1999-12', 'x2026-11'])(
    'must have the form of a month: %s',
    async (month) => {
      await expect(statementOf(NOVEMBER, month)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        field: 'month',
      });
    },
  );
});

describe('a statement as CSV', () => {
  it('has a running balance, and no text that a spreadsheet runs', async () => {
    const csv = statementCsv({
      ...{ accountId: 'a', pool: 'api', month: '2026-11', opening: 5, closing: -1 },
      rows: [
        { at: '2026-11-01', type: '=1+1', entry: null, invoice: null, count: 2, credits: -4 },
        { at: '2026-11-02', type: 'a,"b"', entry: '-x', invoice: '@y', count: 1, credits: -2 },
      ],
    });
    expect(csv.split('\r\n')).toEqual([
      'at,pool,type,entry,invoice,count,credits,balance',
      '2026-11-01,api,OPENING,,,,,5',
      "2026-11-01,api,'=1+1,,,2,-4,1",
      `2026-11-02,api,"a,""b""",'-x,'@y,1,-2,-1`,
      '2026-11,api,CLOSING,,,,,-1',
      '',
    ]);
  });
});
