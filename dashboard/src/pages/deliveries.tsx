/** `/alerts/deliveries`: every message about alerts, every attempt to send it, and the way to send it again. */

import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { DELIVERY_STATUSES } from '../api/choices.ts';
import { call, type Schemas } from '../api/client.ts';
import { patiently } from '../api/patience.ts';
import { queries } from '../api/session.ts';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { Button } from '../ui/Button.tsx';
import { type Column, DataTable } from '../ui/DataTable.tsx';
import { Choice } from '../ui/Field.tsx';
import { More } from '../ui/More.tsx';
import { Page } from '../ui/Page.tsx';
import { usePages } from '../ui/pages.ts';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { useUrlState } from '../ui/url-state.ts';
import { Name, Time } from '../ui/values.tsx';

type Delivery = Schemas['Delivery'];

/** Rows of a page: the most that the API sends. */
const ROWS = 100;

const keyOf = ({ id }: Delivery): string => id;

/** The result of the last attempt; null before the first. */
function lastResult({ attempts }: Delivery): string | null {
  const last = attempts.at(-1);
  if (last === undefined) return null;
  return last.error ?? (last.responseStatus === null ? null : `HTTP ${last.responseStatus}`);
}

/** The page. */
export function DeliveriesPage(): ReactNode {
  const { t, word } = useI18n();
  const [search, change] = useUrlState();
  const { alert = '', wallet = '' } = search;
  const status = DELIVERY_STATUSES.find((known) => known === search.status);
  const query = {
    limit: ROWS,
    ...(status === undefined ? {} : { status }),
    ...(alert === '' ? {} : { alertId: alert }),
    ...(wallet === '' ? {} : { walletId: wallet }),
  };
  const pages = usePages(['deliveries', query], (cursor, signal) =>
    patiently(() => call('get', '/monitoring/deliveries', { query: { ...query, ...cursor }, signal }), {
      signal,
    }),
  );
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.deliveries) ?? [], [pages.data]);
  return (
    <Page
      title={t('deliveries.title')}
      actions={
        <Link to={PATHS.alerts} className="button plain">
          {t('alerts.title')}
        </Link>
      }
    >
      <p className="muted">{t('deliveries.note')}</p>
      <search className="inline-form">
        <Choice
          label={t('alerts.status')}
          value={status ?? ''}
          options={[
            { value: '', label: t('table.all') },
            ...DELIVERY_STATUSES.map((value) => ({ value, label: word('deliveryStatus', value) })),
          ]}
          onChange={(value) => change({ status: value })}
        />
        {alert === '' && wallet === '' ? null : (
          <Button kind="quiet" icon="close" onClick={() => change({ alert: '', wallet: '' })}>
            {t(alert === '' ? 'alerts.oneWallet' : 'deliveries.oneAlert')}
          </Button>
        )}
      </search>
      {pages.isPending ? <Loading lines={6} /> : null}
      {pages.error === null ? null : <Failure error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.data === undefined ? null : <DeliveryTable rows={rows} />}
      <More pages={pages} />
    </Page>
  );
}

function DeliveryTable({ rows }: { readonly rows: readonly Delivery[] }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Delivery>[] => [
      {
        id: 'created',
        header: t('deliveries.created'),
        value: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => <Time iso={createdAt} />,
      },
      {
        id: 'status',
        header: t('alerts.status'),
        value: ({ status }) => word('deliveryStatus', status),
        cell: ({ status }) => <span className="tag">{word('deliveryStatus', status)}</span>,
      },
      {
        id: 'event',
        header: t('deliveries.event'),
        value: ({ event }) => word('deliveryEvent', event.replace('.', '-')),
        hasFilter: true,
      },
      {
        id: 'channel',
        header: t('deliveries.channel'),
        value: ({ channel }) => word('channel', channel),
        hasFilter: true,
      },
      {
        id: 'target',
        header: t('deliveries.target'),
        value: ({ target }) => target,
        cell: ({ target }) => <Name text={target} />,
      },
      {
        id: 'attempts',
        header: t('deliveries.attempts'),
        value: ({ attempts }) => attempts.length,
        isNumber: true,
      },
      {
        id: 'result',
        header: t('deliveries.result'),
        value: lastResult,
        cell: (delivery) => {
          const result = lastResult(delivery);
          return result === null ? (
            <span className="muted">{t('deliveries.noAttempt')}</span>
          ) : (
            <span lang="en">
              <Name text={result} />
            </span>
          );
        },
      },
      {
        id: 'next',
        header: t('deliveries.next'),
        value: ({ nextAttemptAt }) => nextAttemptAt,
        cell: ({ nextAttemptAt }) => (nextAttemptAt === null ? '' : <Time iso={nextAttemptAt} />),
        isHidden: true,
      },
      {
        id: 'replay',
        header: t('deliveries.again'),
        value: () => null,
        cell: (delivery) => <Replay delivery={delivery} />,
      },
    ],
    [t, word],
  );
  return (
    <DataTable
      id="deliveries"
      caption={t('deliveries.title')}
      columns={columns}
      rows={rows}
      rowKey={keyOf}
      empty={<Empty title={t('deliveries.none')}>{t('deliveries.noneHelp')}</Empty>}
    />
  );
}

/** Sends the same message again. */
function Replay({ delivery }: { readonly delivery: Delivery }): ReactNode {
  const { t } = useI18n();
  const replay = useMutation({
    mutationFn: () => call('post', '/monitoring/deliveries/{id}/replay', { path: { id: delivery.id } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries'] }),
  });
  return (
    <>
      <Button isBusy={replay.isPending} onClick={() => replay.mutate()}>
        {t('deliveries.send')}
      </Button>
      {replay.error === null ? null : <Failure error={replay.error} />}
    </>
  );
}
