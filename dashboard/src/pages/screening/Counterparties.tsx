/** Who the address traded with: counterparties, and services over time. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Address } from '../../ui/Address.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Empty } from '../../ui/states.tsx';
import { Money, Name, Percent, Time } from '../../ui/values.tsx';
import type { Screening } from './ask.ts';

type Row = NonNullable<Screening['topCounterparties']>[number];
type Service = NonNullable<Screening['historicalServices']>[number];

const rowKey = (row: Row): string => `${row.direction} ${row.address}`;
const serviceKey = (row: Service, index: number): string => `${row.name} ${index}`;

function useColumns(chain: string): readonly Column<Row>[] {
  const { t, word } = useI18n();
  return useMemo(
    () => [
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ address }) => address,
        cell: ({ address }) => <Address address={address} chain={chain} />,
      },
      {
        id: 'entity',
        header: t('screening.entity'),
        value: ({ entity }) => entity?.name ?? null,
        cell: ({ entity, sanctioned }) => (
          <>
            {entity === null ? (
              <span className="not-known">{t('addresses.noLabel')}</span>
            ) : (
              <Name text={entity.name} />
            )}
            {sanctioned ? <strong className="sanctioned"> {t('addresses.sanctioned')}</strong> : null}
          </>
        ),
      },
      {
        id: 'category',
        header: t('label.category'),
        value: ({ category }) => word('category', category),
        hasFilter: true,
      },
      {
        id: 'level',
        header: t('addresses.level'),
        value: ({ threatLevel }) => (threatLevel === null ? null : word('risk', threatLevel)),
        hasFilter: true,
        cell: ({ threatLevel }) => <RiskBadge level={threatLevel} />,
      },
      {
        id: 'direction',
        header: t('exposure.direction'),
        value: ({ direction }) => word('direction', direction),
        hasFilter: true,
      },
      {
        id: 'usd',
        header: 'USD',
        value: ({ valueUsd }) => valueUsd,
        isNumber: true,
        cell: ({ valueUsd }) => <Money usd={valueUsd} />,
      },
      {
        id: 'share',
        header: t('exposure.share'),
        value: ({ percentage }) => percentage,
        isNumber: true,
        cell: ({ percentage }) => <Percent value={percentage} />,
      },
      { id: 'transfers', header: t('exposure.transfers'), value: ({ txCount }) => txCount, isNumber: true },
      {
        id: 'first',
        header: t('counterparty.first'),
        value: ({ firstSeen }) => firstSeen,
        cell: ({ firstSeen }) => <Time iso={firstSeen} />,
        isHidden: true,
      },
      {
        id: 'last',
        header: t('counterparty.last'),
        value: ({ lastSeen }) => lastSeen,
        cell: ({ lastSeen }) => <Time iso={lastSeen} />,
      },
    ],
    [t, word, chain],
  );
}

/** Shows the counterparties. */
export function Counterparties({ data }: { readonly data: Screening }): ReactNode {
  const { t } = useI18n();
  const columns = useColumns(data.chain);
  return (
    <>
      <Section title={t('counterparty.title')} note={t('counterparty.note')}>
        <DataTable
          id="counterparties"
          caption={t('counterparty.title')}
          columns={columns}
          rows={data.topCounterparties ?? []}
          rowKey={rowKey}
          empty={<Empty title={t('counterparty.none')} />}
        />
      </Section>
      <Services rows={data.historicalServices ?? []} />
    </>
  );
}

function Services({ rows }: { readonly rows: readonly Service[] }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Service>[] => [
      {
        id: 'name',
        header: t('addresses.name'),
        value: ({ name }) => name,
        cell: ({ name }) => <Name text={name} />,
      },
      { id: 'category', header: t('label.category'), value: ({ category }) => word('category', category) },
      {
        id: 'first',
        header: t('counterparty.first'),
        value: ({ firstSeen }) => firstSeen,
        cell: ({ firstSeen }) => <Time iso={firstSeen} />,
      },
      {
        id: 'last',
        header: t('counterparty.last'),
        value: ({ lastSeen }) => lastSeen,
        cell: ({ lastSeen }) => <Time iso={lastSeen} />,
      },
      { id: 'transfers', header: t('exposure.transfers'), value: ({ txCount }) => txCount, isNumber: true },
      {
        id: 'usd',
        header: 'USD',
        value: ({ valueUsd }) => valueUsd,
        isNumber: true,
        cell: ({ valueUsd }) => <Money usd={valueUsd} />,
      },
    ],
    [t, word],
  );
  if (rows.length === 0) return null;
  return (
    <Section title={t('services.title')}>
      <DataTable
        id="services"
        caption={t('services.title')}
        columns={columns}
        rows={rows}
        rowKey={serviceKey}
      />
    </Section>
  );
}
