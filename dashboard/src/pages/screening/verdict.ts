/** The verdict in one sentence, from the facts of the answer only. */
import type { Ready } from '../../api/ready.ts';
import type { I18n } from '../../i18n/index.tsx';
import type { Screening } from './ask.ts';

type Factor = NonNullable<Screening['scoreBreakdown']>[number];

/** Whether a list that every clean answer needs is missing or out of date. */
const isIncomplete = ({ reasons }: Screening): boolean =>
  reasons.some(({ code }) => code === 'STALE_OR_MISSING_DATA');

/**
 * The level to show. If nothing is known, or nothing was found in data that is incomplete, it is not known: a low level would look like a
 * clean result.
 */
export function shownLevel(data: Screening): string {
  const { assessed, sanctioned, riskLevel } = data;
  if (sanctioned) return riskLevel;
  if (!assessed) return 'UNKNOWN';
  return riskLevel === 'LOW' && isIncomplete(data) ? 'UNKNOWN' : riskLevel;
}

/** Returns the factor with the most points; null if none raises the score. */
function mainFactor(factors: readonly Factor[]): Factor | null {
  const [first] = factors.filter(({ points }) => points > 0).toSorted((a, b) => b.points - a.points);
  return first ?? null;
}

/** Says what contributes most. */
function because(factor: Factor, { t, word, percent }: I18n): string {
  const category = word('category', factor.category);
  if (factor.factor === 'OWN_LABEL') return t('verdict.ownLabel', { category });
  const share = percent(factor.percentage);
  const kind = factor.hops > 1 ? 'indirect' : 'direct';
  return t(`verdict.${kind}`, { category, share, direction: factor.direction, hops: factor.hops });
}

/** Returns the sentence. */
export function verdictSentence(data: Screening, i18n: I18n): string {
  const { t, list, word } = i18n;
  const entries = (data.sanctionsCheck?.lists ?? []).filter(({ delistedAt }) => delistedAt === null);
  if (data.sanctioned) {
    const lists = [...new Set(entries.map((entry) => entry.list))];
    const names = [...new Set(entries.map((entry) => entry.entityName))];
    return t('verdict.sanctioned', { lists: list(lists), names: list(names.slice(0, 2)) });
  }
  if (!data.assessed) return t('verdict.notAssessed');
  const factor = mainFactor(data.scoreBreakdown ?? []);
  if (shownLevel(data) === 'UNKNOWN')
    return factor === null ? t('verdict.incomplete') : `${t('verdict.incomplete')} ${because(factor, i18n)}`;
  const level = t('verdict.level', { level: data.riskLevel, word: word('risk', data.riskLevel) });
  if (factor !== null) return `${level} ${because(factor, i18n)}`;
  return `${level} ${t(data.coverage.graph.status === 'NONE' ? 'verdict.labelsOnly' : 'verdict.nothingFound')}`;
}

/** Whether the answer rests on labels that were replaced since, or on lists that are out of date now: it is kept for a day. */
export function isOutdated(data: Screening, { snapshot, lists }: Pick<Ready, 'snapshot' | 'lists'>): boolean {
  if (snapshot !== null && snapshot.dataVersion !== data.dataVersion) return true;
  return data.asOf === null && !isIncomplete(data) && lists.some(({ stale }) => stale);
}
