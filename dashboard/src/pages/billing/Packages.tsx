/** The packages of credits, and the buttons that lead to the payment page. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Choice } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { OwnersOnly, useRole } from '../manage/parts.tsx';
import { INVOICES_KEY, inCurrency, inUnits, type Pool, proFormaPath } from './invoices.ts';

type Offer = DataOf<'/billing/packages', 'get'>;
type Package = Offer['packages'][number];

/** The payment page is another site, so the browser leaves the dashboard. */
const leaveFor = (url: string): void => window.location.assign(url);

/** Orders by bank transfer. `currencies` is empty if the operator has set up no account. */
function useWire(methods: Offer['methods'], pool: Pool) {
  const client = useQueryClient();
  const currencies = methods.find(({ method }) => method === 'WIRE')?.currencies ?? NO_CURRENCIES;
  const [chosen, choose] = useState<string | null>(null);
  const currency = chosen ?? currencies[0] ?? 'USD';
  const ordering = useMutation({
    mutationFn: (name: string) =>
      call('post', '/billing/invoices', { body: { package: name, pool, method: 'WIRE', currency } }),
    onSuccess: () => client.invalidateQueries({ queryKey: INVOICES_KEY }),
  });
  const { mutate: order, isPending: isBusy, data, error } = ordering;
  return { currencies, currency, choose, order, isBusy, invoice: data?.invoice ?? null, error };
}

const NO_CURRENCIES: readonly string[] = [];

/** The currency of a transfer, and the invoice that was ordered last. */
function WireState({ wire }: { readonly wire: ReturnType<typeof useWire> }): ReactNode {
  const { t, usd, number } = useI18n();
  const { currencies, currency, choose, invoice, error } = wire;
  return (
    <>
      {currencies.length < 2 ? null : (
        <Choice
          label={t('billing.currency')}
          value={currency}
          options={currencies.map((value) => ({ value, label: value }))}
          onChange={choose}
        />
      )}
      {error === null ? null : <Failure error={error} />}
      {invoice === null || invoice.wire === null ? null : (
        <div role="status">
          <p>
            <strong>{t('billing.wireTitle')}</strong>{' '}
            {t('billing.wireHelp', {
              amount: inCurrency(invoice.price, { usd, number }),
              reference: invoice.wire.reference,
            })}
          </p>
          <a href={proFormaPath(invoice)} target="_blank" rel="noopener">
            {t('billing.openProForma')}
          </a>
        </div>
      )}
    </>
  );
}

/** The section with all packages. */
export function Packages(): ReactNode {
  const { t } = useI18n();
  const [{ pool: asked }, change] = useUrlState();
  const pool: Pool = asked === 'dashboard' ? 'dashboard' : 'api';
  const offer = useQuery({
    queryKey: ['billing', 'packages'],
    queryFn: ({ signal }) => call('get', '/billing/packages', { signal }),
  });
  return (
    <Section
      title={t('billing.packages')}
      note={t('billing.packagesNote')}
      actions={
        <Choice
          label={t('billing.pool')}
          value={pool}
          options={[
            { value: 'api', label: t('usage.api') },
            { value: 'dashboard', label: t('usage.dashboard') },
          ]}
          onChange={(next) => change({ pool: next })}
        />
      }
    >
      <OwnersOnly />
      {offer.isPending ? <Loading lines={6} /> : null}
      {offer.error === null ? null : <Failure error={offer.error} onRetry={() => void offer.refetch()} />}
      {offer.data === undefined ? null : <Offered offer={offer.data} pool={pool} />}
    </Section>
  );
}

interface OfferedProps {
  readonly offer: Offer;
  readonly pool: Pool;
}

function Offered({ offer: { checkout, packages, methods }, pool }: OfferedProps): ReactNode {
  const { t, word, number, usd } = useI18n();
  const wire = useWire(methods, pool);
  const isOwner = useRole() === 'owner';
  const buying = useMutation({
    mutationFn: (name: string) => call('post', '/billing/checkout', { body: { package: name, pool } }),
    onSuccess: ({ url }) => leaveFor(url),
  });
  // While the browser leaves, a second press would create a second invoice.
  const isBusy = buying.isPending || buying.isSuccess;
  const { mutate } = buying;
  const canBuy = isOwner && checkout === 'available';
  const canWire = isOwner && wire.currencies.length > 0;
  const { isBusy: isOrdering, order } = wire;
  const columns = useMemo(
    (): readonly Column<Package>[] => [
      { id: 'name', header: t('billing.package'), value: ({ name }) => name },
      {
        id: 'buy',
        header: t('billing.buy'),
        value: () => null,
        cell: ({ name, pools }) =>
          pools.includes(pool) ? (
            <div className="actions">
              {canBuy ? (
                <Button kind="primary" isBusy={isBusy} onClick={() => mutate(name)}>
                  {t('billing.buyOne', { name })}
                </Button>
              ) : null}
              {canWire ? (
                <Button isBusy={isOrdering} onClick={() => order(name)}>
                  {t('billing.wireOne', { name })}
                </Button>
              ) : null}
            </div>
          ) : (
            ''
          ),
      },
      { id: 'kind', header: t('billing.kind'), value: ({ kind }) => word('packageKind', kind) },
      {
        id: 'credits',
        header: t('billing.credits'),
        value: ({ credits }) => credits,
        cell: ({ credits }) => (credits === null ? t('billing.byAgreement') : number(credits)),
        isNumber: true,
      },
      {
        id: 'price',
        header: t('billing.price'),
        value: ({ price }) => (price === null ? null : inUnits(price)),
        cell: ({ price }) => (price === null ? t('billing.byAgreement') : usd(inUnits(price))),
        isNumber: true,
      },
      {
        id: 'each',
        header: t('billing.perCredit'),
        value: ({ pricePerCredit }) => (pricePerCredit === null ? null : inUnits(pricePerCredit)),
        cell: ({ pricePerCredit }) =>
          pricePerCredit === null ? t('billing.byAgreement') : usd(inUnits(pricePerCredit)),
        isNumber: true,
      },
    ],
    [t, word, number, usd, canBuy, canWire, pool, isBusy, mutate, isOrdering, order],
  );
  return (
    <>
      {checkout === 'available' || wire.currencies.length > 0 ? null : (
        <Empty title={t('billing.unavailable')}>{t('billing.unavailableHelp')}</Empty>
      )}
      {buying.error === null ? null : <Failure error={buying.error} />}
      {canWire ? <WireState wire={wire} /> : null}
      <DataTable
        id="packages"
        caption={t('billing.packages')}
        columns={columns}
        rows={packages}
        rowKey={({ name }) => name}
        hasControls={false}
      />
    </>
  );
}
