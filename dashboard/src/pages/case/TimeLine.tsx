/** The history of a case, newest first, and the form for notes. Nothing in it is ever changed. */

import { type FormEvent, type ReactNode, useId } from 'react';
import { call } from '../../api/client.ts';
import { endDraft, useDraft } from '../../api/drafts.ts';
import { patiently } from '../../api/patience.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { More } from '../../ui/More.tsx';
import { Section } from '../../ui/Page.tsx';
import { usePages } from '../../ui/pages.ts';
import { plainLines } from '../../ui/plain-text.ts';
import { Failure, Loading } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { Who } from '../../ui/Who.tsx';
import { dueText } from '../cases/due.ts';
import { linkText } from './Links.tsx';
import { type Case, type CaseEvent, useEvent } from './use-case.ts';

/** Events of a page. */
const ROWS = 50;
/** Limit of the API (`CaseEventBody`). */
const NOTE_CHARS_MAX = 8_000;

/** Shows the history. */
export function TimeLine({ one }: { readonly one: Case }): ReactNode {
  const { t } = useI18n();
  const { id } = one;
  const pages = usePages(['case', id, 'events'], (cursor, signal) =>
    patiently(
      () =>
        call('get', '/cases/{id}/events', {
          path: { id },
          query: { limit: ROWS, ...cursor } as never,
          signal,
        }),
      { signal },
    ),
  );
  const events = pages.data?.pages.flatMap((page) => page.events) ?? [];
  return (
    <Section title={t('cases.timeLine')} note={t('cases.timeLineNote')}>
      <NoteForm key={one.id} one={one} />
      {pages.isPending ? <Loading lines={4} /> : null}
      {pages.error === null ? null : <Failure error={pages.error} onRetry={() => void pages.refetch()} />}
      <ol className="time-line">
        {events.map((event) => (
          <li key={event.sequence}>
            <p className="muted">
              <Time iso={event.at} /> · <Who id={event.by} />
            </p>
            <p>
              <EventText event={event} />
            </p>
            {event.note === null ? null : (
              <p className="note-text">
                <bdi>{plainLines(event.note)}</bdi>
              </p>
            )}
          </li>
        ))}
      </ol>
      <More pages={pages} />
    </Section>
  );
}

function NoteForm({ one }: { readonly one: Case }): ReactNode {
  const { t } = useI18n();
  const id = useId();
  const place = `case ${one.id}`;
  const [note, setNote] = useDraft(place);
  const event = useEvent(one);
  const submit = (submitted: FormEvent): void => {
    submitted.preventDefault();
    // The callbacks of `mutate` do not run if the person has left the page: the note would still be there, to be sent again.
    void event.mutateAsync({ type: 'NOTE', note }).then(
      () => endDraft(place, note),
      () => {},
    );
  };
  return (
    <form className="form only-screen" onSubmit={submit}>
      <div className="field">
        <label htmlFor={id}>{t('cases.note')}</label>
        <textarea
          dir="auto"
          id={id}
          rows={3}
          required
          maxLength={NOTE_CHARS_MAX}
          value={note}
          onChange={(changed) => setNote(changed.target.value)}
        />
      </div>
      <div className="actions">
        <Button type="submit" isBusy={event.isPending}>
          {t('cases.addNote')}
        </Button>
      </div>
      {event.error === null ? null : <Failure error={event.error} />}
    </form>
  );
}

/** Says in one sentence what happened. */
function EventText({ event }: { readonly event: CaseEvent }): ReactNode {
  const i18n = useI18n();
  const { t, word, time } = i18n;
  const { change, link, file, decision } = event;
  if (link !== null)
    return (
      <>
        {t('cases.linked')} <Name text={linkText(link, i18n)} />
      </>
    );
  if (file !== null)
    return (
      <>
        {t('cases.fileAdded')} <Name text={file.name} />
      </>
    );
  if (decision !== null)
    return (
      <>
        {word('decision', decision.action)}: {word('disposition', decision.disposition)},{' '}
        <code>{decision.reasonCode}</code>
        {decision.isFinal ? ` · ${t('cases.isClosed')}` : ''}
      </>
    );
  if (change !== null) {
    const group = { status: 'caseStatus', priority: 'casePriority' }[change.field as string];
    const textOf = (value: string | null): string => {
      if (value === null) return t('cases.empty');
      if (change.field === 'dueAt') return time(dueText(value));
      return group === undefined ? value : word(group, value);
    };
    return (
      <>
        {word('caseField', change.field)}: <Name text={textOf(change.from)} /> →{' '}
        <strong>
          <Name text={textOf(change.to)} />
        </strong>
      </>
    );
  }
  return word('caseEvent', event.type);
}
