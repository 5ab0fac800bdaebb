/** Which lists a name was compared with, how old they are, and which are missing. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { Time } from '../../ui/values.tsx';
import type { NamesAnswer } from './ask.ts';

type Coverage = NamesAnswer['coverage'];
type ListRow = Coverage['sanctions']['lists'][number] & { readonly type: string };

const TYPES = ['sanctions', 'pep', 'adverse_media'] as const;
const rowKey = ({ type, list }: ListRow): string => `${type} ${list}`;

interface CoverageProps {
  readonly coverage: Coverage;
  readonly dataVersion: string;
}

/** Shows the coverage. */
export function NamesCoverage({ coverage, dataVersion }: CoverageProps): ReactNode {
  const { t, word, list: join } = useI18n();
  const rows = TYPES.flatMap((type) => coverage[type].lists.map((list): ListRow => ({ ...list, type })));
  const columns = useMemo(
    (): readonly Column<ListRow>[] => [
      { id: 'list', header: t('home.list'), value: ({ list }) => list },
      {
        id: 'type',
        header: t('names.listType'),
        value: ({ type }) => word('listType', type),
        hasFilter: true,
      },
      { id: 'parties', header: t('names.parties'), value: ({ parties }) => parties, isNumber: true },
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
        id: 'state',
        header: t('home.state'),
        value: ({ stale }) => t(stale ? 'home.state.stale' : 'home.state.current'),
        cell: ({ stale, verified }) => (
          <>
            <span className={stale ? 'tag is-warning' : 'tag'}>
              {t(stale ? 'home.state.stale' : 'home.state.current')}
            </span>{' '}
            {verified ? null : <span className="tag is-warning">{t('label.notVerified')}</span>}
          </>
        ),
      },
    ],
    [t, word],
  );
  return (
    <Section title={t('names.coverage')} note={t('names.coverageNote')}>
      <dl className="facts">
        {TYPES.map((type) => {
          const { status, asOf, missing } = coverage[type];
          return (
            <div key={type}>
              <dt>{word('listType', type)}</dt>
              <dd>
                <span className={status === 'COMPLETE' ? 'tag' : 'tag is-warning'}>
                  {word('status', status)}
                </span>{' '}
                {asOf === null ? null : <Time iso={asOf} />}
              </dd>
              {missing.length === 0 ? null : <dd>{t('names.missing', { lists: join(missing) })}</dd>}
            </div>
          );
        })}
      </dl>
      <DataTable
        id="nameLists"
        caption={t('names.coverage')}
        columns={columns}
        rows={rows}
        rowKey={rowKey}
        hasControls={false}
        empty={<p className="warning-line">{t('names.noLists')}</p>}
      />
      <p className="muted">
        {t('home.version')} <code>{dataVersion}</code>
      </p>
    </Section>
  );
}
