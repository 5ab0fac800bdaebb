/** Reports a label to the operators of the service: the button beside the label, and its dialog. */
import { Dialog } from '@base-ui/react/dialog';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useId } from 'react';
import { call } from '../../api/client.ts';
import { keepDraft, useDraft } from '../../api/drafts.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Button } from '../../ui/Button.tsx';
import { plainText } from '../../ui/plain-text.ts';
import { Failure } from '../../ui/states.tsx';
import { Name } from '../../ui/values.tsx';
import { REASON_CHARS_MAX } from '../reports/list.ts';

/** Names of labels may have 10 kB; a screen reader says the beginning. */
const SPOKEN_CHARS_MAX = 60;

interface ReportLabelProps {
  readonly chain: string;
  readonly address: string;
  readonly label: { readonly name: string; readonly source: string };
}

/** The button with its dialog. */
export function ReportLabel({ chain, address, label }: ReportLabelProps): ReactNode {
  const { t } = useI18n();
  const spoken = plainText(label.name).slice(0, SPOKEN_CHARS_MAX);
  return (
    <Dialog.Root>
      <Dialog.Trigger render={<Button kind="quiet" aria-label={`${t('label.report')}: ${spoken}`} />}>
        {t('label.report')}
      </Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{t('label.reportTitle')}</Dialog.Title>
          <Dialog.Description>{t('label.reportHelp')}</Dialog.Description>
          <p>
            <Name text={label.name} /> · {label.source}
          </p>
          <ReportForm chain={chain} address={address} source={label.source} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface ReportFormProps {
  readonly chain: string;
  readonly address: string;
  readonly source: string;
}

function ReportForm({ chain, address, source }: ReportFormProps): ReactNode {
  const { t } = useI18n();
  const id = useId();
  const client = useQueryClient();
  const place = `label ${chain} ${address} ${source}`;
  const [reason, setReason] = useDraft(place);
  const file = useMutation({
    mutationFn: () =>
      call('post', '/address/{chain}/{address}/reports', {
        path: { chain, address },
        body: { reason, source },
      }),
    onSuccess: () => {
      keepDraft(place, '');
      return client.invalidateQueries({ queryKey: ['label reports'] });
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!file.isPending && reason.trim() !== '') file.mutate();
  };
  if (file.data !== undefined)
    return (
      <>
        <p className="note" role="status">
          {t(file.data.isNew ? 'label.reported' : 'label.reportedBefore')}{' '}
          <Link to={PATHS.reports}>{t('reports.title')}</Link>
        </p>
        <div className="actions is-end">
          <Dialog.Close render={<Button />}>{t('ui.close')}</Dialog.Close>
        </div>
      </>
    );
  return (
    <form className="form" onSubmit={submit}>
      <div className="field">
        <label htmlFor={id}>{t('label.reportReason')}</label>
        <textarea
          dir="auto"
          id={id}
          rows={4}
          required
          maxLength={REASON_CHARS_MAX}
          value={reason}
          // A reason is one paragraph: the API refuses line breaks.
          onChange={(event) => setReason(event.target.value.replaceAll('\n', ' '))}
        />
      </div>
      {file.error === null ? null : <Failure error={file.error} />}
      <div className="actions is-end">
        <Dialog.Close render={<Button />}>{t('ui.cancel')}</Dialog.Close>
        <Button type="submit" kind="primary" isBusy={file.isPending}>
          {t('label.reportSend')}
        </Button>
      </div>
    </form>
  );
}
