/** The same as the picture, as tables: they hold everything, also what the picture counts in one node. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Address } from '../../ui/Address.tsx';
import { amountText } from '../../ui/amount.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Empty } from '../../ui/states.tsx';
import { Money, Name, Time } from '../../ui/values.tsx';
import type { Picture, TraceEdge, TraceNode } from './picture.ts';
import { type Filter, isKept } from './view.ts';

interface TablesProps {
  readonly picture: Picture;
  readonly filter: Filter;
  /** Shows the address or the edge in the picture. */
  readonly onNode: (id: string) => void;
  readonly onEdge: (edge: TraceEdge) => void;
}

/** Shows both tables. */
export function Tables({ picture, filter, onNode, onEdge }: TablesProps): ReactNode {
  const { t } = useI18n();
  return (
    <>
      <Section title={t('trace.transfers')} note={t('trace.transfersNote')}>
        <Edges picture={picture} filter={filter} onEdge={onEdge} />
      </Section>
      <Section title={t('trace.addresses')} note={t('trace.addressesNote')}>
        <Nodes picture={picture} onNode={onNode} />
      </Section>
    </>
  );
}

const edgeKey = ({ id }: TraceEdge): string => id;
const nodeKey = ({ id }: TraceNode): string => id;

function Edges({ picture, filter, onEdge }: Omit<TablesProps, 'onNode'>): ReactNode {
  const { t } = useI18n();
  const { edges, nodes, notes, chain, branches } = picture;
  const rows = useMemo(() => [...edges.values()].filter((edge) => isKept(edge, filter)), [edges, filter]);
  const columns = useMemo((): readonly Column<TraceEdge>[] => {
    const nameOf = (id: string): string | null => nodes.get(id)?.name ?? null;
    const party = (id: string, header: string, of: (edge: TraceEdge) => string): Column<TraceEdge> => ({
      id,
      header,
      value: of,
      cell: (edge) => <Address address={of(edge)} chain={chain} />,
    });
    const name = (id: string, header: string, of: (edge: TraceEdge) => string): Column<TraceEdge> => ({
      id,
      header,
      value: (edge) => nameOf(of(edge)),
      cell: (edge) => {
        const text = nameOf(of(edge));
        return text === null ? (
          <span className="not-known">{t('addresses.noLabel')}</span>
        ) : (
          <Name text={text} />
        );
      },
    });
    return [
      {
        id: 'column',
        header: t('trace.hop'),
        value: ({ from, to }) => {
          const [a, b] = [branches.get(from)?.column ?? 0, branches.get(to)?.column ?? 0];
          return Math.abs(a) > Math.abs(b) ? a : b;
        },
        isNumber: true,
      },
      party('from', t('trace.from'), ({ from }) => from),
      name('fromName', t('trace.fromName'), ({ from }) => from),
      party('to', t('trace.to'), ({ to }) => to),
      name('toName', t('trace.toName'), ({ to }) => to),
      {
        id: 'amount',
        header: t('trace.amount'),
        value: ({ value }) => value,
        isNumber: true,
        cell: ({ value }) => <span className="number">{amountText(value)}</span>,
      },
      {
        id: 'asset',
        header: t('trace.asset'),
        value: ({ asset }) => asset,
        hasFilter: true,
        cell: ({ asset }) => <Name text={asset} />,
      },
      {
        id: 'usd',
        header: 'USD',
        value: ({ usd }) => usd,
        isNumber: true,
        cell: ({ usd }) => <Money usd={usd} />,
      },
      {
        id: 'transfers',
        header: t('exposure.transfers'),
        value: ({ transfers }) => transfers,
        isNumber: true,
      },
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
      {
        id: 'note',
        header: t('trace.note'),
        value: ({ id }) => notes.get(id) ?? null,
        cell: ({ id }) => <Name text={notes.get(id) ?? ''} />,
      },
    ];
  }, [t, nodes, notes, chain, branches]);
  return (
    <DataTable
      id="edges"
      caption={t('trace.transfers')}
      columns={columns}
      rows={rows}
      rowKey={edgeKey}
      onOpen={onEdge}
      empty={<Empty title={t(edges.size === 0 ? 'trace.none' : 'trace.noneKept')} />}
    />
  );
}

function Nodes({ picture, onNode }: Pick<TablesProps, 'picture' | 'onNode'>): ReactNode {
  const { t, word } = useI18n();
  const { nodes, notes, chain, branches, shown } = picture;
  const rows = useMemo(() => [...nodes.values()], [nodes]);
  const columns = useMemo(
    (): readonly Column<TraceNode>[] => [
      {
        id: 'column',
        header: t('trace.hop'),
        value: ({ id }) => branches.get(id)?.column ?? 0,
        isNumber: true,
      },
      {
        id: 'address',
        header: t('addresses.address'),
        value: ({ id }) => id,
        cell: ({ id }) => <Address address={id} chain={chain} />,
      },
      {
        id: 'name',
        header: t('addresses.name'),
        value: ({ name }) => name,
        cell: ({ name, sanctioned }) => (
          <>
            {name === null ? (
              <span className="not-known">{t('addresses.noLabel')}</span>
            ) : (
              <Name text={name} />
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
        id: 'stop',
        header: t('trace.ended'),
        value: ({ stop }) => (stop === null ? null : word('traceStop', stop)),
        hasFilter: true,
      },
      {
        id: 'drawn',
        header: t('trace.drawn'),
        value: ({ id }) => t(shown.has(id) ? 'trace.drawnYes' : 'trace.drawnNo'),
        hasFilter: true,
        isHidden: true,
      },
      {
        id: 'note',
        header: t('trace.note'),
        value: ({ id }) => notes.get(id) ?? null,
        cell: ({ id }) => <Name text={notes.get(id) ?? ''} />,
      },
    ],
    [t, word, notes, chain, branches, shown],
  );
  return (
    <DataTable
      id="nodes"
      caption={t('trace.addresses')}
      columns={columns}
      rows={rows}
      rowKey={nodeKey}
      onOpen={({ id }) => onNode(id)}
    />
  );
}
