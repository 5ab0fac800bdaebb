/** Label snapshots, the datasets behind them, sanctions lists, and replication. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { DataStatus } from '../home.tsx';
import { Replication } from '../manage/status.tsx';
import { Fact, LeftOut, type OperatorStatus } from './parts.tsx';

type Snapshot = OperatorStatus['labels']['snapshots'][number];
type Source = OperatorStatus['labels']['sources'][number];

const snapshotKey = ({ publishedAt, dataVersion }: Snapshot): string => `${publishedAt} ${dataVersion}`;
/** A source may have several datasets of one name. */
const sourceKey = ({ source, dataset }: Source, index: number): string => `${source} ${dataset} ${index}`;

/** The tab. */
export function Labels({ status }: { readonly status: OperatorStatus }): ReactNode {
  const { t } = useI18n();
  const { labels, pulledFrom } = status;
  return (
    <>
      <Section title={t('operator.lists')} note={t('status.dataNote')}>
        <DataStatus ready={status} />
      </Section>
      <Snapshots snapshots={labels.snapshots} />
      <Sources sources={labels.sources} leftOut={labels.sourcesLeftOut} />
      <Replication pulled={pulledFrom} />
      {labels.publishesAt === null ? null : (
        <Section title={t('operator.publishes')} note={t('operator.publishesNote')}>
          <dl className="facts">
            <Fact name={t('operator.publishesAt')}>
              <code>{labels.publishesAt}</code>
            </Fact>
          </dl>
        </Section>
      )}
    </>
  );
}

function Snapshots({ snapshots }: { readonly snapshots: readonly Snapshot[] }): ReactNode {
  const { t } = useI18n();
  const columns = useMemo(
    (): readonly Column<Snapshot>[] => [
      {
        id: 'version',
        header: t('home.version'),
        value: ({ dataVersion }) => dataVersion,
        cell: ({ dataVersion }) => <code>{dataVersion}</code>,
      },
      {
        id: 'published',
        header: t('operator.built'),
        value: ({ publishedAt }) => publishedAt,
        cell: ({ publishedAt }) => <Time iso={publishedAt} />,
      },
      {
        id: 'state',
        header: t('home.state'),
        value: ({ current }) => t(current ? 'operator.current' : 'operator.previous'),
        cell: ({ current }) => (
          <span className="tag">{t(current ? 'operator.current' : 'operator.previous')}</span>
        ),
      },
    ],
    [t],
  );
  return (
    <Section title={t('operator.snapshots')} note={t('operator.snapshotsNote')}>
      <DataTable
        id="snapshots"
        caption={t('operator.snapshots')}
        columns={columns}
        rows={snapshots}
        rowKey={snapshotKey}
        hasControls={false}
        empty={
          <Empty title={t('home.noLabels')}>
            {t('operator.run')} <code>assay index build</code>
          </Empty>
        }
      />
    </Section>
  );
}

function Sources({
  sources,
  leftOut,
}: {
  readonly sources: readonly Source[];
  readonly leftOut: number;
}): ReactNode {
  const { t, number } = useI18n();
  const columns = useMemo(
    (): readonly Column<Source>[] => [
      { id: 'source', header: t('operator.source'), value: ({ source }) => source, hasFilter: true },
      {
        id: 'dataset',
        header: t('operator.dataset'),
        value: ({ dataset }) => dataset,
        cell: ({ dataset }) => <Name text={dataset} />,
      },
      {
        id: 'labels',
        header: t('home.labels'),
        value: ({ labels }) => labels,
        cell: ({ labels }) => number(labels),
        isNumber: true,
      },
      {
        id: 'published',
        header: t('home.published'),
        value: ({ publishedAt }) => publishedAt,
        cell: ({ publishedAt }) => <Time iso={publishedAt} />,
      },
      {
        id: 'imported',
        header: t('operator.imported'),
        value: ({ importedAt }) => importedAt,
        cell: ({ importedAt }) => <Time iso={importedAt} />,
      },
    ],
    [t, number],
  );
  return (
    <Section title={t('operator.sources')} note={t('operator.sourcesNote')}>
      <DataTable
        id="sources"
        caption={t('operator.sources')}
        columns={columns}
        rows={sources}
        rowKey={sourceKey}
        empty={
          <Empty title={t('operator.noData')}>
            {t('operator.run')} <code>assay sync</code>
          </Empty>
        }
        {...(leftOut === 0 ? {} : { footer: <LeftOut count={leftOut} columns={columns.length} /> })}
      />
    </Section>
  );
}
