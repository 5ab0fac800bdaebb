/** Statements of sources about the address itself: sanctions, labels, contradictions, and the other reasons. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Source } from '../../ui/Source.tsx';
import { Empty } from '../../ui/states.tsx';
import { Name, Percent, ServerText, Time } from '../../ui/values.tsx';
import { useRole } from '../manage/parts.tsx';
import type { Screening } from './ask.ts';
import { ReportLabel } from './ReportLabel.tsx';

type Entry = NonNullable<Screening['sanctionsCheck']>['lists'][number];
type Label = NonNullable<Screening['entityLabels']>[number];
type Reason = Screening['reasons'][number];

const entryKey = (entry: Entry, index: number): string => `${entry.list} ${entry.entityId} ${index}`;
const labelKey = (label: Label, index: number): string => `${label.source} ${label.entityId} ${index}`;
const reasonKey = (reason: Reason, index: number): string => `${reason.code} ${index}`;

function Sanctions({ entries }: { readonly entries: readonly Entry[] }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Entry>[] => [
      {
        id: 'list',
        header: t('home.list'),
        value: ({ list }) => list,
        cell: ({ list }) => <strong>{list}</strong>,
      },
      {
        id: 'name',
        header: t('addresses.name'),
        value: ({ entityName }) => entityName,
        cell: ({ entityName }) => <Name text={entityName} />,
      },
      { id: 'program', header: t('sanctions.program'), value: ({ program }) => program },
      {
        id: 'match',
        header: t('sanctions.match'),
        value: ({ matchType }) => word('match', matchType),
      },
      {
        id: 'listed',
        header: t('sanctions.listed'),
        value: ({ listedAt }) => listedAt,
        cell: ({ listedAt, listedAtBasis }) => (
          <span title={word('basis', listedAtBasis)}>
            <Time iso={listedAt} />
          </span>
        ),
      },
      {
        id: 'force',
        header: t('home.state'),
        value: ({ delistedAt }) => delistedAt ?? '',
        cell: ({ delistedAt }) =>
          delistedAt === null ? t('sanctions.inForce') : t('sanctions.delisted', { date: delistedAt }),
      },
      {
        id: 'source',
        header: t('label.source'),
        value: ({ authority }) => authority,
        cell: ({ authority, sourceUrl }) => <Source name={authority} url={sourceUrl} />,
      },
    ],
    [t, word],
  );
  return (
    <DataTable
      id="sanctions"
      caption={t('sanctions.title')}
      columns={columns}
      rows={entries}
      rowKey={entryKey}
      hasControls={false}
    />
  );
}

interface LabelsProps {
  readonly labels: readonly Label[];
  readonly chain: string;
  readonly address: string;
}

function Labels({ labels, chain, address }: LabelsProps): ReactNode {
  const { t, word } = useI18n();
  const mayReport = useRole() !== 'auditor';
  const columns = useMemo(
    (): readonly Column<Label>[] => [
      {
        id: 'name',
        header: t('addresses.name'),
        value: ({ name }) => name,
        cell: ({ name, verified }) => (
          <>
            <Name text={name} />
            {verified ? null : <span className="tag">{t('label.notVerified')}</span>}
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
        value: ({ threatLevel }) => word('risk', threatLevel),
        cell: ({ threatLevel }) => <RiskBadge level={threatLevel} />,
      },
      {
        id: 'source',
        header: t('label.source'),
        value: ({ source }) => source,
        cell: ({ source, sourceUrl }) => <Source name={source} url={sourceUrl} />,
      },
      {
        id: 'date',
        header: t('label.date'),
        // A source that gives only the first day has confirmed the label on that day.
        value: ({ firstSeen, lastSeen }) => lastSeen ?? firstSeen,
        cell: ({ firstSeen, lastSeen }) => <Time iso={lastSeen ?? firstSeen} />,
      },
      { id: 'class', header: t('label.class'), value: (row) => word('class', row.class) },
      {
        id: 'confidence',
        header: t('label.confidence'),
        value: ({ confidence }) => confidence,
        isNumber: true,
        cell: ({ confidence }) => <Percent value={confidence * 100} />,
      },
      {
        id: 'jurisdiction',
        header: t('label.jurisdiction'),
        value: ({ jurisdiction }) => jurisdiction,
        isHidden: true,
      },
      { id: 'tags', header: t('label.tags'), value: ({ tags }) => tags.join(', '), isHidden: true },
      ...(mayReport
        ? [
            {
              id: 'report',
              header: t('home.action'),
              value: () => null,
              cell: (label: Label) => (
                <span className="only-screen">
                  <ReportLabel chain={chain} address={address} label={label} />
                </span>
              ),
            },
          ]
        : []),
    ],
    [t, word, mayReport, chain, address],
  );
  return (
    <DataTable
      id="evidence"
      caption={t('label.title')}
      columns={columns}
      rows={labels}
      rowKey={labelKey}
      empty={<Empty title={t('label.none')}>{t('label.noneHelp')}</Empty>}
    />
  );
}

/** Shows the evidence. */
export function Evidence({ data }: { readonly data: Screening }): ReactNode {
  const { t, word } = useI18n();
  const entries = data.sanctionsCheck?.lists ?? [];
  const conflicts = data.labelConflicts ?? [];
  const columns = useMemo(
    (): readonly Column<Reason>[] => [
      {
        id: 'severity',
        header: t('score.severity'),
        value: ({ severity }) => word('risk', severity),
        cell: ({ severity }) => <RiskBadge level={severity} />,
      },
      { id: 'reason', header: t('home.reason'), value: ({ code }) => word('reason', code) },
      {
        id: 'message',
        header: t('score.message'),
        value: ({ message }) => message,
        cell: ({ message }) => <ServerText text={message} />,
      },
      { id: 'source', header: t('label.source'), value: ({ source }) => source },
    ],
    [t, word],
  );
  return (
    <>
      {entries.length === 0 ? null : (
        <Section title={t('sanctions.title')}>
          <Sanctions entries={entries} />
        </Section>
      )}
      <Section title={t('label.title')} note={t('label.note')}>
        <Labels labels={data.entityLabels ?? []} chain={data.chain} address={data.address} />
        {conflicts.map(({ message }) => (
          <p key={message} className="warning-line">
            {t('label.conflict')} <ServerText text={message} />
          </p>
        ))}
      </Section>
      {data.reasons.length === 0 ? null : (
        <Section title={t('score.reasons')}>
          <DataTable
            id="reasons"
            caption={t('score.reasons')}
            columns={columns}
            rows={data.reasons}
            rowKey={reasonKey}
            hasControls={false}
          />
        </Section>
      )}
    </>
  );
}
