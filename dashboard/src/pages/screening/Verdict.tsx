/** The verdict: level, score, one sentence, and what qualifies it. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { readyQuery } from '../../api/ready.ts';
import { useI18n } from '../../i18n/index.tsx';
import { plainText } from '../../ui/plain-text.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Name, ServerText, Time } from '../../ui/values.tsx';
import type { Screening } from './ask.ts';
import { isOutdated, shownLevel, verdictSentence } from './verdict.ts';

/** Reasons that say what the verdict does not know. They never add points. */
const QUALIFYING: ReadonlySet<string> = new Set([
  'STALE_OR_MISSING_DATA',
  'GRAPH_NOT_READ',
  'HUB_NOT_FOLLOWED',
  'WALK_CUT',
  'NOT_ASSESSED',
]);

/** Says that the data has changed since the answer, which a tab shows again for a day. */
export function Outdated({ data }: { readonly data: Screening }): ReactNode {
  const { t } = useI18n();
  // A state from before the answer would differ from it too.
  const { data: ready, isFetchedAfterMount } = useQuery({ ...readyQuery, refetchOnMount: 'always' });
  if (ready === undefined || !isFetchedAfterMount || !isOutdated(data, ready)) return null;
  return (
    <p className="warning-line" role="status">
      {t('screening.outdated')}
    </p>
  );
}

/** Shows the verdict. */
export function Verdict({ data }: { readonly data: Screening }): ReactNode {
  const i18n = useI18n();
  const { t, word } = i18n;
  const level = shownLevel(data);
  const qualifying = data.reasons.filter(({ code }) => QUALIFYING.has(code));
  return (
    <section className={`verdict section verdict-${level.toLowerCase()}`} aria-label={t('screening.verdict')}>
      <div className="verdict-line">
        <RiskBadge level={level} isLarge {...(level === 'UNKNOWN' ? {} : { score: data.riskScore })} />
        <p className="verdict-sentence">
          <bdi>{plainText(verdictSentence(data, i18n))}</bdi>
        </p>
      </div>
      {qualifying.length === 0 ? null : (
        <ul className="qualifications">
          {qualifying.map(({ code, message }) => (
            <li key={`${code} ${message}`}>
              <span className="tag is-warning">{word('reason', code)}</span> <ServerText text={message} />
            </li>
          ))}
        </ul>
      )}
      <dl className="facts">
        {data.entity ? (
          <div>
            <dt>{t('screening.entity')}</dt>
            <dd>
              <Name text={data.entity.name} />
            </dd>
          </div>
        ) : null}
        {data.entity ? (
          <div>
            <dt>{t('label.category')}</dt>
            <dd>{word('category', data.entity.category)}</dd>
          </div>
        ) : null}
        <div>
          <dt>{t('screening.asOf')}</dt>
          <dd>{data.asOf === null ? <Time iso={data.screenedAt} /> : <Time iso={data.asOf} />}</dd>
        </div>
        <div>
          <dt>{t('screening.versions')}</dt>
          <dd>
            <code>{data.dataVersion}</code> · <code>{data.policyVersion}</code>
          </dd>
        </div>
      </dl>
    </section>
  );
}
