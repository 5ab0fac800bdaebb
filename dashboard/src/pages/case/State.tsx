/** The state of a case: status, priority, assignee, due date, and the rule of four eyes. */

import type { FormEvent, ReactNode } from 'react';
import { CASE_STATUSES, PRIORITIES } from '../../api/choices.ts';
import { draftOf, endDraft, keepDraft, useDraft } from '../../api/drafts.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Failure, Stored } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { Who } from '../../ui/Who.tsx';
import { useOwnName } from '../alerts/actions.ts';
import { ASSIGNEE_CHARS_MAX, Due, TITLE_CHARS_MAX } from '../cases/index.tsx';
import {
  changesOf,
  type Edits,
  edited,
  editsIn,
  editsText,
  type Fields,
  fieldsOf,
  overtaken,
  withoutEdits,
} from './edits.ts';
import { type Case, usePatch } from './use-case.ts';

/** Shows the state with the ways to change it. A closed case can only be opened again. */
export function State({ one }: { readonly one: Case }): ReactNode {
  const { t, word } = useI18n();
  const patch = usePatch(one);
  const isClosed = one.status === 'CLOSED';
  return (
    <Section title={t('cases.state')}>
      <dl className="facts is-wide">
        <div>
          <dt>{t('cases.status')}</dt>
          <dd>
            <span className="tag">{word('caseStatus', one.status)}</span>
          </dd>
        </div>
        {/* The form shows these on the screen. */}
        <div className={isClosed ? undefined : 'only-print'}>
          <dt>{t('cases.priority')}</dt>
          <dd>{word('casePriority', one.priority)}</dd>
        </div>
        {one.assignee === null ? null : (
          <div className={isClosed ? undefined : 'only-print'}>
            <dt>{t('cases.assignee')}</dt>
            <dd>
              <Name text={one.assignee} />
            </dd>
          </div>
        )}
        <div>
          <dt>{t('cases.due')}</dt>
          <dd>{one.dueAt === null ? t('cases.noDue') : <Due of={one} />}</dd>
        </div>
        <div>
          <dt>{t('cases.created')}</dt>
          <dd>
            <Time iso={one.createdAt} /> · <Who id={one.createdBy} />
          </dd>
        </div>
        <div>
          <dt>{t('cases.updated')}</dt>
          <dd>
            <Time iso={one.updatedAt} />
          </dd>
        </div>
      </dl>
      {isClosed ? (
        <>
          <p className="muted">{t('cases.closedNote')}</p>
          <div className="actions">
            <Button isBusy={patch.isPending} onClick={() => patch.mutate({ status: 'OPEN' })}>
              {t('cases.reopen')}
            </Button>
          </div>
        </>
      ) : (
        <ChangeForm one={one} isBusy={patch.isPending} onChange={patch.mutateAsync} />
      )}
      <Stored isStored={patch.isSuccess} />
      {patch.error === null ? null : <Failure error={patch.error} />}
    </Section>
  );
}

interface ChangeFormProps {
  readonly one: Case;
  readonly isBusy: boolean;
  readonly onChange: ReturnType<typeof usePatch>['mutateAsync'];
}

function ChangeForm({ one, isBusy, onChange }: ChangeFormProps): ReactNode {
  const { t, word } = useI18n();
  const ownName = useOwnName();
  // What others change meanwhile is shown, except in the fields that the person is changing.
  const place = `state ${one.id}`;
  const [draft, setDraft] = useDraft(place);
  const edits = editsIn(draft);
  const fields: Fields = { ...fieldsOf(one), ...edits.to };
  const set = (change: Partial<Fields>): void => setDraft(editsText(edited(one, edits, change)));
  const changes = changesOf(one, fields);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (Object.keys(changes).length > 0)
      void onChange(changes).then(
        () => endDraft(place, draft),
        () => {},
      );
  };
  const assignMe = (assignee: string): void =>
    void onChange({ assignee }).then(
      () => keepDraft(place, editsText(withoutEdits(editsIn(draftOf(place)), ['assignee']))),
      () => {},
    );
  return (
    <form className="form only-screen" onSubmit={submit}>
      <div className="inline-form">
        <Field
          label={t('cases.caseTitle')}
          value={fields.title}
          required
          maxLength={TITLE_CHARS_MAX}
          onChange={(event) => set({ title: event.target.value })}
        />
      </div>
      <div className="inline-form">
        <Choice
          label={t('cases.status')}
          value={fields.status}
          options={CASE_STATUSES.filter((status) => status !== 'CLOSED').map((value) => ({
            value,
            label: word('caseStatus', value),
          }))}
          onChange={(status) => set({ status: status as Fields['status'] })}
        />
        <Choice
          label={t('cases.priority')}
          value={fields.priority}
          options={PRIORITIES.map((value) => ({ value, label: word('casePriority', value) }))}
          onChange={(priority) => set({ priority: priority as Case['priority'] })}
        />
        <Field
          label={t('cases.due')}
          type="date"
          value={fields.due}
          onChange={(event) => set({ due: event.target.value })}
        />
        <Field
          label={t('cases.assignee')}
          value={fields.assignee}
          maxLength={ASSIGNEE_CHARS_MAX}
          autoComplete="off"
          onChange={(event) => set({ assignee: event.target.value })}
        />
      </div>
      <Overtaken one={one} edits={edits} />
      <div className="actions">
        <Button
          type="submit"
          kind="primary"
          isBusy={isBusy}
          aria-disabled={Object.keys(changes).length === 0}
        >
          {t('cases.save')}
        </Button>
        {draft === '' ? null : (
          <Button kind="quiet" onClick={() => setDraft('')}>
            {t('ui.cancel')}
          </Button>
        )}
        {ownName === null || ownName === one.assignee ? null : (
          <Button isBusy={isBusy} onClick={() => assignMe(ownName)}>
            {t('alerts.assignMe')}
          </Button>
        )}
        {one.fourEyes ? null : (
          <Confirm
            label={t('cases.fourEyesOn')}
            title={t('cases.fourEyesTitle')}
            text={t('cases.fourEyesHelp')}
            isBusy={isBusy}
            onConfirm={() => void onChange({ fourEyes: true }).catch(() => {})}
          />
        )}
      </div>
    </form>
  );
}

/** Says which of the edited fields somebody else has changed, so that saving them is a decision. */
function Overtaken({ one, edits }: { readonly one: Case; readonly edits: Edits }): ReactNode {
  const { t, word } = useI18n();
  const now = fieldsOf(one);
  const texts = {
    ...now,
    status: word('caseStatus', now.status),
    priority: word('casePriority', now.priority),
  };
  const fields = overtaken(one, edits);
  if (fields.length === 0) return null;
  return (
    <div className="warning-line" role="status">
      <p>{t('cases.overtaken')}</p>
      <ul>
        {fields.map((field) => (
          <li key={field}>
            {word('caseField', field === 'due' ? 'dueAt' : field)}:{' '}
            <Name text={texts[field] === '' ? t('cases.empty') : texts[field]} />
          </li>
        ))}
      </ul>
    </div>
  );
}
