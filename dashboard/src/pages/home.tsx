/** `/`: the search box, and how current the data is on which every verdict rests. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { type Ready, readyQuery } from '../api/ready.ts';
import { useI18n } from '../i18n/index.tsx';
import { SearchForm } from '../search/SearchForm.tsx';
import { ChainMark } from '../ui/Address.tsx';
import { type Column, DataTable } from '../ui/DataTable.tsx';
import { Page, Section } from '../ui/Page.tsx';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { Time } from '../ui/values.tsx';

type ListRow = Ready['lists'][number];
type ListState = 'missing' | 'stale' | 'current';

const stateOf = ({ publishedAt, stale }: ListRow): ListState =>
  publishedAt === null ? 'missing' : stale ? 'stale' : 'current';

/** The page. */
export function HomePage(): ReactNode {
  const { t } = useI18n();
  const status = useQuery(readyQuery);
  return (
    <Page title={t('home.title')} heading={t('home.heading')}>
      <SearchForm />
      <Section title={t('home.data')} note={t('home.dataNote')}>
        {status.isPending ? <Loading lines={7} /> : null}
        {status.error === null ? null : (
          <Failure error={status.error} onRetry={() => void status.refetch()} />
        )}
        {status.data === undefined ? null : <DataStatus ready={status.data} />}
      </Section>
      {status.data?.monitoring === undefined ? null : <Followed chains={status.data.monitoring} />}
    </Page>
  );
}

/** The labels and lists that are in use. */
export function DataStatus({ ready }: { readonly ready: Pick<Ready, 'snapshot' | 'lists'> }): ReactNode {
  const { t, number, list } = useI18n();
  const { snapshot, lists } = ready;
  const bad = lists.filter((row) => stateOf(row) !== 'current');
  return (
    <>
      {bad.length > 0 ? (
        <p className="warning-line">
          {t('home.listsBad', { count: bad.length, lists: list(bad.map((row) => row.list)) })}{' '}
          <a href="/docs/guide/data-and-lists">{t('home.listsGuide')}</a>
        </p>
      ) : null}
      {snapshot === null ? (
        <Empty title={t('home.noLabels')}>{t('home.noLabelsHelp')}</Empty>
      ) : (
        <dl className="facts">
          <div>
            <dt>{t('home.addresses')}</dt>
            <dd>{number(snapshot.addresses)}</dd>
          </div>
          <div>
            <dt>{t('home.labels')}</dt>
            <dd>{number(snapshot.labels)}</dd>
          </div>
          <div>
            <dt>{t('home.built')}</dt>
            <dd>
              <Time iso={snapshot.builtAt} />
            </dd>
          </div>
          <div>
            <dt>{t('home.version')}</dt>
            <dd>
              <code>{snapshot.dataVersion}</code>
            </dd>
          </div>
        </dl>
      )}
      <Lists lists={lists} />
    </>
  );
}

const listKey = ({ list }: ListRow): string => list;

function Lists({ lists }: { readonly lists: readonly ListRow[] }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<ListRow>[] => [
      {
        id: 'list',
        header: t('home.list'),
        value: ({ list }) => list,
        cell: ({ list }) => (
          <>
            <strong>{list}</strong> <span className="muted">{word('list', list)}</span>
          </>
        ),
      },
      {
        id: 'state',
        header: t('home.state'),
        value: (row) => t(`home.state.${stateOf(row)}`),
        cell: (row) => (
          <span className={stateOf(row) === 'current' ? 'tag' : 'tag is-warning'}>
            {t(`home.state.${stateOf(row)}`)}
          </span>
        ),
      },
      {
        id: 'published',
        header: t('home.published'),
        value: ({ publishedAt }) => publishedAt,
        cell: ({ publishedAt }) => <Time iso={publishedAt} />,
      },
      {
        id: 'checked',
        header: t('home.checked'),
        value: ({ checkedAt }) => checkedAt,
        cell: ({ checkedAt }) => <Time iso={checkedAt} />,
      },
      {
        id: 'how',
        header: t('home.checkedBy'),
        value: ({ checkedBy }) => (checkedBy === null ? null : word('check', checkedBy)),
      },
      {
        id: 'action',
        header: t('home.action'),
        value: (row) => {
          const state = stateOf(row);
          return state === 'current' ? null : t(`home.action.${state}`);
        },
      },
    ],
    [t, word],
  );
  return (
    <DataTable
      id="lists"
      caption={t('home.lists')}
      columns={columns}
      rows={lists}
      rowKey={listKey}
      hasControls={false}
      empty={<Empty title={t('home.noLists')} />}
    />
  );
}

type FollowedChain = NonNullable<Ready['monitoring']>[number];
const chainKey = ({ chain }: FollowedChain): string => chain;

/** Chains on which wallets are watched. One that is not followed misses alerts, so the page says it. */
function Followed({ chains }: { readonly chains: readonly FollowedChain[] }): ReactNode {
  const { t } = useI18n();
  const columns = useMemo(
    (): readonly Column<FollowedChain>[] => [
      {
        id: 'chain',
        header: t('home.chain'),
        value: ({ chain }) => chain,
        cell: ({ chain }) => <ChainMark chain={chain} />,
      },
      {
        id: 'following',
        header: t('home.state'),
        value: ({ following }) => t(following ? 'home.following' : 'home.notFollowing'),
        cell: ({ following }) => (
          <span className={following ? 'tag' : 'tag is-warning'}>
            {t(following ? 'home.following' : 'home.notFollowing')}
          </span>
        ),
      },
      {
        id: 'block',
        header: t('home.block'),
        value: ({ blockTime }) => blockTime,
        cell: ({ blockTime }) => <Time iso={blockTime} />,
      },
      { id: 'reason', header: t('home.reason'), value: ({ reason }) => reason },
    ],
    [t],
  );
  return (
    <Section title={t('home.chains')} note={t('home.chainsNote')}>
      <DataTable
        id="chains"
        caption={t('home.chains')}
        columns={columns}
        rows={chains}
        rowKey={chainKey}
        hasControls={false}
      />
    </Section>
  );
}
