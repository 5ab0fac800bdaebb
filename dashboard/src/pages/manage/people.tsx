/** `/people`: the people of the account, their roles, and invitations. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useMemo, useState } from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { peopleQuery } from '../../api/people.ts';
import { queries, sessionQuery } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { PATHS } from '../../paths.ts';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { plainText } from '../../ui/plain-text.ts';
import { Failure, Loading, Stored } from '../../ui/states.tsx';
import { Name, Time } from '../../ui/values.tsx';
import { PASSWORD_MIN } from '../register.tsx';
import {
  keysQuery,
  OwnersOnly,
  PasswordDialog,
  type Person,
  Popup,
  ROLES,
  type Role,
  useRole,
} from './parts.tsx';

type PeopleList = DataOf<'/people', 'get'>;

/** Puts a changed or new person into the list, without another request: there are few in a minute. */
function putPerson(person: Person): void {
  queries.setQueryData<PeopleList>(peopleQuery.queryKey, (list) => {
    if (list === undefined) return list;
    const isOld = ({ id, email }: Person): boolean => id === person.id || email === person.email;
    const at = list.people.findIndex(isOld);
    return { ...list, people: at < 0 ? [...list.people, person] : list.people.with(at, person) };
  });
}

function dropPerson(id: string): void {
  queries.setQueryData<PeopleList>(peopleQuery.queryKey, (list) =>
    list === undefined ? list : { ...list, people: list.people.filter((person) => person.id !== id) },
  );
}

/** The page. */
export function PeoplePage(): ReactNode {
  const { t } = useI18n();
  const isOwner = useRole() === 'owner';
  const people = useQuery(peopleQuery);
  const [openId, setOpenId] = useState<string | null>(null);
  const open = people.data?.people.find(({ id }) => id === openId);
  return (
    <Page title={t('team.title')}>
      <Section title={t('team.list')} note={t('team.note')}>
        <OwnersOnly />
        {people.isPending ? <Loading lines={4} /> : null}
        {people.error === null ? null : (
          <Failure error={people.error} onRetry={() => void people.refetch()} />
        )}
        {people.data === undefined ? null : (
          <PeopleTable rows={people.data.people} onOpen={isOwner ? ({ id }) => setOpenId(id) : undefined} />
        )}
      </Section>
      {isOwner ? <Invite /> : null}
      {open === undefined ? null : <PersonDialog person={open} onClose={() => setOpenId(null)} />}
    </Page>
  );
}

const personKey = ({ id }: Person): string => id;

interface PeopleTableProps {
  readonly rows: readonly Person[];
  readonly onOpen: ((person: Person) => void) | undefined;
}

function PeopleTable({ rows, onOpen }: PeopleTableProps): ReactNode {
  const { t, word } = useI18n();
  const { data: session } = useQuery(sessionQuery);
  const columns = useMemo(
    (): readonly Column<Person>[] => [
      {
        id: 'email',
        header: t('people.email'),
        value: ({ email }) => email,
        cell: (person) => (
          <>
            {onOpen === undefined ? (
              <Name text={person.email} />
            ) : (
              <button type="button" className="link-button" onClick={() => onOpen(person)}>
                <Name text={person.email} />
              </button>
            )}
            {person.id === session?.person.id ? <span className="muted"> {t('team.you')}</span> : null}
          </>
        ),
      },
      { id: 'role', header: t('team.role'), value: ({ role }) => word('role', role), hasFilter: true },
      {
        id: 'status',
        header: t('team.status'),
        value: ({ status }) => word('personStatus', status),
        cell: ({ status, expiresAt }) =>
          status === 'INVITED' ? (
            <>
              <span className="tag">{word('personStatus', status)}</span>{' '}
              <span className="muted">
                {t('team.until')} <Time iso={expiresAt} />
              </span>
            </>
          ) : (
            word('personStatus', status)
          ),
      },
      {
        id: 'factor',
        header: t('team.factor'),
        value: ({ secondFactor }) => t(secondFactor ? 'team.yes' : 'team.no'),
      },
      {
        id: 'verified',
        header: t('team.verified'),
        value: ({ emailVerified }) => t(emailVerified ? 'team.yes' : 'team.no'),
        isHidden: true,
      },
      {
        id: 'since',
        header: t('team.since'),
        value: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => <Time iso={createdAt} />,
      },
    ],
    [t, word, onOpen, session],
  );
  return (
    <DataTable
      id="people"
      caption={t('team.list')}
      columns={columns}
      rows={rows}
      rowKey={personKey}
      {...(onOpen === undefined ? {} : { onOpen })}
    />
  );
}

