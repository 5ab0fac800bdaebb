/** Work of all accounts that waits or runs. */

import { type ReactNode, useMemo } from 'react';
import { everyOf } from '../../api/every.ts';
import { useI18n } from '../../i18n/index.tsx';
import { ChainMark } from '../../ui/Address.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/states.tsx';
import { ServerText } from '../../ui/values.tsx';
import { Count, Fact, type OperatorStatus, State } from './parts.tsx';

type Queues = OperatorStatus['queues'];
type Refresh = Queues['refreshes'][number];
type Exposure = Queues['exposure'][number];

/** The server counts no further. */
const COUNTED_MAX = 1_000;

const chainKey = ({ chain }: { readonly chain: string }): string => chain;

/** The tab. */
export function QueuesTab({ status }: { readonly status: OperatorStatus }): ReactNode {
  const { t, number, word } = useI18n();
  const { jobs, deliveries, refreshes, exposure, pool } = status.queues;
  const states = everyOf<Exclude<keyof OperatorStatus['queues']['jobs'], 'chunksRunning'>>()([
    'receiving',
    'queued',
    'running',
    'done',
    'cancelled',
    'failed',
  ]);
  return (
    <>
      <Section title={t('operator.jobs')} note={t('operator.jobsNote')}>
        <dl className="facts">
          {states.map((state) => (
            <Fact key={state} name={word('operatorJobs', state)}>
              {number(jobs[state])}
            </Fact>
          ))}
          <Fact name={t('operator.chunks')}>{number(jobs.chunksRunning)}</Fact>
        </dl>
      </Section>
      <Section title={t('operator.deliveries')} note={t('operator.deliveriesNote')}>
        <dl className="facts">
          <Fact name={t('status.pending')}>{number(deliveries.waiting)}</Fact>
          <Fact name={t('operator.receivers')}>{number(deliveries.receivers)}</Fact>
        </dl>
      </Section>
      <Section title={t('operator.pool')} note={t('operator.poolNote')}>
        <dl className="facts">
          <Fact name={t('operator.tasks')}>{number(pool.tasks)}</Fact>
          <Fact name={t('operator.threads')}>{number(pool.threads)}</Fact>
        </dl>
      </Section>
      <Refreshes rows={refreshes} />
      <ExposureWork rows={exposure} />
    </>
  );
}

function Refreshes({ rows }: { readonly rows: readonly Refresh[] }): ReactNode {
  const { t, number } = useI18n();
  const columns = useMemo((): readonly Column<Refresh>[] => {
    const counted = (count: number): string =>
      count < COUNTED_MAX ? number(count) : t('status.atLeast', { count });
    return [
      {
        id: 'chain',
        header: t('home.chain'),
        value: ({ chain }) => chain,
        cell: ({ chain }) => <ChainMark chain={chain} />,
      },
      {
        id: 'alerts',
        header: t('operator.afterAlert'),
        value: ({ afterAlert }) => afterAlert,
        cell: ({ afterAlert }) => counted(afterAlert),
        isNumber: true,
      },
      {
        id: 'scheduled',
        header: t('operator.scheduled'),
        value: ({ scheduled }) => scheduled,
        cell: ({ scheduled }) => counted(scheduled),
        isNumber: true,
      },
    ];
  }, [t, number]);
  return (
    <Section title={t('operator.refreshes')} note={t('operator.refreshesNote')}>
      <DataTable
        id="refreshes"
        caption={t('operator.refreshes')}
        columns={columns}
        rows={rows}
        rowKey={chainKey}
        hasControls={false}
        empty={<Empty title={t('operator.noRefreshes')}>{t('status.noChainsHelp')}</Empty>}
      />
    </Section>
  );
}

function ExposureWork({ rows }: { readonly rows: readonly Exposure[] }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Exposure>[] => [
      {
        id: 'chain',
        header: t('home.chain'),
        value: ({ chain }) => chain,
        cell: ({ chain }) => <ChainMark chain={chain} />,
      },
      {
        id: 'state',
        header: t('home.state'),
        value: ({ state }) => word('exposureState', state),
        cell: ({ state }) => <State word={word('exposureState', state)} isGood={state !== 'FAILING'} />,
      },
      {
        id: 'waiting',
        header: t('operator.waiting'),
        value: ({ waiting }) => waiting,
        cell: ({ waiting }) => <Count value={waiting} />,
        isNumber: true,
      },
      {
        id: 'reason',
        header: t('home.reason'),
        value: ({ reason }) => reason,
        cell: ({ reason }) => (reason === null ? '–' : <ServerText text={reason} />),
      },
    ],
    [t, word],
  );
  return (
    <Section title={t('operator.exposure')} note={t('operator.exposureNote')}>
      <DataTable
        id="exposure"
        caption={t('operator.exposure')}
        columns={columns}
        rows={rows}
        rowKey={chainKey}
        hasControls={false}
        empty={
          <Empty title={t('operator.noExposure')}>
            {t('operator.noExposureHelp')} <code>assay ingest</code>
          </Empty>
        }
      />
    </Section>
  );
}
