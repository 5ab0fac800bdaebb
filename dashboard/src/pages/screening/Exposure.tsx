/** Where the value came from and where it went: a picture, and the same as a table. */
import { lazy, type ReactNode, Suspense, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Address } from '../../ui/Address.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Source } from '../../ui/Source.tsx';
import { Empty, Loading } from '../../ui/states.tsx';
import { Money, Name, Percent, Time } from '../../ui/values.tsx';
import type { Screening } from './ask.ts';

type Row = NonNullable<Screening['exposures']>[number];
type Stop = NonNullable<Screening['stoppedAt']>[number];

const Sankey = lazy(async () => ({ default: (await import('./Sankey.tsx')).Sankey }));

/** Answers that were kept before rows had labels have none. */
const labelOf = (row: Row): Row['label'] => row.label ?? null;

const exposureKey = (_: Row, index: number): string => String(index);
const stopKey = (stop: Stop, index: number): string => `${stop.address} ${index}`;

function useColumns(chain: string): readonly Column<Row>[] {
  const { t, word } = useI18n();
  return useMemo(
    () => [
      {
        id: 'direction',
        header: t('exposure.direction'),
        value: ({ direction }) => word('direction', direction),
        hasFilter: true,
      },
      {
        id: 'category',
        header: t('label.category'),
        value: ({ category }) => word('category', category),
        hasFilter: true,
      },
      {
        id: 'entity',
        header: t('screening.entity'),
        value: ({ entity }) => entity?.name ?? null,
        cell: ({ entity }) =>
          entity === null ? (
            <span className="not-known">{t('exposure.noEntity')}</span>
          ) : (
            <Name text={entity.name} />
          ),
      },
      {
        id: 'level',
        header: t('addresses.level'),
        value: ({ entity }) => (entity === null ? null : word('risk', entity.threatLevel)),
        cell: ({ entity }) => <RiskBadge level={entity?.threatLevel ?? null} />,
      },
      {
        id: 'type',
        header: t('exposure.type'),
        value: ({ type }) => word('exposureType', type),
        hasFilter: true,
      },
      {
        id: 'share',
        header: t('exposure.share'),
        value: ({ percentage }) => percentage,
        isNumber: true,
        cell: ({ percentage, asset }) => (
          <>
            <Percent value={percentage} />
            {asset === null ? null : <bdi className="muted"> {asset}</bdi>}
          </>
        ),
      },
      {
        id: 'usd',
        header: 'USD',
        value: ({ valueUsd }) => valueUsd,
        isNumber: true,
        cell: ({ valueUsd }) => <Money usd={valueUsd} />,
      },
      { id: 'hops', header: t('exposure.hops'), value: ({ hops }) => hops, isNumber: true },
      { id: 'transfers', header: t('exposure.transfers'), value: ({ txCount }) => txCount, isNumber: true },
      {
        id: 'class',
        header: t('label.class'),
        value: (row) => (row.class === null ? null : word('class', row.class)),
      },
      {
        id: 'source',
        header: t('label.source'),
        value: (row) => labelOf(row)?.source ?? null,
        hasFilter: true,
        cell: (row) => {
          const label = labelOf(row);
          return label === null ? '' : <Source name={label.source} url={label.sourceUrl} />;
        },
      },
      {
        id: 'date',
        header: t('label.date'),
        value: (row) => labelOf(row)?.date ?? null,
        cell: (row) => {
          const label = labelOf(row);
          return label === null ? '' : <Time iso={label.date} />;
        },
        isHidden: true,
      },
      {
        id: 'confidence',
        header: t('label.confidence'),
        value: (row) => labelOf(row)?.confidence ?? null,
        isNumber: true,
        cell: (row) => {
          const label = labelOf(row);
          return label === null ? '' : <Percent value={label.confidence * 100} />;
        },
      },
      {
        id: 'via',
        header: t('exposure.at'),
        value: (row) => labelOf(row)?.address ?? null,
        cell: (row) => {
          const label = labelOf(row);
          return label === null ? '' : <Address address={label.address} chain={chain} />;
        },
        isHidden: true,
      },
      {
        id: 'price',
        header: t('exposure.price'),
        value: ({ priceStatus }) => word('price', priceStatus),
        isHidden: true,
      },
    ],
    [t, word, chain],
  );
}

