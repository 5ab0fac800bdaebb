/** `/cases`: the cases of the account. Filters are in the URL. */

import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useEffect, useMemo, useState } from 'react';
import { CASE_STATUSES, PRIORITIES, UNFINISHED } from '../../api/choices.ts';
import { call, type Schemas } from '../../api/client.ts';
import { endDraft, useDraft } from '../../api/drafts.ts';
import { patiently } from '../../api/patience.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Button } from '../../ui/Button.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { More } from '../../ui/More.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { usePages } from '../../ui/pages.ts';
import { Empty, Failure, Loading } from '../../ui/states.tsx';
import { type Search, useUrlState } from '../../ui/url-state.ts';
import { Name, Time } from '../../ui/values.tsx';
import { useOpenCase } from '../case/open.ts';
import { dueText, isOverdue } from './due.ts';
import './cases.css';

export type Case = Schemas['Case'];

/** Rows of a page, half of what the API allows: a case with all of its links has up to 100 KB. */
const ROWS = 50;
/** Limits of the API (`CaseBody`). */
export const TITLE_CHARS_MAX = 200;
export const ASSIGNEE_CHARS_MAX = 128;
const SEARCH_CHARS_MAX = 100;

const keyOf = ({ id }: Case): string => id;

function filtersIn({ status = '', priority = '', assignee = '', q = '', address = '', chain = '' }: Search) {
  const isStatus = status === UNFINISHED || CASE_STATUSES.some((known) => known === status);
  const isPriority = PRIORITIES.some((known) => known === priority);
  return {
    ...(isStatus ? { status } : {}),
    ...(isPriority ? { priority } : {}),
    ...(assignee === '' ? {} : { assignee }),
    ...(q === '' ? {} : { q }),
    ...(address === '' || chain === '' ? {} : { address, chain }),
  };
}

/** The page. */
export function CasesPage(): ReactNode {
  const { t } = useI18n();
  const [search, change] = useUrlState();
  const filters = filtersIn(search);
  const pages = usePages(['cases', filters], (cursor, signal) =>
    patiently(
      () => call('get', '/cases', { query: { ...filters, limit: ROWS, ...cursor } as never, signal }),
      { signal },
    ),
  );
  const rows = useMemo(() => pages.data?.pages.flatMap((page) => page.cases) ?? [], [pages.data]);
  return (
    <Page title={t('cases.title')}>
      <NewCase />
      <Filters search={search} onChange={change} />
      {pages.isPending ? <Loading lines={6} /> : null}
      {pages.error === null ? null : <Failure error={pages.error} onRetry={() => void pages.refetch()} />}
      {pages.data === undefined ? null : (
        <CaseTable rows={rows} isFiltered={Object.keys(filters).length > 0} hasMore={pages.hasNextPage} />
      )}
      <More pages={pages} />
    </Page>
  );
}

interface FiltersProps {
  readonly search: Search;
  readonly onChange: (search: Search) => void;
}

function Filters({ search, onChange }: FiltersProps): ReactNode {
  const { t, word } = useI18n();
  const { status = '', priority = '', address = '' } = search;
  const [texts, setTexts] = useState({ q: search.q ?? '', assignee: search.assignee ?? '' });
  useEffect(
    () => setTexts({ q: search.q ?? '', assignee: search.assignee ?? '' }),
    [search.q, search.assignee],
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onChange({ q: texts.q.trim(), assignee: texts.assignee.trim() });
  };
  return (
    <search>
      <form className="inline-form" onSubmit={submit}>
        <Field
          label={t('cases.search')}
          type="search"
          value={texts.q}
          maxLength={SEARCH_CHARS_MAX}
          onChange={(event) => setTexts({ ...texts, q: event.target.value })}
        />
        <Choice
          label={t('cases.status')}
          value={status}
          options={[
            { value: '', label: t('table.all') },
            { value: UNFINISHED, label: t('cases.unfinished') },
            ...CASE_STATUSES.map((value) => ({ value, label: word('caseStatus', value) })),
          ]}
          onChange={(value) => onChange({ status: value })}
        />
        <Choice
          label={t('cases.priority')}
          value={priority}
          options={[
            { value: '', label: t('table.all') },
            ...PRIORITIES.map((value) => ({ value, label: word('casePriority', value) })),
          ]}
          onChange={(value) => onChange({ priority: value })}
        />
        <Field
          label={t('cases.assignee')}
          value={texts.assignee}
          maxLength={ASSIGNEE_CHARS_MAX}
          autoComplete="off"
          onChange={(event) => setTexts({ ...texts, assignee: event.target.value })}
        />
        <Button type="submit">{t('cases.find')}</Button>
        {address === '' ? null : (
          <Button kind="quiet" icon="close" onClick={() => onChange({ address: '', chain: '' })}>
            {t('cases.oneAddress')}
          </Button>
        )}
      </form>
    </search>
  );
}

