/** `/status`: the state of the service, from what the server says to everybody, and the queues of the account. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { call } from '../../api/client.ts';
import { type Ready, readyQuery } from '../../api/ready.ts';
import { useI18n } from '../../i18n/index.tsx';
import { ChainMark } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { NotKnown, Time } from '../../ui/values.tsx';
import { isOpen } from '../bulk/upload.ts';
import { DataStatus } from '../home.tsx';
import './parts.tsx';

/** A person who watches a start or a repair sees a change after half a minute. */
const POLL_MS = 30_000;
/** Messages that are counted; more are "100 or more". `deliveriesPageMax` of the API. */
const DELIVERIES_COUNTED = 100;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The page. */
export function StatusPage(): ReactNode {
  const { t } = useI18n();
  const status = useQuery({
    ...readyQuery,
    refetchInterval: POLL_MS,
    staleTime: POLL_MS / 2,
  });
  const again = (
    <Button isBusy={status.isFetching} onClick={() => void status.refetch()}>
      {t('status.again')}
    </Button>
  );
  return (
    <Page title={t('status.title')} actions={again}>
      {status.isPending ? <Loading lines={8} /> : null}
      {status.error === null ? null : <Failure error={status.error} onRetry={() => void status.refetch()} />}
      {status.data === undefined ? null : (
        <>
          <Readiness ready={status.data} at={status.dataUpdatedAt} />
          <Section title={t('home.data')} note={t('status.dataNote')}>
            <DataStatus ready={status.data} />
          </Section>
          <Chains chains={status.data.monitoring ?? []} at={status.dataUpdatedAt} />
          <Replication pulled={status.data.pulledFrom} />
          <Nodes leases={status.data.leases} />
        </>
      )}
      <Queues />
    </Page>
  );
}

