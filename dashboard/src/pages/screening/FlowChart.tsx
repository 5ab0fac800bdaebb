/** Received and sent amounts over time, as SVG, so that it prints and follows the theme. The table below it has the same. */
import { type ReactNode, useMemo, useState } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Choice } from '../../ui/Field.tsx';
import { type Day, greatest, type Measure, type Period, periodsOf } from './flow-periods.ts';

const WIDTH = 720;
const LEFT = 76;
const TOP = 14;
const AXIS = 104;
const BOTTOM = 194;
const HEIGHT = 216;
/** Greatest width of a bar: a few of them must not fill the picture. */
const BAR_MAX = 36;
/** Width of the name of a period, with its distance to the next. */
const NAME_WIDTH = 78;
/** Height of a bar whose amount is not known. */
const UNKNOWN_HEIGHT = 8;

/** Shows the chart. */
export function FlowChart({ daily }: { readonly daily: readonly Day[] }): ReactNode {
  const { t, usd, number } = useI18n();
  const periods = useMemo(() => periodsOf(daily), [daily]);
  const [chosen, setChosen] = useState<Measure>('usd');
  const measure = greatest(periods, 'usd') > 0 ? chosen : 'transfers';
  const most = greatest(periods, measure);
  if (periods.length === 0 || most === 0) return null;
  const shown = measure === 'usd' ? usd(most) : number(most);
  const step = (WIDTH - LEFT) / periods.length;
  const every = Math.max(1, Math.ceil(NAME_WIDTH / step));
  return (
    <>
      {greatest(periods, 'usd') > 0 ? (
        <div className="only-screen flow-measure">
          <Choice
            label={t('flow.measure')}
            value={measure}
            options={[
              { value: 'usd', label: t('flow.usd') },
              { value: 'transfers', label: t('flow.count') },
            ]}
            onChange={(value) => setChosen(value === 'usd' ? 'usd' : 'transfers')}
          />
        </div>
      ) : null}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens, and must be reachable by keyboard */}
      <figure className="flow-chart" aria-label={t('flow.picture')} tabIndex={0}>
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={t('flow.picture')}>
          <g className="flow-scale">
            <line x1={LEFT} x2={WIDTH} y1={TOP} y2={TOP} />
            <line x1={LEFT} x2={WIDTH} y1={BOTTOM} y2={BOTTOM} />
            <line x1={LEFT} x2={WIDTH} y1={AXIS} y2={AXIS} className="is-axis" />
            <text x={LEFT - 8} y={TOP} dy="0.35em" textAnchor="end">
              {shown}
            </text>
            <text x={LEFT - 8} y={BOTTOM} dy="0.35em" textAnchor="end">
              {shown}
            </text>
            <text x={LEFT - 8} y={(TOP + AXIS) / 2} dy="0.35em" textAnchor="end">
              {t('flow.in')}
            </text>
            <text x={LEFT - 8} y={(AXIS + BOTTOM) / 2} dy="0.35em" textAnchor="end">
              {t('flow.out')}
            </text>
          </g>
          {periods.map((period, at) => (
            <Bars
              key={period.name}
              period={period}
              measure={measure}
              most={most}
              middle={LEFT + step * (at + 0.5)}
              width={Math.min(BAR_MAX, step * 0.7)}
              isNamed={at % every === 0}
            />
          ))}
        </svg>
      </figure>
    </>
  );
}

interface BarsProps {
  readonly period: Period;
  readonly measure: Measure;
  readonly most: number;
  readonly middle: number;
  readonly width: number;
  readonly isNamed: boolean;
}

/** Both bars of a period: received above the axis, sent below it. Pixels of the pointer show the figures. */
function Bars({ period, measure, most, middle, width, isNamed }: BarsProps): ReactNode {
  const { t, usd, number } = useI18n();
  const textOf = (value: number | null): string =>
    value === null ? t('ui.notKnown') : measure === 'usd' ? usd(value) : number(value);
  const bar = (side: 'in' | 'out'): ReactNode => {
    const sums = period[side];
    if (sums.transfers === 0) return null;
    const value = sums[measure];
    const length =
      value === null
        ? UNKNOWN_HEIGHT
        : Math.max(1, (value / most) * (side === 'in' ? AXIS - TOP : BOTTOM - AXIS));
    return (
      <rect
        className={`flow-bar is-${side}${value === null ? ' is-unknown' : ''}`}
        x={middle - width / 2}
        y={side === 'in' ? AXIS - length : AXIS}
        width={width}
        height={length}
      >
        <title>{`${period.name} · ${t(side === 'in' ? 'flow.in' : 'flow.out')}: ${textOf(value)}`}</title>
      </rect>
    );
  };
  return (
    <g>
      {bar('in')}
      {bar('out')}
      {isNamed ? (
        <text x={middle} y={HEIGHT - 6} textAnchor="middle" className="flow-name">
          {period.name}
        </text>
      ) : null}
    </g>
  );
}