/** Place of the draft of a title. */
const NEW_CASE = 'new case';

/** The form that opens a case without links; cases about alerts and addresses are opened there. */
function NewCase(): ReactNode {
  const { t, word } = useI18n();
  const [title, setTitle] = useDraft(NEW_CASE);
  // A text that was kept is shown.
  const [isOpen] = useState(title !== '');
  const [priority, setPriority] = useState<(typeof PRIORITIES)[number]>('MEDIUM');
  const open = useOpenCase();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void open.mutateAsync({ title: title.trim(), priority }).then(
      () => endDraft(NEW_CASE, title),
      () => {},
    );
  };
  return (
    <details className="section" open={isOpen}>
      <summary>{t('cases.open')}</summary>
      <p className="muted">{t('cases.openNote')}</p>
      <form className="inline-form" onSubmit={submit}>
        <Field
          label={t('cases.caseTitle')}
          value={title}
          required
          maxLength={TITLE_CHARS_MAX}
          autoComplete="off"
          onChange={(event) => setTitle(event.target.value)}
        />
        <Choice
          label={t('cases.priority')}
          value={priority}
          options={PRIORITIES.map((value) => ({ value, label: word('casePriority', value) }))}
          onChange={(value) => setPriority(value as typeof priority)}
        />
        <Button type="submit" kind="primary" isBusy={open.isPending}>
          {t('cases.open')}
        </Button>
      </form>
      {open.error === null ? null : <Failure error={open.error} />}
    </details>
  );
}

interface CaseTableProps {
  readonly rows: readonly Case[];
  readonly isFiltered: boolean;
  readonly hasMore: boolean;
}

function CaseTable({ rows, isFiltered, hasMore }: CaseTableProps): ReactNode {
  const { t, word } = useI18n();
  const navigate = useNavigate();
  const columns = useMemo(
    (): readonly Column<Case>[] => [
      { id: 'number', header: t('cases.number'), value: ({ number }) => number, isNumber: true },
      {
        id: 'title',
        header: t('cases.caseTitle'),
        value: ({ title }) => title,
        cell: ({ id, title }) => (
          <Link to={PATHS.case} params={{ id }}>
            <Name text={title} />
          </Link>
        ),
      },
      {
        id: 'status',
        header: t('cases.status'),
        value: ({ status }) => word('caseStatus', status),
        cell: ({ status, proposal }) => (
          <>
            <span className="tag">{word('caseStatus', status)}</span>{' '}
            {proposal === null ? null : <span className="tag">{t('cases.waits')}</span>}
          </>
        ),
      },
      {
        id: 'priority',
        header: t('cases.priority'),
        // The number sorts: the words would be in the order of the alphabet.
        value: ({ priority }) => `${PRIORITIES.indexOf(priority) + 1} ${word('casePriority', priority)}`,
        cell: ({ priority }) => (
          <span className={`priority is-${priority.toLowerCase()}`}>{word('casePriority', priority)}</span>
        ),
      },
      {
        id: 'assignee',
        header: t('cases.assignee'),
        value: ({ assignee }) => assignee,
        cell: ({ assignee }) => (assignee === null ? '' : <Name text={assignee} />),
      },
      {
        id: 'due',
        header: t('cases.due'),
        value: ({ dueAt }) => dueAt,
        cell: (one) => <Due of={one} />,
      },
      {
        id: 'disposition',
        header: t('cases.disposition'),
        value: ({ disposition }) => (disposition === null ? null : word('disposition', disposition)),
        isHidden: true,
      },
      { id: 'links', header: t('cases.links'), value: ({ links }) => links.length, isNumber: true },
      {
        id: 'updated',
        header: t('cases.updated'),
        value: ({ updatedAt }) => updatedAt,
        cell: ({ updatedAt }) => <Time iso={updatedAt} />,
      },
    ],
    [t, word],
  );
  return (
    <Section title={t('cases.list')} note={hasMore ? t('cases.partNote') : undefined}>
      <DataTable
        id="cases"
        caption={t('cases.title')}
        columns={columns}
        rows={rows}
        rowKey={keyOf}
        onOpen={({ id }) => void navigate({ to: PATHS.case, params: { id } })}
        empty={
          <Empty title={t(isFiltered ? 'cases.noMatch' : 'cases.none')}>
            {t(isFiltered ? 'cases.noMatchHelp' : 'cases.noneHelp')}
          </Empty>
        }
      />
    </Section>
  );
}

/** A due date, and whether it has passed. */
export function Due({ of }: { readonly of: Pick<Case, 'dueAt' | 'status'> }): ReactNode {
  const { t } = useI18n();
  if (of.dueAt === null) return '';
  return (
    <>
      <Time iso={dueText(of.dueAt)} />{' '}
      {isOverdue(of) ? <strong className="overdue">{t('cases.overdue')}</strong> : null}
    </>
  );
}