/** Whether the service is ready, and which stores refuse writes. */
function Readiness({ ready, at }: { readonly ready: Ready; readonly at: number }): ReactNode {
  const { t } = useI18n();
  const degraded = ready.degraded ?? [];
  const isGood = ready.ready && degraded.length === 0;
  const isRefusing = degraded.some(({ kind }) => kind === 'STORAGE');
  const limited = isRefusing ? 'status.readsOnly' : 'status.degraded';
  const key = !ready.ready ? 'status.notReady' : degraded.length > 0 ? limited : 'status.ready';
  return (
    <Section title={t('status.service')}>
      <p className={isGood ? 'status-line' : 'status-line warning-line'}>
        <Icon name={isGood ? 'check' : 'warning'} />
        {t(key)}
      </p>
      {ready.reasons.length === 0 ? null : (
        <ul className="reasons" lang="en">
          {ready.reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
      {degraded.length === 0 ? null : (
        <ul className="reasons" lang="en">
          {degraded.map(({ kind, path, reason, since }) => (
            <li key={`${kind} ${path}`}>
              {path === null ? null : (
                <>
                  <code>{path}</code>:{' '}
                </>
              )}
              {reason} <Time iso={since} />
            </li>
          ))}
        </ul>
      )}
      <p className="muted">
        {t('status.at')} <Time iso={new Date(at).toISOString()} />
      </p>
    </Section>
  );
}

type Followed = NonNullable<Ready['monitoring']>[number];

const chainKey = ({ chain }: Followed): string => chain;

/** Chains that are followed for the wallets of all accounts, with the age of the last block. */
function Chains({ chains, at }: { readonly chains: readonly Followed[]; readonly at: number }): ReactNode {
  const { t, number, word } = useI18n();
  const columns = useMemo((): readonly Column<Followed>[] => {
    const lagOf = ({ blockTime }: Followed): number | null =>
      blockTime === null ? null : Math.max(0, Math.round((at - Date.parse(blockTime)) / MINUTE_MS));
    return [
      {
        id: 'chain',
        header: t('home.chain'),
        value: ({ chain }) => chain,
        cell: ({ chain }) => <ChainMark chain={chain} />,
      },
      {
        id: 'state',
        header: t('home.state'),
        value: ({ state }) => word('chainState', state),
        hasFilter: true,
        cell: ({ state, following }) => (
          <span className={following ? 'tag' : 'tag is-warning'}>{word('chainState', state)}</span>
        ),
      },
      {
        id: 'height',
        header: t('status.height'),
        value: ({ height }) => height,
        cell: ({ height }) => (height === null ? <NotKnown /> : number(height)),
        isNumber: true,
      },
      {
        id: 'block',
        header: t('home.block'),
        value: ({ blockTime }) => blockTime,
        cell: ({ blockTime }) => <Time iso={blockTime} />,
      },
      {
        id: 'lag',
        header: t('status.lag'),
        value: lagOf,
        cell: (row) => {
          const minutes = lagOf(row);
          if (minutes === null) return <NotKnown />;
          return minutes * MINUTE_MS < HOUR_MS
            ? t('status.minutes', { count: minutes })
            : t('status.hours', { count: Math.floor((minutes * MINUTE_MS) / HOUR_MS) });
        },
        isNumber: true,
      },
      {
        id: 'reason',
        header: t('home.reason'),
        value: ({ reason }) => reason,
        cell: ({ reason }) => <span lang="en">{reason}</span>,
      },
    ];
  }, [t, number, word, at]);
  return (
    <Section title={t('home.chains')} note={t('home.chainsNote')}>
      <DataTable
        id="chains"
        caption={t('home.chains')}
        columns={columns}
        rows={chains}
        rowKey={chainKey}
        empty={<Empty title={t('status.noChains')}>{t('status.noChainsHelp')}</Empty>}
      />
    </Section>
  );
}

/** Of a node that pulls its labels from another: what it serves, and since when it is behind. */
export function Replication({ pulled }: { readonly pulled: Ready['pulledFrom'] }): ReactNode {
  const { t } = useI18n();
  if (pulled === undefined) return null;
  const { from, published, served, behindSince, lookedAt, error, errorSince } = pulled;
  return (
    <Section title={t('status.replication')} note={t('status.replicationNote')}>
      {error === null ? null : (
        <p className="warning-line">
          <span lang="en">{error}</span> <Time iso={errorSince} />
        </p>
      )}
      <dl className="facts">
        <div>
          <dt>{t('status.from')}</dt>
          <dd>{from}</dd>
        </div>
        <div>
          <dt>{t('status.published')}</dt>
          <dd>{published === null ? <NotKnown /> : <code>{published.dataVersion}</code>}</dd>
        </div>
        <div>
          <dt>{t('status.served')}</dt>
          <dd>{served === null ? <NotKnown /> : <code>{served.dataVersion}</code>}</dd>
        </div>
        <div>
          <dt>{t('status.behind')}</dt>
          <dd>{behindSince === null ? t('status.notBehind') : <Time iso={behindSince} />}</dd>
        </div>
        <div>
          <dt>{t('status.looked')}</dt>
          <dd>
            <Time iso={lookedAt} />
          </dd>
        </div>
      </dl>
    </Section>
  );
}

type Lease = NonNullable<Ready['leases']>[number];

const leaseKey = ({ lease }: Lease): string => lease;

/** Of several nodes: which one does the work that one node does at a time. */
function Nodes({ leases }: { readonly leases: Ready['leases'] }): ReactNode {
  const { t } = useI18n();
  const columns = useMemo(
    (): readonly Column<Lease>[] => [
      {
        id: 'lease',
        header: t('status.work'),
        value: ({ lease }) => lease,
        cell: ({ lease }) => <code>{lease}</code>,
      },
      {
        id: 'holder',
        header: t('status.holder'),
        value: ({ holder }) => holder,
        cell: ({ holder }) =>
          holder === null ? <span className="tag is-warning">{t('status.nobody')}</span> : holder,
      },
      { id: 'here', header: t('status.here'), value: ({ here }) => t(here ? 'team.yes' : 'team.no') },
      {
        id: 'since',
        header: t('status.since'),
        value: ({ since }) => since,
        cell: ({ since }) => <Time iso={since} />,
      },
    ],
    [t],
  );
  if (leases === undefined) return null;
  return (
    <Section title={t('status.nodes')} note={t('status.nodesNote')}>
      <DataTable
        id="leases"
        caption={t('status.nodes')}
        columns={columns}
        rows={leases}
        rowKey={leaseKey}
        hasControls={false}
      />
    </Section>
  );
}

/** Work that waits in the queues of the account. Other accounts are not shown. */
function Queues(): ReactNode {
  const { t } = useI18n();
  const queues = useQuery({
    queryKey: ['queues'],
    queryFn: async ({ signal }) => {
      const counted = (status: 'PENDING' | 'FAILED') =>
        call('get', '/monitoring/deliveries', { query: { status, limit: DELIVERIES_COUNTED }, signal });
      const [jobs, pending, failed] = await Promise.all([
        call('get', '/jobs', { query: { limit: 100 }, signal }),
        counted('PENDING'),
        counted('FAILED'),
      ]);
      return {
        jobs: jobs.jobs.filter(isOpen).length,
        pending: { count: pending.deliveries.length, hasMore: pending.hasMore },
        failed: { count: failed.deliveries.length, hasMore: failed.hasMore },
      };
    },
    refetchInterval: POLL_MS,
  });
  const amount = ({ count, hasMore }: { count: number; hasMore: boolean }): string =>
    t(hasMore ? 'status.atLeast' : 'status.exactly', { count });
  return (
    <Section title={t('status.queues')} note={t('status.queuesNote')}>
      {queues.isPending ? <Loading lines={2} /> : null}
      {queues.error === null ? null : <Failure error={queues.error} onRetry={() => void queues.refetch()} />}
      {queues.data === undefined ? null : (
        <dl className="facts">
          <div>
            <dt>{t('status.openJobs')}</dt>
            <dd>{queues.data.jobs}</dd>
          </div>
          <div>
            <dt>{t('status.pending')}</dt>
            <dd>{amount(queues.data.pending)}</dd>
          </div>
          <div>
            <dt>{t('status.failed')}</dt>
            <dd>{amount(queues.data.failed)}</dd>
          </div>
        </dl>
      )}
    </Section>
  );
}