/** Choices of roles, each with what it may do. */
function RoleChoice({ role, onChange }: { readonly role: Role; readonly onChange: (role: Role) => void }) {
  const { t, word } = useI18n();
  return (
    <Choice
      label={t('team.role')}
      value={role}
      options={ROLES.map((value) => ({ value, label: word('role', value) }))}
      onChange={(value) => onChange(value as Role)}
    />
  );
}

/** Adds a person: by an email, or with a password on servers that send no email. */
function Invite(): ReactNode {
  const { t, word } = useI18n();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('analyst');
  const [password, setPassword] = useState<string | null>(null);
  const [own, setOwn] = useState('');
  const add = useMutation({
    mutationFn: () => {
      const body = { email, role, ...(role === 'owner' ? { currentPassword: own } : {}) };
      return password === null
        ? call('post', '/people/invitations', { body })
        : call('post', '/people', { body: { ...body, password } });
    },
    onSuccess: ({ person }) => {
      putPerson(person);
      setEmail('');
      setOwn('');
      setPassword(password === null ? null : '');
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!add.isPending) add.mutate();
  };
  return (
    <Section title={t('team.add')} note={t('team.addNote')}>
      <form className="form" onSubmit={submit}>
        <div className="row-form">
          <Field
            label={t('people.email')}
            type="email"
            autoComplete="off"
            required
            value={email}
            onChange={(event) => {
              setEmail(event.target.value);
              add.reset();
            }}
          />
          <RoleChoice role={role} onChange={setRole} />
          {password === null ? null : (
            <Field
              label={t('team.firstPassword')}
              type="text"
              autoComplete="off"
              required
              minLength={PASSWORD_MIN}
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          )}
          {role === 'owner' ? (
            <Field
              label={t('team.ownPassword')}
              type="password"
              autoComplete="current-password"
              required
              value={own}
              onChange={(event) => setOwn(event.target.value)}
            />
          ) : null}
          <Button type="submit" kind="primary" isBusy={add.isPending}>
            {t(password === null ? 'team.invite' : 'team.addNow')}
          </Button>
        </div>
        <p className="muted">{word('roleHelp', role)}</p>
        <div>
          <Button kind="quiet" onClick={() => setPassword(password === null ? '' : null)}>
            {t(password === null ? 'team.withPassword' : 'team.withEmail')}
          </Button>
        </div>
        {add.error === null ? null : <Failure error={add.error} />}
        {add.isSuccess ? (
          <p role="status">
            {t(add.data.person.status === 'INVITED' ? 'team.invited' : 'team.added', {
              email: add.data.person.email,
            })}
          </p>
        ) : null}
      </form>
    </Section>
  );
}

/** Names the active keys that a person created, which stay after a removal. */
function KeysThatStay({ person }: { readonly person: Person }): ReactNode {
  const { t } = useI18n();
  const { data: session } = useQuery(sessionQuery);
  const { data: keys } = useQuery(keysQuery);
  // The first person has the id of the account, and is `session` as the creator of a key.
  const creator = person.id === session?.account.id ? 'session' : person.id;
  const own = (keys?.keys ?? []).filter(
    ({ createdBy, status }) => createdBy === creator && status === 'ACTIVE',
  );
  if (own.length === 0) return null;
  return <p>{t('team.keysStay', { names: own.map(({ name }) => plainText(name)).join(', ') })}</p>;
}

/** A change that waits for the own password. */
type Asked = { readonly kind: 'role'; readonly role: Role } | { readonly kind: 'factor' | 'remove' };

/** One person: the role, sessions, the second factor, and removal. Changes of owners ask for the own password. */
function PersonDialog({
  person,
  onClose,
}: {
  readonly person: Person;
  readonly onClose: () => void;
}): ReactNode {
  const { t, word } = useI18n();
  const { data: session } = useQuery(sessionQuery);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [chosen, setChosen] = useState(person.role);
  const [isRemoving, setRemoving] = useState(false);
  const path = { id: person.id };
  const isActive = person.status === 'ACTIVE';
  const isOwn = person.id === session?.person.id;
  const role = useMutation({
    mutationFn: (body: { readonly role: Role; readonly currentPassword?: string }) =>
      call('patch', '/people/{id}', { path, body }),
    onSuccess: async ({ person: changed }) => {
      setAsked(null);
      putPerson(changed);
      if (isOwn) await queries.invalidateQueries({ queryKey: sessionQuery.queryKey });
    },
  });
  const sessions = useMutation({ mutationFn: () => call('delete', '/people/{id}/sessions', { path }) });
  const factor = useMutation({
    mutationFn: (currentPassword: string) =>
      call('delete', '/people/{id}/totp', { path, body: { currentPassword } }),
    onSuccess: () => {
      setAsked(null);
      putPerson({ ...person, secondFactor: false });
    },
  });
  const remove = useMutation({
    mutationFn: (body: { readonly currentPassword?: string }) =>
      call('delete', '/people/{id}', { path, body }),
    onSuccess: () => {
      dropPerson(person.id);
      onClose();
    },
  });
  const ask = (next: Asked): void => {
    for (const change of [role, factor, remove]) change.reset();
    setAsked(next);
  };
  const setRole = (next: Role): void => {
    const isOfOwner = next === 'owner' || (isActive && person.role === 'owner');
    if (isOfOwner) ask({ kind: 'role', role: next });
    else role.mutate({ role: next });
  };
  const confirm = (currentPassword: string): void => {
    if (asked?.kind === 'role') role.mutate({ role: asked.role, currentPassword });
    else if (asked?.kind === 'factor') factor.mutate(currentPassword);
    else remove.mutate({ currentPassword });
  };
  const error = role.error ?? factor.error ?? remove.error;
  const removal = t(isActive ? 'team.remove' : 'team.withdraw');
  const needsPassword = isActive && person.role === 'owner';
  return (
    <Popup title={<Name text={person.email} />} onClose={onClose}>
      <form
        className="row-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (chosen !== person.role && !role.isPending) setRole(chosen);
        }}
      >
        {/* Arrow keys choose one role after the other, so the choice alone changes nothing. */}
        <RoleChoice role={chosen} onChange={setChosen} />
        <Button type="submit" isBusy={role.isPending} aria-disabled={chosen === person.role}>
          {t('team.setRole')}
        </Button>
      </form>
      <p className="muted">{word('roleHelp', chosen)}</p>
      <Stored isStored={role.isSuccess} />
      {error === null || asked !== null ? null : <Failure error={error} />}
      {isOwn ? (
        <p className="muted">
          {t('team.own')} <Link to={PATHS.account}>{t('account.title')}</Link>
        </p>
      ) : (
        <div className="danger-zone">
          <div className="actions">
            {isActive ? (
              <Confirm
                label={t('team.endSessions')}
                title={t('team.endSessions')}
                text={t('team.endSessionsText')}
                done={t('team.endedSessions', { count: sessions.data?.ended ?? 0 })}
                isDone={sessions.isSuccess}
                onOpen={sessions.reset}
                isBusy={sessions.isPending}
                error={sessions.error}
                onConfirm={() => sessions.mutate()}
              />
            ) : null}
            {person.secondFactor ? (
              <Button onClick={() => ask({ kind: 'factor' })}>{t('team.discard')}</Button>
            ) : null}
            <Button onClick={() => (needsPassword ? ask({ kind: 'remove' }) : setRemoving(true))}>
              {removal}
            </Button>
          </div>
        </div>
      )}
      {isRemoving ? (
        <Popup title={removal} onClose={() => setRemoving(false)}>
          <p>{t(isActive ? 'team.removeText' : 'team.withdrawText')}</p>
          <KeysThatStay person={person} />
          <div className="actions is-end">
            <Button onClick={() => setRemoving(false)}>{t('ui.cancel')}</Button>
            <Button
              kind="primary"
              isBusy={remove.isPending}
              onClick={() => {
                setRemoving(false);
                remove.mutate({});
              }}
            >
              {removal}
            </Button>
          </div>
        </Popup>
      ) : null}
      {asked === null ? null : (
        <PasswordDialog
          title={t(ASKED_TITLES[asked.kind])}
          label={t(ASKED_LABELS[asked.kind])}
          isBusy={role.isPending || factor.isPending || remove.isPending}
          error={error}
          onConfirm={confirm}
          onClose={() => {
            setAsked(null);
            setChosen(person.role);
          }}
        >
          <p>{t(ASKED_TEXTS[asked.kind])}</p>
          {asked.kind === 'remove' ? <KeysThatStay person={person} /> : null}
        </PasswordDialog>
      )}
    </Popup>
  );
}

const ASKED_TITLES = { role: 'team.ownerChange', factor: 'team.discard', remove: 'team.remove' } as const;
const ASKED_LABELS = { role: 'team.setRole', factor: 'team.discard', remove: 'team.remove' } as const;
const ASKED_TEXTS = {
  role: 'team.ownerChangeText',
  factor: 'team.discardText',
  remove: 'team.removeText',
} as const;
