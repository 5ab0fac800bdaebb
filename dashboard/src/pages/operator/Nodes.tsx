/** The nodes of the installation, and the work that each does for all. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { type OperatorStatus, State, useSpan } from './parts.tsx';

type Node = OperatorStatus['nodes'][number];

const nodeKey = ({ node }: Node): string => node;

/** The tab. */
export function Nodes({ status }: { readonly status: OperatorStatus }): ReactNode {
  const { t } = useI18n();
  const span = useSpan();
  const { nodes, shared } = status;
  const columns = useMemo(
    (): readonly Column<Node>[] => [
      {
        id: 'node',
        header: t('operator.node'),
        value: ({ node }) => node,
        cell: ({ node, here }) => (
          <>
            <Name text={node} /> {here ? <span className="tag">{t('status.here')}</span> : null}
          </>
        ),
      },
      {
        id: 'state',
        header: t('home.state'),
        value: ({ live }) => t(live ? 'operator.live' : 'operator.gone'),
        cell: ({ live }) => <State word={t(live ? 'operator.live' : 'operator.gone')} isGood={live} />,
      },
      { id: 'roles', header: t('operator.roles'), value: ({ roles }) => roles.join(', ') },
      {
        id: 'since',
        header: t('operator.started'),
        value: ({ since }) => since,
        cell: ({ since }) => <Time iso={since} />,
      },
      {
        id: 'heartbeat',
        header: t('operator.heartbeat'),
        value: ({ silentSeconds }) => silentSeconds,
        cell: ({ silentSeconds }) => t('operator.ago', { span: span(silentSeconds) }),
        isNumber: true,
      },
      {
        id: 'leases',
        header: t('operator.leases'),
        value: ({ leases }) => leases.join(' '),
        cell: ({ leases }) =>
          leases.length === 0
            ? '–'
            : leases.map((lease) => (
                <span key={lease}>
                  <code>{lease}</code>{' '}
                </span>
              )),
      },
    ],
    [t, span],
  );
  return (
    <Section
      title={t('status.nodes')}
      note={
        shared ? (
          t('operator.nodesNote')
        ) : (
          <>
            {t('operator.alone')} <a href="/docs/guide/many-nodes">{t('operator.manyNodes')}</a>
          </>
        )
      }
    >
      <DataTable
        id="nodes"
        caption={t('status.nodes')}
        columns={columns}
        rows={nodes}
        rowKey={nodeKey}
        hasControls={nodes.length > 5}
      />
    </Section>
  );
}
