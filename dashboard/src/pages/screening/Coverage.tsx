/** The data behind the verdict, and the data that was not read. */

import { type ReactNode, useMemo } from 'react';
import { everyOf } from '../../api/every.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Address } from '../../ui/Address.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { NotKnown, Percent, Time } from '../../ui/values.tsx';
import type { Screening } from './ask.ts';

type Part = keyof Screening['coverage'];
const PARTS = everyOf<Part>()(['sanctions', 'labels', 'graph', 'history', 'balances']);
const partKey = (part: Part): string => part;

/** Shows the coverage. */
export function Coverage({ data }: { readonly data: Screening }): ReactNode {
  const { t, word } = useI18n();
  const { coverage } = data;
  const columns = useMemo(
    (): readonly Column<Part>[] => [
      { id: 'part', header: t('coverage.part'), value: (part) => t(`coverage.${part}`) },
      {
        id: 'status',
        header: t('home.state'),
        value: (part) => word('status', coverage[part].status),
        cell: (part) => (
          <span className={coverage[part].status === 'COMPLETE' ? 'tag' : 'tag is-warning'}>
            {word('status', coverage[part].status)}
          </span>
        ),
      },
      {
        id: 'asOf',
        header: t('coverage.asOf'),
        value: (part) => coverage[part].asOf,
        cell: (part) => <Time iso={coverage[part].asOf} />,
      },
    ],
    [t, word, coverage],
  );
  return (
    <Section title={t('coverage.title')} note={t('coverage.note')}>
      <DataTable
        id="coverage"
        caption={t('coverage.title')}
        columns={columns}
        rows={PARTS}
        rowKey={partKey}
        hasControls={false}
      />
    </Section>
  );
}

/** The cluster of addresses that one owner holds, and the balance. */
export function Holder({ data }: { readonly data: Screening }): ReactNode {
  const { t, number, usd } = useI18n();
  const cluster = data.clusterAnalysis;
  const { balance, balanceUsd } = data;
  return (
    <Section title={t('holder.title')}>
      <dl className="facts">
        <div>
          <dt>{t('holder.balance')}</dt>
          <dd>
            {typeof balance === 'number' ? number(balance) : <NotKnown />}
            {typeof balanceUsd === 'number' ? ` (${usd(balanceUsd)})` : ''}
          </dd>
        </div>
        <div>
          <dt>{t('holder.kind')}</dt>
          <dd>{data.addressValidation?.kind ?? <NotKnown />}</dd>
        </div>
        <div>
          <dt>{t('holder.cluster')}</dt>
          <dd>{cluster?.size ? t('holder.size', { count: cluster.size }) : <NotKnown />}</dd>
        </div>
        {cluster?.size ? (
          <div>
            <dt>{t('label.confidence')}</dt>
            <dd>
              <Percent value={cluster.confidence === null ? null : cluster.confidence * 100} />
            </dd>
          </div>
        ) : null}
      </dl>
      {cluster === undefined || cluster.members.length === 0 ? null : (
        <ul className="members">
          {cluster.members.map((address) => (
            <li key={address}>
              <Address address={address} chain={data.chain} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
