/** The state of a case: status, priority, assignee, due date, and the rule of four eyes. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Failure } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { Who } from '../../ui/Who.tsx';
import { useOwnName } from '../alerts/actions.ts';
import { ASSIGNEE_CHARS_MAX, CASE_STATUSES, Due, PRIORITIES, TITLE_CHARS_MAX } from '../cases/index.tsx';
import { type Case, usePatch } from './use-case.ts';

type OpenStatus = Exclude<Case['status'], 'CLOSED'>;

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
        <ChangeForm one={one} isBusy={patch.isPending} onChange={(fields) => patch.mutate(fields)} />
      )}
      {patch.error === null ? null : <Failure error={patch.error} />}
    </Section>
  );
}

interface ChangeFormProps {
  readonly one: Case;
  readonly isBusy: boolean;
  readonly onChange: ReturnType<typeof usePatch>['mutate'];
}

function ChangeForm({ one, isBusy, onChange }: ChangeFormProps): ReactNode {
  const { t, word } = useI18n();
  const ownName = useOwnName();
  const [fields, setFields] = useState({
    title: one.title,
    status: one.status as OpenStatus,
    priority: one.priority,
    assignee: one.assignee ?? '',
    due: one.dueAt?.slice(0, 10) ?? '',
  });
  const set = (change: Partial<typeof fields>): void => setFields({ ...fields, ...change });
  const changes = changesOf(one, fields);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (Object.keys(changes).length > 0) onChange(changes);
  };
  return (
    <form className="form" onSubmit={submit}>
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
          onChange={(status) => set({ status: status as OpenStatus })}
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
      <div className="actions">
        <Button type="submit" kind="primary" isBusy={isBusy} disabled={Object.keys(changes).length === 0}>
          {t('cases.save')}
        </Button>
        {ownName === null || ownName === one.assignee ? null : (
          <Button isBusy={isBusy} onClick={() => onChange({ assignee: ownName })}>
            {t('alerts.assignMe')}
          </Button>
        )}
        {one.fourEyes ? null : (
          <Confirm
            label={t('cases.fourEyesOn')}
            title={t('cases.fourEyesTitle')}
            text={t('cases.fourEyesHelp')}
            isBusy={isBusy}
            onConfirm={() => onChange({ fourEyes: true })}
          />
        )}
      </div>
    </form>
  );
}

interface Fields {
  readonly title: string;
  readonly status: OpenStatus;
  readonly priority: Case['priority'];
  readonly assignee: string;
  /** `YYYY-MM-DD`, or empty. */
  readonly due: string;
}

/** Returns the fields that differ from the case. */
function changesOf(one: Case, fields: Fields) {
  const assignee = fields.assignee.trim() === '' ? null : fields.assignee.trim();
  return {
    ...(fields.title === one.title ? {} : { title: fields.title }),
    ...(fields.status === one.status ? {} : { status: fields.status }),
    ...(fields.priority === one.priority ? {} : { priority: fields.priority }),
    ...(assignee === one.assignee ? {} : { assignee }),
    // The time of a day is kept while the day is.
    ...(fields.due === (one.dueAt?.slice(0, 10) ?? '')
      ? {}
      : { dueAt: fields.due === '' ? null : fields.due }),
  };
}
