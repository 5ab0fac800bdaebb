/** Legal requirements of a country for a verdict like this, and their sources. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { Source } from '../../ui/Source.tsx';
import { Empty } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import type { Screening } from './ask.ts';

type Fact = NonNullable<Screening['legalInterpretation']>['sources'][number];
const factKey = ({ fact }: Fact, index: number): string => `${fact} ${index}`;

/** Shows the legal view. Its texts come from the server, in English. */
export function Legal({ data }: { readonly data: Screening }): ReactNode {
  const { t, language, list, number } = useI18n();
  const view = data.legalInterpretation;
  const columns = useMemo(
    (): readonly Column<Fact>[] => [
      {
        id: 'fact',
        header: t('legal.fact'),
        value: ({ fact }) => fact,
        cell: ({ fact }) => <span lang="en">{fact}</span>,
      },
      {
        id: 'date',
        header: t('label.date'),
        value: ({ date }) => date,
        cell: ({ date }) => <Time iso={date} />,
      },
      {
        id: 'verified',
        header: t('legal.verified'),
        value: ({ verified }) => t(verified ? 'legal.yes' : 'legal.no'),
      },
      {
        id: 'source',
        header: t('label.source'),
        value: ({ sourceUrl }) => sourceUrl,
        cell: ({ sourceUrl }) => <Source name={hostOf(sourceUrl)} url={sourceUrl} />,
      },
    ],
    [t],
  );
  if (view === undefined) return <Empty title={t('legal.none')} />;
  const country =
    new Intl.DisplayNames(language, { type: 'region' }).of(view.jurisdiction) ?? view.jurisdiction;
  const rows: readonly (readonly [string, string | null])[] = [
    [t('legal.assessment'), view.assessment],
    [t('legal.action'), view.recommendedAction],
    [t('legal.regulator'), view.regulator],
    [t('legal.framework'), view.framework.length === 0 ? null : list(view.framework)],
    [t('legal.reportingTo'), view.reportingTo],
    [t('legal.authority'), view.sanctionsAuthority],
  ];
  return (
    <Section
      title={t('legal.title', { country })}
      {...(view.standard === 'FATF' ? { note: t('legal.fatf') } : {})}
    >
      <dl className="legal">
        {rows.map(([label, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              {text === null ? (
                <span className="not-known">{t('ui.notKnown')}</span>
              ) : (
                <span lang="en">{text}</span>
              )}
            </dd>
          </div>
        ))}
        <div>
          <dt>{t('legal.obligations')}</dt>
          <dd>
            <ul className="bullets" lang="en">
              {view.obligations.map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          </dd>
        </div>
        {view.travelRule === null ? null : (
          <div>
            <dt>{t('legal.travelRule')}</dt>
            <dd lang="en">
              {view.travelRule.threshold === null ? '' : `${number(view.travelRule.threshold)} `}
              {view.travelRule.currency}: {view.travelRule.law}
              {view.travelRule.note === null ? '' : `. ${view.travelRule.note}`}
            </dd>
          </div>
        )}
      </dl>
      <DataTable
        id="legal"
        caption={t('legal.sources')}
        columns={columns}
        rows={view.sources}
        rowKey={factKey}
        hasControls={false}
      />
      <p className="muted" lang="en">
        {view.disclaimer}
      </p>
    </Section>
  );
}

/** The host of a source, which says more than a whole URL in a narrow column. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host.replace(/^www\./, '') : url;
}
