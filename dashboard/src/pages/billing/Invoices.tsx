/** The list of purchases, with their receipts. */
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { More } from '../../ui/More.tsx';
import { Section } from '../../ui/Page.tsx';
import { usePages } from '../../ui/pages.ts';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import type { Search } from '../../ui/url-state.ts';
import { Time } from '../../ui/values.tsx';
import { useRole } from '../manage/parts.tsx';
import {
  INVOICES_KEY,
  type Invoice,
  inCurrency,
  inUnits,
  isWaiting,
  proFormaPath,
  readInvoices,
  receiptPath,
} from './invoices.ts';

/** The section with all purchases. */
export function Invoices(): ReactNode {
  const { t } = useI18n();
  const pages = usePages(INVOICES_KEY, readInvoices);
  const rows = useMemo(() => pages.data?.pages.flatMap(({ invoices }) => invoices) ?? [], [pages.data]);
  return (
    <Section title={t('billing.invoices')} note={t('billing.invoicesNote')}>
      {pages.isPending ? <Loading lines={5} /> : null}
      {pages.error === null ? null : <Failure error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.data === undefined ? null : <InvoiceTable rows={rows} />}
      <More pages={pages} />
    </Section>
  );
}

/** Events after the payment: refunds and disputes. */
function Since({ invoice }: { readonly invoice: Invoice }): ReactNode {
  const { t, word, usd, number } = useI18n();
  const { refunded, dispute, reason } = invoice;
  return (
    <>
      {refunded.amount === 0 ? null : (
        <div>{t('billing.refunded', { amount: inCurrency(refunded, { usd, number }) })}</div>
      )}
      {dispute === null ? null : <div>{word('dispute', dispute)}</div>}
      {reason === null ? null : <div lang="en">{reason}</div>}
    </>
  );
}

/** The way to what a payment needs, while it is missing: the account and the reference of a wire, or the address of a cryptocurrency. */
function HowToPay({ invoice }: { readonly invoice: Invoice }): ReactNode {
  const { t } = useI18n();
  const isOwner = useRole() === 'owner';
  if (!isWaiting(invoice)) return '';
  if (invoice.crypto !== null && isOwner)
    return (
      <Link
        to={PATHS.billing}
        search={((before: Search) => ({ ...before, payment: invoice.id })) as never}
        resetScroll={false}
      >
        {t('billing.cryptoShow')}
      </Link>
    );
  if (invoice.wire === null) return '';
  return (
    <a href={proFormaPath(invoice)} target="_blank" rel="noopener">
      {t('billing.openProForma')}
    </a>
  );
}

function InvoiceTable({ rows }: { readonly rows: readonly Invoice[] }): ReactNode {
  const { t, word, number, usd } = useI18n();
  const columns = useMemo(
    (): readonly Column<Invoice>[] => [
      {
        id: 'at',
        header: t('billing.at'),
        value: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => <Time iso={createdAt} />,
      },
      {
        id: 'package',
        header: t('billing.package'),
        value: (invoice) => invoice.package,
        cell: (invoice) =>
          invoice.quantity === 1 ? invoice.package : `${number(invoice.quantity)} × ${invoice.package}`,
        hasFilter: true,
      },
      {
        id: 'state',
        header: t('billing.state'),
        value: ({ state }) => word('invoiceState', state),
        cell: ({ state }) => <span className="tag">{word('invoiceState', state)}</span>,
        hasFilter: true,
      },
      {
        id: 'pool',
        header: t('billing.pool'),
        value: ({ pool }) => t(pool === 'api' ? 'usage.api' : 'usage.dashboard'),
        hasFilter: true,
      },
      {
        id: 'credits',
        header: t('billing.credits'),
        value: ({ credits }) => credits,
        cell: ({ credits }) => number(credits),
        isNumber: true,
      },
      {
        id: 'price',
        header: t('billing.price'),
        value: ({ price }) => inUnits(price),
        cell: ({ price }) => inCurrency(price, { usd, number }),
        isNumber: true,
      },
      {
        id: 'since',
        header: t('billing.since'),
        value: ({ dispute, reason }) => dispute ?? reason,
        cell: (invoice) => <Since invoice={invoice} />,
      },
      {
        id: 'receipt',
        header: t('billing.receipt'),
        value: ({ receiptNumber }) => receiptNumber,
        cell: (invoice) =>
          invoice.receiptNumber === null ? (
            <HowToPay invoice={invoice} />
          ) : (
            <a href={receiptPath(invoice)} target="_blank" rel="noopener">
              {invoice.receiptNumber}
            </a>
          ),
      },
      { id: 'id', header: t('billing.id'), value: ({ id }) => id, isHidden: true },
    ],
    [t, word, number, usd],
  );
  return (
    <DataTable
      id="invoices"
      caption={t('billing.invoices')}
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t('billing.none')}>{t('billing.noneHelp')}</Empty>}
    />
  );
}
