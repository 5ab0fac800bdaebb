/** `/screening/{chain}/{address}`: screens the address, and shows the report. */
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { queries } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Address, shorten } from '../../ui/Address.tsx';
import { useFocusWhileAsking } from '../../ui/focus.ts';
import { Page } from '../../ui/Page.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { Actions } from './Actions.tsx';
import { type Options, optionsIn, renewScreening, screeningQuery } from './ask.ts';
import { OptionsForm } from './Options.tsx';
import { Report } from './Report.tsx';
import { Outdated } from './Verdict.tsx';

/** The page. */
export function ScreeningPage(): ReactNode {
  const { t } = useI18n();
  const { chain, address } = useParams({ from: `/inside${PATHS.screening}` });
  const [search] = useUrlState();
  const options = optionsIn(search);
  // To keep an answer is chosen for one screening: other options or another address begin without it.
  const [savedOf, setSavedOf] = useState('');
  const subject = JSON.stringify([chain, address, options]);
  const withSave = (save: boolean): Options => ({ ...options, ...(save ? { save: true } : {}) });
  const again = (save: boolean): void => {
    setSavedOf(save ? subject : '');
    renewScreening(chain, address, withSave(save));
    void queries.resetQueries({
      queryKey: screeningQuery(chain, address, withSave(save)).queryKey,
      exact: true,
    });
  };
  const answer = useQuery(screeningQuery(chain, address, withSave(savedOf === subject)));
  const data = answer.data?.data;
  useFocusWhileAsking(answer.isPending);
  const remaining = answer.data?.credits?.remaining;
  return (
    <Page
      title={`${t('screening.title')} ${shorten(address)}`}
      heading={<Address address={data?.address ?? address} chain={chain} isFull isLink={false} />}
      actions={
        data === undefined ? undefined : (
          <Actions data={data} onAgain={() => again(false)} onSave={() => again(true)} />
        )
      }
    >
      <OptionsForm key={`${chain} ${address}`} chain={chain} address={address} />
      {answer.isPending ? (
        <div className="section">
          <Loading lines={8} />
        </div>
      ) : null}
      {answer.error === null ? null : <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {data?.screeningId === undefined ? null : (
        <p className="note only-screen" role="status">
          {t('saved.done')}{' '}
          <Link to={PATHS.savedOne} params={{ id: data.screeningId }}>
            {t('saved.open')}
          </Link>
        </p>
      )}
      {data === undefined ? null : <Outdated key={data.screenedAt} data={data} />}
      {data === undefined ? null : <Report data={data} />}
      {remaining === undefined ? null : (
        <p className="muted only-screen">{t('screening.credits', { count: remaining })}</p>
      )}
    </Page>
  );
}
