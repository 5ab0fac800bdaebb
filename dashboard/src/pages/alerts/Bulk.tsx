/** Actions on several alerts at once. */

import { type FormEvent, type ReactNode, useState } from 'react';
import { ALERT_STATUSES } from '../../api/choices.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { Failure } from '../../ui/states.tsx';
import { AddToCase } from '../case/ToCase.tsx';
import type { AlertChange, Progress } from './actions.ts';
import { ASSIGNEE_CHARS_MAX, NOTE_CHARS_MAX } from './Details.tsx';
import type { Alert } from './inbox.ts';

/** Links of a new case (`CaseBody`). */
export const CASE_LINKS_MAX = 20;

interface BulkProps {
  readonly ids: readonly string[];
  readonly isBusy: boolean;
  readonly onChange: (change: AlertChange) => void;
  readonly onCase: () => void;
  /** Saves the alerts as a file. */
  readonly onSave: () => void;
  readonly onClear: () => void;
}

/** The form for the selected alerts. */
export function Bulk({ ids, isBusy, onChange, onCase, onSave, onClear }: BulkProps): ReactNode {
  const { t, word } = useI18n();
  const count = ids.length;
  const [status, setStatus] = useState('');
  const [assignee, setAssignee] = useState('');
  const [note, setNote] = useState('');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const change = {
      ...(status === '' ? {} : { status: status as Alert['status'] }),
      ...(assignee.trim() === '' ? {} : { assignee: assignee.trim() }),
      ...(note.trim() === '' ? {} : { note }),
    };
    if (Object.keys(change).length > 0) onChange(change);
  };
  return (
    <form className="section inline-form bulk" onSubmit={submit} aria-label={t('alerts.bulk')}>
      <p className="bulk-count">{t('alerts.selected', { count })}</p>
      <Choice
        label={t('alerts.status')}
        value={status}
        options={[
          { value: '', label: t('alerts.keep') },
          ...ALERT_STATUSES.map((value) => ({ value, label: word('alertStatus', value) })),
        ]}
        onChange={setStatus}
      />
      <Field
        label={t('alerts.assignee')}
        value={assignee}
        maxLength={ASSIGNEE_CHARS_MAX}
        autoComplete="off"
        onChange={(event) => setAssignee(event.target.value)}
      />
      <Field
        label={t('alerts.note')}
        value={note}
        maxLength={NOTE_CHARS_MAX}
        autoComplete="off"
        onChange={(event) => setNote(event.target.value)}
      />
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {t('alerts.apply')}
      </Button>
      {count <= CASE_LINKS_MAX ? (
        <>
          <Button isBusy={isBusy} onClick={onCase}>
            {t('alerts.case')}
          </Button>
          <AddToCase help={t('alerts.caseHelp')} links={() => ids.map((id) => ({ type: 'ALERT', id }))} />
        </>
      ) : null}
      <Button kind="quiet" icon="download" onClick={onSave}>
        CSV
      </Button>
      <Button kind="quiet" onClick={onClear}>
        {t('alerts.clear')}
      </Button>
    </form>
  );
}

/** Says how far a change of several alerts is, why it waits, and what failed. */
export function ChangeProgress({ progress }: { readonly progress: Progress | null }): ReactNode {
  const { t } = useI18n();
  const { done = 0, total = 0, waitSeconds = null, errors = [] } = progress ?? {};
  const isRunning = done < total;
  return (
    <>
      <p role="status" className={total > 1 || waitSeconds !== null ? 'note' : 'visually-hidden'}>
        {progress === null
          ? ''
          : t(isRunning ? 'alerts.changing' : 'alerts.changed', { done: done - errors.length, total })}
        {waitSeconds === null ? '' : ` ${t('alerts.waiting', { seconds: waitSeconds })}`}
      </p>
      {errors[0] === undefined ? null : <Failure error={errors[0]} />}
    </>
  );
}
