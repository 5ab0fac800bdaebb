/** Parts of the pages for operators. */
import type { ReactNode } from 'react';
import type { DataOf } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { NotKnown } from '../../ui/values.tsx';

export type OperatorStatus = DataOf<'/operator/status', 'get'>;
export type OperatorImports = DataOf<'/operator/imports', 'get'>;

/** An operator who watches a repair sees a change within this time. */
export const POLL_MS = 10_000;

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns a function that words a time span of seconds in its largest unit; from two of a unit on, so that the text is exact enough. */
export function useSpan(): (seconds: number) => string {
  const { t } = useI18n();
  return (seconds) => {
    if (seconds < 2 * MINUTE) return t('operator.seconds', { count: Math.round(seconds) });
    if (seconds < 2 * HOUR) return t('status.minutes', { count: Math.floor(seconds / MINUTE) });
    if (seconds < 2 * DAY) return t('status.hours', { count: Math.floor(seconds / HOUR) });
    return t('operator.days', { count: Math.floor(seconds / DAY) });
  };
}

/** A number; null is not known. */
export function Count({ value }: { readonly value: number | null }): ReactNode {
  const { number } = useI18n();
  return value === null ? <NotKnown /> : number(value);
}

/** A pair of a list of facts. */
export function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A state, marked if somebody should act. */
export function State({ word, isGood }: { readonly word: string; readonly isGood: boolean }): ReactNode {
  return <span className={isGood ? 'tag' : 'tag is-warning'}>{word}</span>;
}

/** The last row of a table of which the server sends only the first rows. */
export function LeftOut({ count, columns }: { readonly count: number; readonly columns: number }): ReactNode {
  const { t } = useI18n();
  return (
    <tr>
      <td colSpan={columns}>{t('operator.leftOut', { count })}</td>
    </tr>
  );
}
