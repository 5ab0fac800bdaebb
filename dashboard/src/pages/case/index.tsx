/** `/cases/{id}`: the state of a case, its decision, its history, and everything that it refers to. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Icon } from '../../ui/icons.tsx';
import { Page } from '../../ui/Page.tsx';
import { useIsPrinting } from '../../ui/printing.ts';
import { Failure, Loading } from '../../ui/states.tsx';
import { Name } from '../../ui/values.tsx';
import '../cases/cases.css';
import { Decision } from './Decision.tsx';
import { Files } from './Files.tsx';
import { Links } from './Links.tsx';
import { State } from './State.tsx';
import { TimeLine } from './TimeLine.tsx';
import { type Case, caseQuery } from './use-case.ts';

/** The page. */
export function CasePage(): ReactNode {
  const { t, time } = useI18n();
  const isPrinting = useIsPrinting();
  const { id } = useParams({ from: `/inside${PATHS.case}` });
  const answer = useQuery(caseQuery(id));
  const one = answer.data;
  return (
    <Page
      title={one === undefined ? t('cases.one') : t('cases.heading', { number: one.number })}
      heading={one === undefined ? undefined : <Heading one={one} />}
      actions={
        <>
          <Link to={PATHS.cases} className="button plain">
            {t('cases.title')}
          </Link>
          {one === undefined ? null : (
            <a href={`/api/v1/cases/${one.id}/export`} className="button plain" download>
              <Icon name="download" />
              {t('cases.export')}
            </a>
          )}
        </>
      }
    >
      {answer.isPending ? <Loading lines={8} /> : null}
      {answer.error === null ? null : <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {isPrinting ? (
        <p className="only-print muted">
          {t('cases.printed', { time: time(new Date().toISOString()), url: location.href })}
        </p>
      ) : null}
      {one === undefined ? null : (
        <div className="case-columns">
          <div>
            <State key={one.id} one={one} />
            <TimeLine one={one} />
          </div>
          <div>
            <Decision one={one} />
            <Links one={one} />
            <Files one={one} />
          </div>
        </div>
      )}
    </Page>
  );
}

function Heading({ one }: { readonly one: Case }): ReactNode {
  return (
    <>
      #{one.number} <Name text={one.title} />
    </>
  );
}
