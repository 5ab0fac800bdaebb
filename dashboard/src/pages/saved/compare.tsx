/** `/saved/{a}/compare/{b}`: what changed from one kept answer to a later one, and why. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { ServerText, Time } from '../../ui/values.tsx';
import { asOfDay } from './list.tsx';

type Comparison = Schemas['ScreeningComparison'];
type Line = Schemas['ScoreLine'];

const signed = (points: number): string => (points === 0 ? '0' : points < 0 ? `−${-points}` : `+${points}`);
const lineKey = (_: Line, index: number): string => String(index);

/** The page. */
export function SavedComparePage(): ReactNode {
  const { t } = useI18n();
  const { a, b } = useParams({ from: `/inside${PATHS.savedCompare}` });
  const comparison = useQuery({
    queryKey: ['saved', a, b],
    queryFn: ({ signal }) => call('get', '/screenings/{a}/compare/{b}', { path: { a, b }, signal }),
  });
  return (
    <Page title={t('saved.compareTitle')}>
      {comparison.isPending ? <Loading lines={8} /> : null}
      {comparison.error === null ? null : (
        <Failure error={comparison.error} onRetry={() => void comparison.refetch()} />
      )}
      {comparison.data === undefined ? null : <Changes data={comparison.data} />}
    </Page>
  );
}

function Changes({ data }: { readonly data: Comparison }): ReactNode {
  const { t, word } = useI18n();
  return (
    <>
      <Section title={t(data.isChanged ? 'saved.changed' : 'saved.unchanged')}>
        <dl className="facts">
          {(['before', 'after'] as const).map((side) => (
            <div key={side}>
              <dt>
                {t(`saved.${side}`)} (<Time iso={data[side].savedAt} />)
              </dt>
              <dd>
                <RiskBadge level={data[side].riskLevel} score={data[side].riskScore} />{' '}
                {asOfDay(data[side]) === null ? null : (
                  <span className="tag">
                    {t('screening.asOf')} <Time iso={asOfDay(data[side])} />
                  </span>
                )}{' '}
                <Link to={PATHS.savedOne} params={{ id: data[side].id }}>
                  {t('saved.open')}
                </Link>
              </dd>
            </div>
          ))}
        </dl>
        {data.causes.length === 0 ? (
          <Empty title={t('saved.noCause')} />
        ) : (
          <ul className="qualifications">
            {data.causes.map(({ cause, message }) => (
              <li key={cause}>
                <span className="tag">{word('savedCause', cause)}</span> <ServerText text={message} />
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Lines data={data} />
    </>
  );
}

/** The points of each line before and after; the differences add up to that of the score. */
function Lines({ data }: { readonly data: Comparison }): ReactNode {
  const { t, word } = useI18n();
  const columns = useMemo(
    (): readonly Column<Line>[] => [
      {
        id: 'difference',
        header: t('saved.difference'),
        value: ({ difference }) => difference,
        isNumber: true,
        cell: ({ difference }) => <strong className="number">{signed(difference)}</strong>,
      },
      { id: 'before', header: t('saved.before'), value: ({ before }) => before, isNumber: true },
      { id: 'after', header: t('saved.after'), value: ({ after }) => after, isNumber: true },
      { id: 'factor', header: t('score.factor'), value: ({ factor }) => word('factor', factor) },
      {
        id: 'category',
        header: t('label.category'),
        value: ({ category }) => (category === null ? null : word('category', category)),
      },
      {
        id: 'causes',
        header: t('saved.why'),
        value: ({ causes }) => causes.map((cause) => word('savedCause', cause)).join(', '),
      },
    ],
    [t, word],
  );
  const { score } = data;
  const changed = useMemo(() => score.lines.filter(({ difference }) => difference !== 0), [score]);
  const same = score.lines.length - changed.length;
  return (
    <Section
      title={t('saved.points')}
      note={same === 0 || changed.length === 0 ? undefined : t('saved.sameLines', { count: same })}
    >
      <DataTable
        id="lines"
        caption={t('saved.points')}
        columns={columns}
        rows={changed}
        rowKey={lineKey}
        hasControls={false}
        empty={<Empty title={t('saved.samePoints')} />}
        footer={
          <tr>
            <th scope="row" className="is-number">
              {signed(score.difference)}
            </th>
            <td colSpan={columns.length - 1}>
              {t('saved.sum', { before: score.before, after: score.after })}
            </td>
          </tr>
        }
      />
    </Section>
  );
}
