/** History of a wallet: its alerts and its monitored transactions. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { patiently } from '../../api/patience.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address, TransactionHash } from '../../ui/Address.tsx';
import { amountText } from '../../ui/amount.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { More } from '../../ui/More.tsx';
import { Section } from '../../ui/Page.tsx';
import { usePages } from '../../ui/pages.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { Money, Name, NotKnown, Time } from '../../ui/values.tsx';

/** Alerts that are shown here; the inbox has all of them. */
const ALERTS_SHOWN = 10;
/** The most transactions that one response has. */
const ROWS = 100;

/** The newest alerts of a wallet. */
export function WalletAlerts({ id, count }: { readonly id: string; readonly count: number }): ReactNode {
  const { t, word } = useI18n();
  const answer = useQuery({
    queryKey: ['wallet', id, 'alerts'],
    queryFn: ({ signal }) =>
      patiently(
        () =>
          call('get', '/monitoring/wallets/{id}/alerts', {
            path: { id },
            query: { limit: ALERTS_SHOWN } as never,
            signal,
          }),
        { signal },
      ),
    enabled: count > 0,
  });
  return (
    <Section
      title={t('alerts.title')}
      actions={
        count === 0 ? undefined : (
          <Link to={PATHS.alerts} search={{ wallet: id } as never}>
            {t('wallets.allAlerts', { count })}
          </Link>
        )
      }
    >
      {count === 0 ? <Empty title={t('wallets.noAlerts')}>{t('wallets.noAlertsHelp')}</Empty> : null}
      {count > 0 && answer.isPending ? <Loading lines={3} /> : null}
      {answer.error === null ? null : <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      <ul className="rows">
        {answer.data?.alerts.map((alert) => (
          <li key={alert.id}>
            <RiskBadge level={alert.severity} />{' '}
            <span className="tag">{word('alertStatus', alert.status)}</span>{' '}
            <Link to={PATHS.alerts} search={{ wallet: id, alert: alert.id } as never} lang="en">
              <Name text={alert.title} />
            </Link>{' '}
            <span className="muted">
              <Time iso={alert.createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

type Transaction = Schemas['TransactionList']['transactions'][number];

const keyOf = ({ id }: Transaction): string => id;

interface TransactionsProps {
  readonly id: string;
  readonly chain: string;
}

/** The monitored transactions of a wallet. */
export function WalletTransactions({ id, chain }: TransactionsProps): ReactNode {
  const { t } = useI18n();
  const pages = usePages(['wallet', id, 'transactions'], (cursor, signal) =>
    patiently(
      () =>
        call('get', '/monitoring/wallets/{id}/transactions', {
          path: { id },
          query: { limit: ROWS, ...cursor } as never,
          signal,
        }),
      { signal },
    ),
  );
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.transactions) ?? [], [pages.data]);
  return (
    <Section title={t('wallets.transactions')} note={t('wallets.transactionsNote')}>
      {pages.isPending ? <Loading lines={3} /> : null}
      {pages.error === null ? null : <Failure error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.data === undefined ? null : <TransactionTable rows={rows} chain={chain} />}
      <More pages={pages} />
    </Section>
  );
}

function TransactionTable({
  rows,
  chain,
}: {
  readonly rows: readonly Transaction[];
  readonly chain: string;
}): ReactNode {
  const { t } = useI18n();
  const columns = useMemo(
    (): readonly Column<Transaction>[] => [
      {
        id: 'time',
        header: t('transfer.time'),
        value: ({ timestamp }) => timestamp,
        cell: ({ timestamp }) => <Time iso={timestamp} />,
      },
      {
        id: 'direction',
        header: t('wallets.direction'),
        value: ({ direction }) => t(direction === 'in' ? 'wallets.in' : 'wallets.out'),
        hasFilter: true,
      },
      {
        id: 'counterparty',
        header: t('transfer.counterparty'),
        value: ({ counterparty }) => counterparty.entity?.name ?? counterparty.address,
        cell: ({ counterparty: { entity, address } }) => (
          <>
            {entity === null ? null : <Name text={entity.name} />}{' '}
            {address === null ? <NotKnown /> : <Address address={address} chain={chain} />}
          </>
        ),
      },
      {
        id: 'amount',
        header: t('transfer.amount'),
        value: ({ amount, asset }) => `${amount} ${asset}`,
        cell: ({ amount, asset }) => (
          <>
            {amountText(amount)} <Name text={asset} />
          </>
        ),
      },
      {
        id: 'usd',
        header: 'USD',
        value: ({ amountUsd }) => amountUsd,
        isNumber: true,
        cell: ({ amountUsd }) => <Money usd={amountUsd} />,
      },
      {
        id: 'alerts',
        header: t('alerts.title'),
        value: ({ alertIds }) => alertIds.length,
        isNumber: true,
      },
      {
        id: 'level',
        header: t('wallets.risk'),
        value: ({ riskScore }) => riskScore,
        cell: ({ riskLevel }) => <RiskBadge level={riskLevel} />,
      },
      {
        id: 'state',
        header: t('home.state'),
        value: ({ reorged, spoofable }) =>
          reorged ? t('alerts.reorged') : spoofable ? t('wallets.spoofable') : null,
        cell: ({ reorged, spoofable }) => (
          <>
            {reorged ? <span className="tag">{t('alerts.reorged')}</span> : null}
            {spoofable ? <span className="tag">{t('wallets.spoofable')}</span> : null}
          </>
        ),
      },
      {
        id: 'hash',
        header: t('transfer.hash'),
        value: ({ hash }) => hash,
        cell: ({ hash }) => <TransactionHash hash={hash} />,
      },
    ],
    [t, chain],
  );
  return (
    <DataTable
      id="transactions"
      caption={t('wallets.transactions')}
      columns={columns}
      rows={rows}
      rowKey={keyOf}
      empty={<Empty title={t('wallets.noTransactions')}>{t('wallets.noTransactionsHelp')}</Empty>}
    />
  );
}
