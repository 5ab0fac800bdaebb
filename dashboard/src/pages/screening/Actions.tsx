/** Actions on a screening: screen again, open a case, watch the address, print the report. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { chainOf, shorten } from '../../ui/Address.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { isKeepable, type NewLink } from '../case/open.ts';
import { ToCase } from '../case/ToCase.tsx';
import { titleText } from '../case/title.ts';
import { CREDITS } from '../trace/answer.ts';
import type { Screening } from './ask.ts';

interface ActionsProps {
  readonly data: Screening;
  readonly onAgain: () => void;
  /** Screens again, and keeps the answer. */
  readonly onSave: () => void;
}

/** A name for the address: that of its owner, if it is known. */
const titleOf = ({ entity, chain, address }: Screening): string =>
  titleText(
    `${entity === null || entity === undefined ? '' : `${entity.name}, `}${chain} ${shorten(address)}`,
    'end',
  );

/** Returns the link of a case to a screening: to the kept one, or with the answer as it is now, unless it is larger than a case keeps. */
function linkOf(data: Screening): NewLink {
  const { address, chain, screeningId } = data;
  if (screeningId !== undefined) return { type: 'SCREENING', id: screeningId };
  return isKeepable(data) ? { type: 'SCREENING', answer: data } : { type: 'ADDRESS', address, chain };
}

/** The buttons. */
export function Actions({ data, onAgain, onSave }: ActionsProps): ReactNode {
  const { t } = useI18n();
  const { address, chain } = data;
  return (
    <>
      <Link className="button plain" to={PATHS.trace} params={{ chain, address }}>
        {t('screening.trace', { credits: CREDITS.graph })}
      </Link>
      <Confirm
        label={t('screening.again')}
        title={t('screening.againTitle')}
        text={t('screening.againHelp')}
        onConfirm={onAgain}
      />
      <Confirm
        label={t('screening.save')}
        title={t('screening.saveTitle')}
        text={t('screening.saveHelp')}
        onConfirm={onSave}
      />
      <ToCase title={titleOf(data)} help={t('screening.caseHelp')} links={() => [linkOf(data)]} />
      {chainOf(chain)?.monitored === true ? (
        <Link
          to={PATHS.wallets}
          search={{ chain, address, label: titleOf(data) } as never}
          className="button plain"
        >
          {t('screening.watch')}
        </Link>
      ) : null}
      <Button icon="print" onClick={() => window.print()}>
        {t('screening.print')}
      </Button>
    </>
  );
}
