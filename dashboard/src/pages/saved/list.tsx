/** `/saved`: the answers that the account has kept. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';

type Saved = Schemas['SavedScreening'];

/** Rows of one request: a screen or two. */
const ROWS = 50;
const savedKey = ({ id }: Saved): string => id;

/** The day of which an answer has the facts; null if that is when it was saved. */
export const asOfDay = ({ request }: Saved): string | null =>
  typeof request.asOf === 'string' ? request.asOf : null;

/** The page. */
export function SavedPage(): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<readonly Saved[]>([]);
  const saved = useInfiniteQuery({
    queryKey: ['saved'],
    queryFn: ({ pageParam, signal }) =>
      call('get', '/screenings', {
        signal,
        query: { limit: ROWS, ...(pageParam === '' ? {} : { cursor: pageParam }) },
      }),
    initialPageParam: '',
    // Another answer may have been kept a moment ago.
    staleTime: 0,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const rows = useMemo(() => saved.data?.pages.flatMap(({ screenings }) => screenings) ?? [], [saved.data]);
  const toggle = (row: Saved): void =>
    setChosen((before) =>
      before.some(({ id }) => id === row.id)
        ? before.filter(({ id }) => id !== row.id)
        : [...before.slice(-1), row],
    );
  const compare = (): void => {
    const [first, second] = chosen.toSorted((a, b) => a.savedAt.localeCompare(b.savedAt));
    if (first !== undefined && second !== undefined)
      void navigate({ to: PATHS.savedCompare, params: { a: first.id, b: second.id } });
  };
  return (
    <Page title={t('saved.title')}>
      <Section
        title={t('saved.list')}
        note={t('saved.note')}
        actions={chosen.length === 2 ? <Button onClick={compare}>{t('saved.compare')}</Button> : undefined}
      >
        {saved.isPending ? <Loading lines={6} /> : null}
        {saved.error === null ? null : <Failure error={saved.error} onRetry={() => void saved.refetch()} />}
        {saved.data === undefined ? null : (
          <SavedTable
            rows={rows}
            chosen={chosen}
            onToggle={toggle}
            onOpen={({ id }) => void navigate({ to: PATHS.savedOne, params: { id } })}
          />
        )}
        {saved.hasNextPage ? (
          <div className="actions">
            <Button isBusy={saved.isFetchingNextPage} onClick={() => void saved.fetchNextPage()}>
              {t('saved.more')}
            </Button>
          </div>
        ) : null}
      </Section>
    </Page>
  );
}

interface SavedTableProps {
  readonly rows: readonly Saved[];
  readonly chosen: readonly Saved[];
  readonly onToggle: (row: Saved) => void;
  readonly onOpen: (row: Saved) => void;
}

function SavedTable({ rows, chosen, onToggle, onOpen }: SavedTableProps): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Saved>[] => [
      {
        id: 'chosen',
        header: t('saved.choose'),
        value: ({ id }) => (chosen.some((row) => row.id === id) ? 1 : 0),
        cell: (row) => (
          <input
            type="checkbox"
            aria-label={t('saved.chooseOne', { time: row.savedAt })}
            checked={chosen.some(({ id }) => id === row.id)}
            onChange={() => onToggle(row)}
          />
        ),
      },
      {
        id: 'time',
        header: t('saved.at'),
        value: ({ savedAt }) => savedAt,
        cell: (row) => (
          <>
            <Time iso={row.savedAt} />
            {asOfDay(row) === null ? null : (
              <div>
                <span className="tag">
                  {t('screening.asOf')} <Time iso={asOfDay(row)} />
                </span>
              </div>
            )}
          </>
        ),
      },
      {
        id: 'asOf',
        header: t('screening.asOf'),
        value: (row) => asOfDay(row) ?? row.savedAt,
        cell: (row) => <Time iso={asOfDay(row) ?? row.savedAt} />,
        isHidden: true,
      },
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ addresses }) => addresses.join(' '),
        cell: ({ addresses, chain }) =>
          addresses.map((address) => (
            <div key={address}>
              <Address address={address} chain={chain} isLink={false} />
            </div>
          )),
      },
      { id: 'kind', header: t('saved.kind'), value: ({ kind }) => word('savedKind', kind), hasFilter: true },
      {
        id: 'level',
        header: t('saved.level'),
        value: ({ riskLevel }) => word('risk', riskLevel),
        hasFilter: true,
        cell: ({ riskLevel, riskScore }) => <RiskBadge level={riskLevel} score={riskScore} />,
      },
      { id: 'data', header: t('home.version'), value: ({ dataVersion }) => dataVersion, isHidden: true },
      { id: 'sha256', header: 'SHA-256', value: ({ sha256 }) => sha256, isHidden: true },
    ],
    [t, word, chosen, onToggle],
  );
  return (
    <DataTable
      id="saved"
      caption={t('saved.list')}
      columns={columns}
      rows={rows}
      rowKey={savedKey}
      onOpen={onOpen}
      empty={<Empty title={t('saved.none')}>{t('saved.noneHelp')}</Empty>}
    />
  );
}
