/** Buying in cryptocurrency: choose a currency and a package, then pay to the address of the invoice while its state is shown. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { CopyButton } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { QrCode } from '../../ui/QrCode.tsx';
import { Failure } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { Time } from '../../ui/values.tsx';
import { useRole } from '../manage/parts.tsx';
import { INVOICES_KEY, type Invoice, isWaiting, LOOK_EVERY_MS } from './invoices.ts';
import { Signature } from './Signature.tsx';

type Offer = DataOf<'/billing/packages', 'get'>;

const NONE = { currencies: [], gasless: [] };

/** The section; it is missing if the operator sells nothing for cryptocurrency, and for people who may not buy. */
export function Crypto(): ReactNode {
  const offer = useQuery({
    queryKey: ['billing', 'packages'],
    queryFn: ({ signal }) => call('get', '/billing/packages', { signal }),
  });
  const isOwner = useRole() === 'owner';
  const { currencies, gasless } = offer.data?.methods.find(({ method }) => method === 'CRYPTO') ?? NONE;
  if (!isOwner || offer.data === undefined || currencies.length === 0) return null;
  return <Order packages={offer.data.packages} currencies={currencies} gasless={gasless} />;
}

interface OrderProps {
  readonly packages: Offer['packages'];
  readonly currencies: readonly string[];
  /** Those that can be paid by a signature. */
  readonly gasless: readonly string[];
}

function Order({ packages, currencies, gasless }: OrderProps): ReactNode {
  const { t } = useI18n();
  const client = useQueryClient();
  // The invoice is in the URL: its address is still there after a reload, or a new login.
  const [{ pool: asked, payment = '' }, change] = useUrlState();
  const pool = asked === 'dashboard' ? 'dashboard' : 'api';
  const names = packages.filter(({ pools }) => pools.includes(pool)).map(({ name }) => name);
  const [currency, chooseCurrency] = useState(currencies[0] ?? '');
  const [name, chooseName] = useState(names[0] ?? '');
  const ordering = useMutation({
    mutationFn: () =>
      call('post', '/billing/invoices', { body: { package: name, pool, method: 'CRYPTO', currency } }),
    onSuccess({ invoice }) {
      change({ payment: invoice.id });
      return client.invalidateQueries({ queryKey: INVOICES_KEY });
    },
  });
  const options = (values: readonly string[]) => values.map((value) => ({ value, label: value }));
  return (
    <Section title={t('billing.cryptoTitle')} note={t('billing.cryptoNote')}>
      <div className="row-form">
        <Choice label={t('billing.package')} value={name} options={options(names)} onChange={chooseName} />
        <Choice
          label={t('billing.cryptoCurrency')}
          value={currency}
          options={options(currencies)}
          onChange={chooseCurrency}
        />
        <Button kind="primary" isBusy={ordering.isPending} onClick={() => ordering.mutate()}>
          {t('billing.cryptoOrder')}
        </Button>
      </div>
      {ordering.error === null ? null : <Failure error={ordering.error} />}
      {payment === '' ? null : <Payment key={payment} id={payment} gasless={gasless} />}
    </Section>
  );
}

/** The invoice that was ordered or chosen last, until it is settled. */
function Payment({ id, gasless }: { readonly id: string; readonly gasless: readonly string[] }): ReactNode {
  const invoice = useQuery({
    queryKey: ['billing', 'invoice', id],
    queryFn: ({ signal }) => call('get', '/billing/invoices/{id}', { path: { id }, signal }),
    staleTime: 0,
    refetchInterval: ({ state: { data } }) =>
      data === undefined || isWaiting(data.invoice) ? LOOK_EVERY_MS : false,
  });
  if (invoice.error !== null) return <Failure error={invoice.error} onRetry={() => void invoice.refetch()} />;
  return invoice.data === undefined ? null : (
    <Instructions invoice={invoice.data.invoice} gasless={gasless} />
  );
}

interface InstructionsProps {
  readonly invoice: Invoice;
  readonly gasless: readonly string[];
}

function Instructions({ invoice, gasless }: InstructionsProps): ReactNode {
  const { t, word } = useI18n();
  const { crypto, state, expiresAt } = invoice;
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // After a reload, the person begins at the top of the page.
    if (document.activeElement !== document.body) place.current?.focus();
  }, []);
  if (crypto === null) return null;
  const { amount, symbol, chain, address, uri } = crypto;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div ref={place} tabIndex={-1} role="group" aria-label={t('billing.cryptoTitle')}>
      <p role="status">
        <strong>{word('invoiceState', state)}</strong>{' '}
        {invoice.exceptions.map((one) => word('invoiceException', one)).join(', ')}
      </p>
      <QrCode text={uri} label={t('billing.cryptoCode')} />
      <dl className="facts is-wide">
        <div>
          <dt>{t('billing.cryptoAmount')}</dt>
          <dd>
            <code>{amount}</code> {symbol} ({chain}) <CopyButton text={amount} />
          </dd>
        </div>
        <div>
          <dt>{t('billing.cryptoAddress')}</dt>
          <dd>
            <code>{address}</code> <CopyButton text={address} />
          </dd>
        </div>
        <div>
          <dt>{t('billing.cryptoExpires')}</dt>
          <dd>
            <Time iso={expiresAt} />
          </dd>
        </div>
      </dl>
      {uri.includes(':') ? (
        <a href={uri} className="button plain">
          {t('billing.cryptoOpen')}
        </a>
      ) : null}
      {gasless.includes(invoice.due.asset) && isWaiting(invoice) ? <Signature invoice={invoice} /> : null}
    </div>
  );
}
