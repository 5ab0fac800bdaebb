/** Transfers that matter: flagged ones, ones that can be forged, and the totals. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Address, TransactionHash } from '../../ui/Address.tsx';
import { amountText } from '../../ui/amount.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Empty } from '../../ui/states.tsx';
import { Money, Name, Time } from '../../ui/values.tsx';
import type { Screening } from './ask.ts';
import { FlowChart } from './FlowChart.tsx';
import type { Day } from './flow-periods.ts';

type Flagged = NonNullable<Screening['flaggedTransactions']>[number];
type Spoofable = NonNullable<Screening['spoofableTransfers']>[number];

const transferKey = (row: { readonly hash: string }, index: number): string => `${row.hash} ${index}`;

function useTransferColumns<
  Row extends Pick<
    Flagged,
    'hash' | 'timestamp' | 'direction' | 'counterparty' | 'entity' | 'category' | 'asset' | 'amount'
  >,
>(chain: string): readonly Column<Row>[] {
  const { t, word } = useI18n();
  return useMemo(
    () => [
      {
        id: 'time',
        header: t('transfer.time'),
        value: ({ timestamp }) => timestamp,
        cell: ({ timestamp }) => <Time iso={timestamp} />,
      },
      {
        id: 'hash',
        header: t('transfer.hash'),
        value: ({ hash }) => hash,
        cell: ({ hash }) => <TransactionHash hash={hash} />,
      },
      {
        id: 'direction',
        header: t('exposure.direction'),
        value: ({ direction }) => word('direction', direction),
        hasFilter: true,
      },
      {
        id: 'counterparty',
        header: t('transfer.counterparty'),
        value: ({ counterparty }) => counterparty,
        cell: ({ counterparty }) => <Address address={counterparty} chain={chain} />,
      },
      {
        id: 'entity',
        header: t('screening.entity'),
        value: ({ entity }) => entity?.name ?? null,
        cell: ({ entity }) =>
          entity === null ? (
            <span className="not-known">{t('addresses.noLabel')}</span>
          ) : (
            <Name text={entity.name} />
          ),
      },
      {
        id: 'category',
        header: t('label.category'),
        value: ({ category }) => word('category', category),
        hasFilter: true,
      },
      {
        id: 'amount',
        header: t('transfer.amount'),
        value: ({ amount }) => Number(amount),
        isNumber: true,
        cell: ({ amount, asset }) => (
          <span className="number">
            {amountText(amount)} <bdi>{asset}</bdi>
          </span>
        ),
      },
    ],
    [t, word, chain],
  );
}

/** Shows the transfers. */
export function Transactions({ data }: { readonly data: Screening }): ReactNode {
  const { t, word } = useI18n();
  const common = useTransferColumns<Flagged>(data.chain);
  const flaggedColumns = useMemo(
    (): readonly Column<Flagged>[] => [
      {
        id: 'severity',
        header: t('score.severity'),
        value: ({ severity }) => word('risk', severity),
        hasFilter: true,
        cell: ({ severity }) => <RiskBadge level={severity} />,
      },
      ...common,
      {
        id: 'usd',
        header: 'USD',
        value: ({ valueUsd }) => valueUsd,
        isNumber: true,
        cell: ({ valueUsd }) => <Money usd={valueUsd} />,
      },
    ],
    [t, word, common],
  );
  const spoofableCommon = useTransferColumns<Spoofable>(data.chain);
  const spoofableColumns = useMemo(
    (): readonly Column<Spoofable>[] => [
      {
        id: 'kind',
        header: t('transfer.kind'),
        value: ({ kind }) => word('spoofable', kind),
        hasFilter: true,
      },
      ...spoofableCommon,
    ],
    [t, word, spoofableCommon],
  );
  const spoofable = data.spoofableTransfers ?? [];
  return (
    <>
      <Section title={t('transfer.flagged')} note={t('transfer.flaggedNote')}>
        <DataTable
          id="flagged"
          caption={t('transfer.flagged')}
          columns={flaggedColumns}
          rows={data.flaggedTransactions ?? []}
          rowKey={transferKey}
          empty={<Empty title={t('transfer.noneFlagged')} />}
        />
      </Section>
      {spoofable.length === 0 ? null : (
        <Section title={t('transfer.spoofable')} note={t('transfer.spoofableNote')}>
          <DataTable
            id="spoofable"
            caption={t('transfer.spoofable')}
            columns={spoofableColumns}
            rows={spoofable}
            rowKey={transferKey}
          />
        </Section>
      )}
      <Flow data={data} />
    </>
  );
}

const dayKey = ({ date }: Day): string => date;

function Flow({ data }: { readonly data: Screening }): ReactNode {
  const { t, number } = useI18n();
  const columns = useMemo(
    (): readonly Column<Day>[] => [
      { id: 'date', header: t('flow.day'), value: ({ date }) => date },
      {
        id: 'in',
        header: t('flow.in'),
        value: ({ inUsd }) => inUsd,
        isNumber: true,
        cell: ({ inUsd }) => <Money usd={inUsd} />,
      },
      { id: 'inCount', header: t('flow.inCount'), value: ({ inTxCount }) => inTxCount, isNumber: true },
      {
        id: 'out',
        header: t('flow.out'),
        value: ({ outUsd }) => outUsd,
        isNumber: true,
        cell: ({ outUsd }) => <Money usd={outUsd} />,
      },
      { id: 'outCount', header: t('flow.outCount'), value: ({ outTxCount }) => outTxCount, isNumber: true },
    ],
    [t],
  );
  const flow = data.transactionFlow;
  if (flow === undefined || flow.daily.length === 0) return null;
  return (
    <Section title={t('flow.title')} {...(flow.dailyIsComplete ? {} : { note: t('flow.notComplete') })}>
      <dl className="facts">
        {(['inflow', 'outflow'] as const).map((side) => (
          <div key={side}>
            <dt>{t(side === 'inflow' ? 'flow.in' : 'flow.out')}</dt>
            <dd>
              <Money usd={flow[side].valueUsd} />{' '}
              <span className="muted">{t('flow.transfers', { count: flow[side].txCount })}</span>
            </dd>
          </div>
        ))}
        <div>
          <dt>{t('flow.total')}</dt>
          <dd>
            {data.totalTransactions === null || data.totalTransactions === undefined
              ? t('ui.notKnown')
              : number(data.totalTransactions)}
          </dd>
        </div>
      </dl>
      <FlowChart daily={flow.daily} />
      <DataTable id="days" caption={t('flow.title')} columns={columns} rows={flow.daily} rowKey={dayKey} />
    </Section>
  );
}
