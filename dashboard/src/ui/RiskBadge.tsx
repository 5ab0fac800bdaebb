/** Levels of risk: a colour, a shape and a word, so that none of them is needed alone. */
import type { ReactNode } from 'react';
import { useI18n } from '../i18n/index.tsx';

export type RiskLevel = 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL' | 'UNKNOWN';

/** Circle, triangle, diamond, octagon, and a broken circle for what is not known. */
export const RISK_SHAPES: Readonly<Record<RiskLevel, ReactNode>> = {
  LOW: <circle cx="8" cy="8" r="5" />,
  MEDIUM: <path d="M8 2.5 14 13H2z" />,
  HIGH: <path d="M8 1.5 14.5 8 8 14.5 1.5 8z" />,
  CRITICAL: <path d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3z" />,
  UNKNOWN: <circle cx="8" cy="8" r="5" className="hollow" />,
};

const isLevel = (text: string): text is RiskLevel => Object.hasOwn(RISK_SHAPES, text);

/** Returns the shape of a level: SAFE has that of LOW, and any other text that of UNKNOWN. */
export function riskShape(level: string): RiskLevel {
  if (level === 'SAFE') return 'LOW';
  return isLevel(level) ? level : 'UNKNOWN';
}

interface RiskBadgeProps {
  /** A level of the API; SAFE counts as LOW, null and any other text as UNKNOWN. */
  readonly level: string | null;
  /** 0 to 100; shown beside the word. */
  readonly score?: number;
  readonly isLarge?: boolean;
}

/** The badge of a level of risk. */
export function RiskBadge({ level, score, isLarge = false }: RiskBadgeProps): ReactNode {
  const { word } = useI18n();
  const text = level ?? 'UNKNOWN';
  const shape = riskShape(text);
  return (
    <span className={`risk risk-${shape.toLowerCase()}${isLarge ? ' is-large' : ''}`}>
      <svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true" focusable="false">
        {RISK_SHAPES[shape]}
      </svg>
      {word('risk', text)}
      {score === undefined ? null : <span className="score">{score}</span>}
    </span>
  );
}
