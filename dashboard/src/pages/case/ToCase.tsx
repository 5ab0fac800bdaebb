/** Actions of a page on its subject: open a case, or add it to a case that is not closed. */
import { Dialog } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { call } from '../../api/client.ts';
import { newKey } from '../../api/repeat-key.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { Choice } from '../../ui/Field.tsx';
import { plainText } from '../../ui/plain-text.ts';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { type NewLink, useAddToCase, useOpenCase } from './open.ts';

/** Cases of the choice: the largest page of the API. */
const CASES_MAX = 100;

interface ToCaseProps {
  /** Title of a new case. */
  readonly title: string;
  /** Describes in a sentence the content that a case would keep. */
  readonly help: string;
  /** Called when the person decides: an answer may be large. */
  readonly links: () => readonly NewLink[];
}

/** The two buttons. */
export function ToCase({ title, help, links }: ToCaseProps): ReactNode {
  const { t } = useI18n();
  const openCase = useOpenCase();
  return (
    <>
      <Confirm
        label={t('cases.open')}
        title={t('cases.openTitle')}
        text={help}
        done={t('cases.openDone')}
        error={openCase.error}
        isBusy={openCase.isPending}
        isDone={openCase.isSuccess}
        onOpen={openCase.reset}
        onConfirm={() => openCase.mutate({ title, links: [...links()] })}
      />
      <AddToCase help={help} links={links} />
    </>
  );
}

/** The button that adds links to a case that the person chooses. */
export function AddToCase({ help, links }: Omit<ToCaseProps, 'title'>): ReactNode {
  const { t } = useI18n();
  const [isOpen, setOpen] = useState(false);
  return (
    <Dialog.Root open={isOpen} onOpenChange={setOpen}>
      <Dialog.Trigger render={<Button />}>{t('cases.addTo')}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{t('cases.addToTitle')}</Dialog.Title>
          <Dialog.Description>{help}</Dialog.Description>
          <ChooseCase links={links} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function ChooseCase({ links }: Pick<ToCaseProps, 'links'>): ReactNode {
  const { t } = useI18n();
  const [attemptKey] = useState(newKey);
  const [chosen, setChosen] = useState('');
  const add = useAddToCase();
  const answer = useQuery({
    queryKey: ['cases', 'not closed'],
    queryFn: ({ signal }) =>
      call('get', '/cases', {
        query: { status: ['OPEN', 'IN_REVIEW', 'ESCALATED'], limit: CASES_MAX },
        signal,
      }),
  });
  const cases = answer.data?.cases ?? [];
  const caseId = cases.some(({ id }) => id === chosen) ? chosen : (cases[0]?.id ?? '');
  return (
    <>
      {answer.isPending ? <Loading lines={2} /> : null}
      {answer.error === null ? null : <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.data !== undefined && cases.length === 0 ? <Empty title={t('cases.noneOpen')} /> : null}
      {cases.length === 0 ? null : (
        <Choice
          label={t('cases.one')}
          value={caseId}
          options={cases.map(({ id, number, title }) => ({
            value: id,
            label: `#${number} ${plainText(title)}`,
          }))}
          onChange={setChosen}
        />
      )}
      {answer.data?.hasMore === true ? (
        <p className="muted">{t('cases.newest', { count: CASES_MAX })}</p>
      ) : null}
      {add.error === null ? null : <Failure error={add.error} />}
      <div className="actions is-end">
        <Dialog.Close render={<Button />}>{t('ui.cancel')}</Dialog.Close>
        {cases.length === 0 ? null : (
          <Button
            kind="primary"
            isBusy={add.isPending}
            onClick={() => add.mutate({ caseId, links: links(), attemptKey })}
          >
            {t('cases.addTo')}
          </Button>
        )}
      </div>
    </>
  );
}