/** Shows the exposure in both directions. */
export function Exposure({ data }: { readonly data: Screening }): ReactNode {
  const { t } = useI18n();
  const columns = useColumns(data.chain);
  const exposures = data.exposures ?? [];
  const isRead = data.coverage.graph.status !== 'NONE';
  return (
    <Section title={t('exposure.title')} note={t('exposure.note')}>
      {exposures.length === 0 ? (
        <Empty title={t(isRead ? 'exposure.none' : 'exposure.notRead')}>
          {t(isRead ? 'exposure.noneHelp' : 'exposure.notReadHelp')}
        </Empty>
      ) : (
        <>
          <Suspense fallback={<Loading lines={5} />}>
            <Sankey data={data} />
          </Suspense>
          <CutDirections exposures={exposures} />
          <DataTable
            id="exposure"
            caption={t('exposure.title')}
            columns={columns}
            rows={exposures}
            rowKey={exposureKey}
          />
        </>
      )}
      <Stops stops={data.stoppedAt ?? []} chain={data.chain} />
    </Section>
  );
}

/** Rows of a direction that an answer lists at most (the OpenAPI document). */
const LISTED_MAX = 200;

/** Says of which directions the answer lists only the greatest rows. */
function CutDirections({ exposures }: { readonly exposures: readonly Row[] }): ReactNode {
  const { t, word, number, percent } = useI18n();
  const cut = (['in', 'out'] as const).flatMap((direction) => {
    const rows = exposures.filter((row) => row.direction === direction);
    return rows.length < LISTED_MAX ? [] : [{ direction, rows }];
  });
  return cut.map(({ direction, rows }) => (
    <p key={direction} className="warning-line">
      {t('exposure.cut', {
        direction: word('direction', direction),
        rows: number(rows.length),
        share: percent(
          rows.reduce((sum, { asset, percentage }) => sum + (asset === null ? percentage : 0), 0),
        ),
      })}
    </p>
  ));
}

/** Addresses at which the walk ended, so that a reader knows what was not followed. */
function Stops({ stops, chain }: { readonly stops: readonly Stop[]; readonly chain: string }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Stop>[] => [
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ address }) => address,
        cell: ({ address }) => <Address address={address} chain={chain} />,
      },
      { id: 'reason', header: t('home.reason'), value: ({ reason }) => word('stop', reason) },
      {
        id: 'direction',
        header: t('exposure.direction'),
        value: ({ direction }) => word('direction', direction),
      },
      {
        id: 'share',
        header: t('exposure.share'),
        value: ({ percentage }) => percentage,
        isNumber: true,
        cell: ({ percentage }) => <Percent value={percentage} />,
      },
    ],
    [t, word, chain],
  );
  if (stops.length === 0) return null;
  return (
    <>
      <h3>{t('exposure.stopped')}</h3>
      <DataTable
        id="stops"
        caption={t('exposure.stopped')}
        columns={columns}
        rows={stops}
        rowKey={stopKey}
        hasControls={false}
      />
    </>
  );
}

type Method = NonNullable<Screening['taint']>['methods'][number];

/** The taint policies side by side: one row for each category, one column for each policy. */
export function Taint({ data }: { readonly data: Screening }): ReactNode {
  const { t, word } = useI18n();
  const methods = useMemo((): readonly Method[] => data.taint?.methods ?? [], [data.taint]);
  const rows = useMemo(
    () => [...new Set(methods.flatMap(({ received }) => Object.keys(received)))],
    [methods],
  );
  const columns = useMemo(
    (): readonly Column<string>[] => [
      { id: 'category', header: t('label.category'), value: (category) => word('category', category) },
      ...methods.map(
        ({ method, received }): Column<string> => ({
          id: method,
          header: word('taint', method),
          value: (category) => received[category] ?? null,
          isNumber: true,
          cell: (category) => <Percent value={received[category] ?? 0} />,
        }),
      ),
    ],
    [methods, t, word],
  );
  // One policy alone is what the exposure above already says.
  if (methods.length < 2 || rows.length === 0) return null;
  return (
    <Section title={t('taint.title')} note={t('taint.note')}>
      <DataTable
        id="taint"
        caption={t('taint.title')}
        columns={columns}
        rows={rows}
        rowKey={(category) => category}
        hasControls={false}
      />
    </Section>
  );
}
