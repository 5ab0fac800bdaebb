/** Explains the shapes, letters and lines that the picture contains. */
import type { ReactNode } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { RISK_SHAPES, type RiskLevel } from '../../ui/RiskBadge.tsx';
import { codeOf, levelOf } from './geometry.ts';
import type { View } from './view.ts';

export interface LegendRow {
  readonly level: RiskLevel;
  readonly code: string;
  readonly category: string;
}

const ORDER: readonly RiskLevel[] = ['CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'UNKNOWN'];

/** Returns one row for each shape with letters that is drawn, danger first. */
export function legendOf({ nodes }: View): readonly LegendRow[] {
  const rows = new Map<string, LegendRow>();
  for (const shown of nodes) {
    const level = levelOf(shown);
    if (level === null || shown.node === null) continue;
    const code = codeOf(shown);
    rows.set(`${level} ${code}`, { level, code, category: shown.node.category });
  }
  return [...rows.values()].sort(
    (a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level) || (a.code < b.code ? -1 : 1),
  );
}

/** Shows the legend. */
export function Legend({ rows }: { readonly rows: readonly LegendRow[] }): ReactNode {
  const { t, word } = useI18n();
  return (
    <details className="trace-legend" open>
      <summary>{t('trace.legend')}</summary>
      <ul>
        {rows.map(({ level, code, category }) => (
          <li key={`${level} ${code}`}>
            <span className={`trace-key risk-${level.toLowerCase()}`}>
              <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
                {RISK_SHAPES[level]}
              </svg>
              {code}
            </span>
            {word('category', category)} <span className="muted">{word('risk', level)}</span>
          </li>
        ))}
        <li className="muted">{t('trace.legendLines')}</li>
        <li className="muted">{t('trace.legendEnd')}</li>
      </ul>
    </details>
  );
}
