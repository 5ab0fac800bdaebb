/** How the score adds up: every part with its points, their sum, and the cap. */
import { type ReactNode, useMemo } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Source } from '../../ui/Source.tsx';
import { Empty } from '../../ui/states.tsx';
import { Money, Name, Percent, Time } from '../../ui/values.tsx';
import type { Screening } from './ask.ts';
import { type Basis, basisOf } from './basis.ts';

type Factor = NonNullable<Screening['scoreBreakdown']>[number];

/** The highest score. */
const SCORE_MAX = 100;
/** Names of evidence in a cell; the others are counted. */
const EVIDENCE_SHOWN = 3;

/** A number with its sign. */
const signed = (points: number): string => (points < 0 ? `−${-points}` : `+${points}`);

function useColumns(data: Screening): readonly Column<Factor>[] {
  const { t, word, percent } = useI18n();
  return useMemo(
    () => [
      {
        id: 'points',
        header: t('score.points'),
        value: ({ points }) => points,
        isNumber: true,
        cell: ({ points }) => <strong className="number">{signed(points)}</strong>,
      },
      { id: 'factor', header: t('score.factor'), value: ({ factor }) => word('factor', factor) },
      {
        id: 'category',
        header: t('label.category'),
        value: ({ category }) => word('category', category),
      },
      {
        id: 'direction',
        header: t('exposure.direction'),
        value: ({ direction }) => word('direction', direction),
        cell: ({ direction, riskType }) =>
          riskType === 'OWNERSHIP' ? <NotApplicable /> : word('direction', direction),
      },
      {
        id: 'share',
        header: t('exposure.share'),
        value: ({ percentage }) => percentage,
        isNumber: true,
        cell: ({ percentage, asset, riskType }) =>
          riskType === 'OWNERSHIP' ? (
            <NotApplicable />
          ) : asset === null ? (
            <Percent value={percentage} />
          ) : (
            <span title={t('exposure.ofAsset', { asset })}>
              {percent(percentage)} <bdi>{asset}</bdi>
            </span>
          ),
      },
      {
        id: 'usd',
        header: 'USD',
        value: ({ valueUsd }) => valueUsd,
        isNumber: true,
        cell: ({ valueUsd, riskType }) =>
          riskType === 'OWNERSHIP' ? <NotApplicable /> : <Money usd={valueUsd} />,
      },
      {
        id: 'hops',
        header: t('exposure.hops'),
        value: ({ hops }) => hops,
        isNumber: true,
        cell: ({ hops, riskType }) => (riskType === 'OWNERSHIP' ? <NotApplicable /> : hops),
      },
      { id: 'class', header: t('label.class'), value: (row) => word('class', row.class) },
      {
        id: 'severity',
        header: t('score.severity'),
        value: ({ severity }) => word('risk', severity),
        cell: ({ severity }) => <RiskBadge level={severity} />,
      },
      {
        id: 'evidence',
        header: t('score.evidence'),
        value: ({ evidence }) => evidence.join('; '),
        cell: (factor) => <Evidence bases={basisOf(factor, data)} />,
      },
    ],
    [t, word, percent, data],
  );
}

/** A factor of the address itself has no transfers, and so no share and no value. */
function NotApplicable(): ReactNode {
  const { t } = useI18n();
  return (
    <span className="muted">
      <span aria-hidden="true">–</span>
      <span className="visually-hidden">{t('ui.notApplicable')}</span>
    </span>
  );
}

/** The statements with source, date and confidence. */
function Evidence({ bases }: { readonly bases: readonly Basis[] }): ReactNode {
  const { t } = useI18n();
  const more = bases.length - EVIDENCE_SHOWN;
  return (
    <>
      <ul className="bases">
        {bases.slice(0, EVIDENCE_SHOWN).map(({ text, source, sourceUrl, date, confidence }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two sources may give the same name, and the order is fixed
          <li key={index}>
            <Name text={text} />
            {source === null ? null : (
              <span className="basis muted">
                <Source name={source} url={sourceUrl} />
                {' · '}
                <Time iso={date} />
                {confidence === null ? null : (
                  <>
                    {' · '}
                    <span title={t('label.confidence')}>
                      <span className="visually-hidden">{t('label.confidence')} </span>
                      <Percent value={confidence * 100} />
                    </span>
                  </>
                )}
              </span>
            )}
          </li>
        ))}
      </ul>
      {more > 0 ? <span className="muted"> {t('ui.more', { count: more })}</span> : null}
    </>
  );
}

const factorKey = (_: Factor, index: number): string => String(index);

/** Shows the sum. */
export function Arithmetic({ data }: { readonly data: Screening }): ReactNode {
  const { t } = useI18n();
  const columns = useColumns(data);
  const factors = data.scoreBreakdown ?? [];
  const sum = factors.reduce((total, { points }) => total + points, 0);
  return (
    <Section title={t('score.title')} note={t('score.note')}>
      {factors.length === 0 ? (
        <Empty title={t('score.none')}>
          {t(data.assessed ? 'score.noneAssessed' : 'score.noneNotAssessed')}
        </Empty>
      ) : (
        <DataTable
          id="score"
          caption={t('score.title')}
          columns={columns}
          rows={factors}
          rowKey={factorKey}
          hasControls={false}
          footer={<Sum sum={sum} score={data.riskScore} columns={columns.length} />}
        />
      )}
    </Section>
  );
}

interface SumProps {
  readonly sum: number;
  readonly score: number;
  readonly columns: number;
}

/** The sum of the points and, if it is above the highest score, the cap. */
function Sum({ sum, score, columns }: SumProps): ReactNode {
  const { t } = useI18n();
  const isCapped = sum > SCORE_MAX;
  return (
    <tr>
      <th scope="row" className="is-number">
        {sum}
      </th>
      <td colSpan={columns - 1}>
        {isCapped ? t('score.capped', { sum, score }) : t('score.sum', { score })}
      </td>
    </tr>
  );
}
