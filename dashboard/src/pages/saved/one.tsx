/** `/saved/{id}`: a kept answer, as it was given. */

import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { call, type Schemas } from '../../api/client.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address, shorten } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { plainLines } from '../../ui/plain-text.ts';
import { RiskBadge } from '../../ui/RiskBadge.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { ToCase } from '../case/ToCase.tsx';
import { titleText } from '../case/title.ts';
import type { Screening } from '../screening/ask.ts';
import { Report } from '../screening/Report.tsx';

/** An answer is stored as it was sent and does not change. */
const NEVER = Number.POSITIVE_INFINITY;

/** The page. */
export function SavedOnePage(): ReactNode {
  const { t } = useI18n();
  const { id } = useParams({ from: `/inside${PATHS.savedOne}` });
  const saved = useQuery({
    queryKey: ['saved', id],
    queryFn: ({ signal }) => call('get', '/screenings/{id}', { path: { id }, signal }),
    staleTime: NEVER,
  });
  const facts = saved.data?.screening;
  const address = facts?.addresses[0] ?? '';
  return (
    <Page
      title={`${t('saved.one')} ${shorten(address)}`}
      heading={
        facts === undefined ? undefined : (
          <Address address={address} chain={facts.chain} isFull isLink={false} />
        )
      }
      actions={
        facts === undefined ? undefined : (
          <>
            <ToCase
              title={titleText(`${facts.chain} ${shorten(address)}`, 'end')}
              help={t('screening.caseHelp')}
              links={() => [{ type: 'SCREENING', id: facts.id }]}
            />
            <Button icon="print" onClick={() => window.print()}>
              {t('screening.print')}
            </Button>
          </>
        )
      }
    >
      {saved.isPending ? <Loading lines={8} /> : null}
      {saved.error === null ? null : <Failure error={saved.error} onRetry={() => void saved.refetch()} />}
      {facts === undefined ? null : <Facts facts={facts} />}
      {facts?.kind === 'SCREENING' ? <Report data={saved.data?.answer as unknown as Screening} /> : null}
      {facts?.kind === 'KYT' ? (
        <Section title={t('saved.answer')}>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must be reachable by keyboard */}
          <pre className="saved-answer" tabIndex={0}>
            {plainLines(JSON.stringify(saved.data?.answer, null, 2))}
          </pre>
        </Section>
      ) : null}
    </Page>
  );
}

function Facts({ facts }: { readonly facts: Schemas['SavedScreening'] }): ReactNode {
  const { t, word } = useI18n();
  return (
    <Section title={t('saved.one')} note={t('saved.oneNote')}>
      <dl className="facts">
        <div>
          <dt>{t('saved.at')}</dt>
          <dd>
            <Time iso={facts.savedAt} />
          </dd>
        </div>
        <div>
          <dt>{t('saved.kind')}</dt>
          <dd>
            {word('savedKind', facts.kind)} {facts.decision}
          </dd>
        </div>
        <div>
          <dt>{t('saved.level')}</dt>
          <dd>
            <RiskBadge level={facts.riskLevel} score={facts.riskScore} />
          </dd>
        </div>
        <div>
          <dt>{t('saved.software')}</dt>
          <dd>{facts.softwareVersion}</dd>
        </div>
        <div>
          <dt>SHA-256</dt>
          <dd>
            <code>{facts.sha256}</code>
          </dd>
        </div>
      </dl>
    </Section>
  );
}
