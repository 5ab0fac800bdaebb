/** `/billing/success` and `/billing/cancel`: the pages to which the payment page leads back. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { call } from '../../api/client.ts';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Page, Section } from '../../ui/Page.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { INVOICES_KEY, type Invoice, inUnits, isWaiting, receiptPath } from './invoices.ts';

/** Stripe reports a payment within seconds. Each look is one request of the 100 that a minute allows. */
const LOOK_EVERY_MS = 2_000;

const backToCredits = (text: string): ReactNode => (
  <Link to={PATHS.billing} className="button plain">
    {text}
  </Link>
);

/** The page after a payment: waits until the credits are booked. */
export function PaidPage(): ReactNode {
  const { t } = useI18n();
  const [{ invoice: id = '' }] = useUrlState();
  const invoice = useQuery({
    queryKey: ['billing', 'invoice', id],
    queryFn: ({ signal }) => call('get', '/billing/invoices/{id}', { path: { id }, signal }),
    staleTime: 0,
    enabled: id !== '',
    refetchInterval: ({ state: { data } }) =>
      data !== undefined && isWaiting(data.invoice) ? LOOK_EVERY_MS : false,
  });
  const found = invoice.data?.invoice;
  const isSettled = found?.state === 'SETTLED';
  useEffect(() => {
    if (!isSettled) return;
    void queries.invalidateQueries({ queryKey: INVOICES_KEY });
    void queries.invalidateQueries({ queryKey: ['usage'] });
  }, [isSettled]);
  return (
    <Page title={t('billing.paidTitle')} actions={backToCredits(t('billing.title'))}>
      {id === '' ? <p>{t('billing.noInvoice')}</p> : null}
      {id !== '' && invoice.isPending ? <Loading lines={3} /> : null}
      {invoice.error === null ? null : (
        <Failure error={invoice.error} onRetry={() => void invoice.refetch()} />
      )}
      {found === undefined ? null : <Outcome invoice={found} />}
    </Page>
  );
}

/** The outcome of the payment. */
function Outcome({ invoice }: { readonly invoice: Invoice }): ReactNode {
  const { t, word, number, usd } = useI18n();
  const { state, credits, price, pool, reason } = invoice;
  return (
    <Section title={word('invoiceState', state)}>
      <p role="status">
        {state === 'SETTLED'
          ? t(pool === 'api' ? 'billing.bookedApi' : 'billing.bookedDashboard', { count: credits })
          : t(isWaiting(invoice) ? 'billing.waiting' : 'billing.notBooked')}
      </p>
      {reason === null ? null : <p lang="en">{reason}</p>}
      <dl className="facts">
        <div>
          <dt>{t('billing.package')}</dt>
          <dd>{invoice.package}</dd>
        </div>
        <div>
          <dt>{t('billing.credits')}</dt>
          <dd>{number(credits)}</dd>
        </div>
        <div>
          <dt>{t('billing.price')}</dt>
          <dd>{usd(inUnits(price))}</dd>
        </div>
      </dl>
      {invoice.receiptNumber === null ? null : (
        <p>
          <a href={receiptPath(invoice)} target="_blank" rel="noopener">
            {t('billing.openReceipt', { number: invoice.receiptNumber })}
          </a>
        </p>
      )}
    </Section>
  );
}

/** The page after a person has left the payment page without paying. */
export function NotPaidPage(): ReactNode {
  const { t } = useI18n();
  return (
    <Page title={t('billing.cancelTitle')} actions={backToCredits(t('billing.title'))}>
      <p>{t('billing.cancelText')}</p>
    </Page>
  );
}
