/** `/account`: what a person sets for themselves: sessions, second factor, password. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useMemo, useState } from 'react';
import { call, type DataOf } from '../../api/client.ts';
import { beginSession, queries, type Session, sessionQuery } from '../../api/session.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Confirm } from '../../ui/Confirm.tsx';
import { type Column, DataTable } from '../../ui/DataTable.tsx';
import { Field } from '../../ui/Field.tsx';
import { Page, Section } from '../../ui/Page.tsx';
import { Failure, Loading } from '../../ui/states.tsx';
import { Name, NotKnown, Time } from '../../ui/values.tsx';
import { PASSWORD_MIN } from '../register.tsx';
import { SecondFactor } from './SecondFactor.tsx';
import './parts.tsx';

/** The page. */
export function AccountPage(): ReactNode {
  const { t } = useI18n();
  const { data: session } = useQuery(sessionQuery);
  if (!session) return null;
  return (
    <Page title={t('account.title')}>
      <Profile session={session} />
      <SecondFactor isEnabled={session.person.secondFactor} />
      <Sessions />
      <Password />
    </Page>
  );
}

function Profile({ session }: { readonly session: Session }): ReactNode {
  const { t, word } = useI18n();
  const { email, emailVerified, plan } = session.account;
  const resend = useMutation({ mutationFn: () => call('post', '/auth/confirmation', { body: { email } }) });
  return (
    <Section title={t('account.profile')}>
      <dl className="facts">
        <div>
          <dt>{t('people.email')}</dt>
          <dd>
            <Name text={email} />
          </dd>
        </div>
        <div>
          <dt>{t('team.role')}</dt>
          <dd>{word('role', session.person.role)}</dd>
        </div>
        <div>
          <dt>{t('account.planName')}</dt>
          <dd>{plan}</dd>
        </div>
      </dl>
      {emailVerified ? null : (
        <div className="note">
          <p>{t('account.unverified')}</p>
          {resend.isSuccess ? (
            <p role="status">{t('account.resent')}</p>
          ) : (
            <Button isBusy={resend.isPending} onClick={() => resend.mutate()}>
              {t('account.resend')}
            </Button>
          )}
          {resend.error === null ? null : <Failure error={resend.error} />}
        </div>
      )}
    </Section>
  );
}

type SessionRow = DataOf<'/auth/sessions', 'get'>['sessions'][number];

const sessionsQuery = {
  queryKey: ['sessions'],
  queryFn: ({ signal }: { signal: AbortSignal }) => call('get', '/auth/sessions', { signal }),
} as const;
// Not awaited: an error of the mutation is shown at once.
const refreshSessions = (): void => void queries.invalidateQueries({ queryKey: sessionsQuery.queryKey });

const sessionKey = ({ id }: SessionRow): string => id;

/** The sessions of the person. Any but this one can be ended. */
function Sessions(): ReactNode {
  const { t } = useI18n();
  const sessions = useQuery(sessionsQuery);
  const end = useMutation({
    mutationFn: (id: string) => call('delete', '/auth/sessions/{id}', { path: { id } }),
    onSettled: refreshSessions,
  });
  const endOthers = useMutation({
    mutationFn: () => call('delete', '/auth/sessions'),
    onSettled: refreshSessions,
  });
  const columns = useMemo(
    (): readonly Column<SessionRow>[] => [
      {
        id: 'browser',
        header: t('account.browser'),
        value: ({ userAgent }) => userAgent,
        cell: ({ userAgent, current }) => (
          <>
            {userAgent === null ? <NotKnown /> : <Name text={userAgent} />}
            {current ? <span className="tag">{t('account.current')}</span> : null}
          </>
        ),
      },
      {
        id: 'address',
        header: t('account.address'),
        value: ({ address }) => address,
        cell: ({ address }) => (address === null ? <NotKnown /> : <code>{address}</code>),
      },
      {
        id: 'began',
        header: t('account.began'),
        value: ({ createdAt }) => createdAt,
        cell: ({ createdAt }) => <Time iso={createdAt} />,
      },
      {
        id: 'used',
        header: t('account.used'),
        value: ({ lastUsedAt }) => lastUsedAt,
        cell: ({ lastUsedAt }) => <Time iso={lastUsedAt} />,
      },
      {
        id: 'ends',
        header: t('account.ends'),
        value: ({ expiresAt }) => expiresAt,
        cell: ({ expiresAt }) => <Time iso={expiresAt} />,
      },
      {
        id: 'end',
        header: t('account.action'),
        value: () => null,
        cell: ({ id, current }) =>
          current ? null : <Button onClick={() => end.mutate(id)}>{t('account.end')}</Button>,
      },
    ],
    [t, end.mutate],
  );
  const others = (sessions.data?.sessions.length ?? 0) - 1;
  return (
    <Section
      title={t('account.sessions')}
      note={t('account.sessionsNote')}
      actions={
        others > 0 ? (
          <Confirm
            label={t('account.endOthers')}
            title={t('account.endOthers')}
            text={t('account.endOthersText', { count: others })}
            isBusy={endOthers.isPending}
            onConfirm={() => endOthers.mutate()}
          />
        ) : undefined
      }
    >
      {sessions.isPending ? <Loading lines={3} /> : null}
      {sessions.error === null ? null : (
        <Failure error={sessions.error} onRetry={() => void sessions.refetch()} />
      )}
      {end.error === null ? null : <Failure error={end.error} />}
      {endOthers.error === null ? null : <Failure error={endOthers.error} />}
      {sessions.data === undefined ? null : (
        <DataTable
          id="sessions"
          caption={t('account.sessions')}
          columns={columns}
          rows={sessions.data.sessions}
          rowKey={sessionKey}
          hasControls={false}
        />
      )}
    </Section>
  );
}

/** Changes the password, which ends all other sessions. */
function Password(): ReactNode {
  const { t } = useI18n();
  const [currentPassword, setCurrent] = useState('');
  const [newPassword, setNew] = useState('');
  const change = useMutation({
    mutationFn: () => call('post', '/auth/password', { body: { currentPassword, newPassword } }),
    onSuccess: async (session) => {
      beginSession(session);
      setCurrent('');
      setNew('');
      await refreshSessions();
    },
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!change.isPending) change.mutate();
  };
  return (
    <Section title={t('account.password')} note={t('account.passwordNote')}>
      <form className="form narrow-form" onSubmit={submit}>
        {change.error === null ? null : <Failure error={change.error} />}
        {change.isSuccess ? <p role="status">{t('account.passwordDone')}</p> : null}
        <Field
          label={t('account.currentPassword')}
          type="password"
          autoComplete="current-password"
          required
          value={currentPassword}
          onChange={(event) => setCurrent(event.target.value)}
        />
        <Field
          label={t('people.newPassword')}
          hint={t('people.passwordHint', { count: PASSWORD_MIN })}
          type="password"
          autoComplete="new-password"
          minLength={PASSWORD_MIN}
          required
          value={newPassword}
          onChange={(event) => setNew(event.target.value)}
        />
        <Button type="submit" isBusy={change.isPending}>
          {t('account.passwordGo')}
        </Button>
      </form>
    </Section>
  );
}
